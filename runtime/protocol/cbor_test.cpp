// SPDX-License-Identifier: Apache-2.0
// The codec against the library's: what either writes, the other reads; what is no value is refused.
#include "runtime/protocol/cbor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/base/json_text.hpp"

namespace empi::wire {
namespace {

using nlohmann::json;

template <class Write>
std::string written(Write write) {
  CborWriter out;
  write(out);
  return out.take();
}
std::string library(const json& value) {
  const auto bytes = json_text::cbor(value);
  return {bytes.begin(), bytes.end()};
}

TEST(Cbor, WholeNumbersOfAllLengths) {
  for (const std::uint64_t n : {0ull, 23ull, 24ull, 255ull, 256ull, 65535ull, 65536ull, 4294967295ull,
                                4294967296ull, 9223372036854775807ull, 18446744073709551615ull}) {
    const std::string bytes = written([&](CborWriter& out) { out.integer(n); });
    EXPECT_EQ(bytes, library(n));
    EXPECT_EQ(CborReader(bytes).integer<std::uint64_t>(), n);
    if (n > INT64_MAX) {
      EXPECT_THROW(CborReader(bytes).integer<std::int64_t>(), std::invalid_argument);
      continue;
    }
    const std::int64_t negative = -1 - static_cast<std::int64_t>(n);
    const std::string below = written([&](CborWriter& out) { out.integer(negative); });
    EXPECT_EQ(below, library(negative));
    EXPECT_EQ(CborReader(below).integer<std::int64_t>(), negative);
    EXPECT_THROW(CborReader(below).integer<std::uint32_t>(), std::invalid_argument);
  }
  EXPECT_THROW(
      CborReader(std::string_view("\x3b\xff\xff\xff\xff\xff\xff\xff\xff", 9)).integer<std::int64_t>(),
      std::invalid_argument);
}

TEST(Cbor, EverythingElse) {
  const std::string bytes = written([](CborWriter& out) {
    out.map(2);
    out.text("list");
    out.array(5);
    out.boolean(true);
    out.boolean(false);
    out.null();
    out.number(0.1);
    out.binary(std::string("\0\xff", 2));
    out.text("encoded");
    out.encoded(library({{"a", 1}}));
  });
  EXPECT_EQ(json_text::from_cbor(bytes),
            (json{{"list", {true, false, nullptr, 0.1, json::binary({0, 255})}}, {"encoded", {{"a", 1}}}}));
  CborReader in(bytes);
  CborMembers members(in);
  members.find("encoded");
  EXPECT_EQ(in.value(), library({{"a", 1}}));
  members.find("list");
  EXPECT_EQ(in.array(), 5u);
  EXPECT_TRUE(in.boolean());
  EXPECT_FALSE(in.boolean());
  EXPECT_TRUE(in.null());
  double number = 0;
  EXPECT_TRUE(in.number(number));
  EXPECT_EQ(number, 0.1);
  EXPECT_EQ(in.binary(), std::string("\0\xff", 2));
  EXPECT_THROW(members.find("nothing"), std::invalid_argument);
  members.leave();
  EXPECT_TRUE(in.rest().empty());
}

TEST(Cbor, WhatIsNoValueIsRefused) {
  const auto expect_refused = [](const std::string& bytes) {
    EXPECT_THROW(CborReader(bytes).value(), std::invalid_argument)
        << json(json::binary({bytes.begin(), bytes.end()}));
  };
  expect_refused("");
  expect_refused("\x19\x01");                              // a number that is cut short
  expect_refused("\x63\x61\x62");                          // a text that is
  expect_refused("\x9f\x01\xff");                          // a list without its length
  expect_refused("\xc1\x01");                              // a tag
  expect_refused("\x82\x01");                              // a list of two with one
  expect_refused("\xbb\xff\xff\xff\xff\xff\xff\xff\xff");  // a map of all that can be counted
  EXPECT_THROW(CborReader("\x01").text(), std::invalid_argument);
  EXPECT_THROW(CborReader("\x61\x61").integer<int>(), std::invalid_argument);
  EXPECT_THROW(CborReader("\xf6").boolean(), std::invalid_argument);
}

// Takes no stack for depth, and no memory for lengths that are only said.
TEST(Cbor, DepthIsPassedOver) {
  const std::string deep = std::string(1 << 20, '\x81') + '\x01';
  CborReader in(deep);
  EXPECT_EQ(in.value().size(), deep.size());
  EXPECT_TRUE(in.rest().empty());
}

}  // namespace
}  // namespace empi::wire
