// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/expected.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace empi {
namespace {

struct Refusal {
  std::string why;
};

Expected<int, Refusal> half(int number) {
  if (number % 2 != 0) return Refusal{std::to_string(number) + " is odd"};
  return number / 2;
}

TEST(Expected, IsAValueOrTheReason) {
  const auto good = half(8), bad = half(7);
  EXPECT_TRUE(good.ok());
  EXPECT_TRUE(static_cast<bool>(good));
  EXPECT_EQ(good.value(), 4);
  EXPECT_THROW(static_cast<void>(good.error()), std::bad_variant_access);
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().why, "7 is odd");
  EXPECT_THROW(static_cast<void>(bad.value()), std::bad_variant_access);
}

TEST(Expected, GivesItsValueAway) {
  Expected<std::unique_ptr<int>, Refusal> made(std::make_unique<int>(3));
  const std::unique_ptr<int> taken = std::move(made.value());
  EXPECT_EQ(*taken, 3);
}

}  // namespace
}  // namespace empi
