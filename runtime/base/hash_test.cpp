// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/hash.hpp"

#include <gtest/gtest.h>

#include <array>

namespace empi {
namespace {

// The first numbers of the seed 1234567 of Vigna's splitmix64.c, https://prng.di.unimi.it/splitmix64.c
TEST(SplitMix64, GivesTheNumbersOfTheReference) {
  const std::uint64_t expected[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                    4593380528125082431u, 16408922859458223821u};
  for (std::uint64_t n = 0; n < 5; ++n)
    EXPECT_EQ(split_mix64(1234567 + n * kSplitMix64Step), expected[n]) << n;
}

TEST(SplitMix64, MixesWithoutItsStep) {
  EXPECT_EQ(mix64(0), 0u);
  EXPECT_EQ(mix64(kSplitMix64Step), split_mix64(0));
}

// https://datatracker.ietf.org/doc/html/rfc9923 and the test suite of the authors
TEST(Fnv1a, GivesTheNumbersOfTheReference) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8u);
}

TEST(Fnv1a, TakesBytesAsTheyAre) {
  const std::array<unsigned char, 2> high = {0xff, 0x00};
  EXPECT_EQ(fnv1a(std::as_bytes(std::span(high))), fnv1a(std::string_view("\xff\0", 2)));
  EXPECT_NE(fnv1a(std::string_view("\xff\0", 2)), fnv1a("\xff"));
}

}  // namespace
}  // namespace empi
