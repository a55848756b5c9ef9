// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/json_text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace empi::json_text {
namespace {

using nlohmann::json;

constexpr std::size_t kMessageBytes = std::size_t{16} << 20;  // what an agent takes at most

std::string nested(int depth) {
  const auto n = static_cast<std::size_t>(depth);
  return std::string(n, '[') + std::string(n, ']');
}
// In CBOR 0x81 begins an array of one element, 0xa1 an object of one member.
std::string nested_cbor(int depth) {
  return std::string(static_cast<std::size_t>(depth - 1), '\x81') + '\x80';
}

template <class Read>
bool is_refused(Read read) {
  try {
    read();
    return false;
  } catch (const json::parse_error& error) {
    return std::string(error.what()).find("deep") != std::string::npos;
  }
}

// Each in a process of its own: what is not refused overflows the stack.
template <class Read>
void expect_refused(Read read) {
  EXPECT_EXIT(std::_Exit(is_refused(read) ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

TEST(JsonText, MessagesThatAreNothingButDepthAreRefused) {
  std::string objects;
  while (objects.size() < kMessageBytes) objects += "\xa1\x61x";
  expect_refused([] { from_cbor(std::string(kMessageBytes, '\x81')); });
  expect_refused([] { from_cbor(std::string(kMessageBytes, '\x9f')); });  // of unknown length
  expect_refused([&] { from_cbor(objects); });
  expect_refused([] { parse(std::string(kMessageBytes / 16, '[')); });
  expect_refused([] {
    const json value = parse(nested(kMessageBytes / 32));
    text(json(value));
  });
}

TEST(JsonText, DepthIsRefusedAtTheLimitAndNotBefore) {
  EXPECT_EQ(from_cbor(nested_cbor(kDeepestMessage)), parse(nested(kDeepestMessage), kDeepestMessage));
  EXPECT_THROW(from_cbor(nested_cbor(kDeepestMessage + 1)), json::parse_error);
  EXPECT_THROW(parse(nested(kDeepestMessage + 1), kDeepestMessage), json::parse_error);
  EXPECT_TRUE(try_parse(nested(kDeepestMessage + 1), kDeepestMessage).is_discarded());
  EXPECT_EQ(parse("[" + nested(1) + "," + nested(1) + "]", 2).size(), 2u);  // side by side is not deep
}

TEST(JsonText, ManyValuesAreRefusedAtTheLimitAndNotBefore) {
  const std::string five = R"([1,{"a":2,"b":[]}])";
  EXPECT_EQ(parse(five, {3, 5}), parse(five));
  EXPECT_THROW(parse(five, {3, 4}), json::parse_error);
  EXPECT_TRUE(try_parse(five, {3, 4}).is_discarded());
}

TEST(JsonText, WhatAnApiServerLetsPassIsReadCopiedAndWritten) {
  const std::string deep = nested(kDeepestDocument);
  const json value = parse(deep);
  EXPECT_EQ(text(json(value)), deep);
  EXPECT_THROW(parse(nested(kDeepestDocument + 1)), json::parse_error);
}

TEST(JsonText, ReadsWhatTheLibraryReads) {
  const std::string all =
      R"({"a":[1,-2,3.5,true,false,null,"x",[],{}],"b":{"c":{"d":18446744073709551615}},"a2":"é\n"})";
  EXPECT_EQ(parse(all), json::parse(all));
  EXPECT_EQ(try_parse(all), json::parse(all));
  json value = json::parse(all);
  value["bytes"] = json::binary({1, 2, 3});
  const std::vector<std::uint8_t> bytes = cbor(value);
  EXPECT_EQ(from_cbor({reinterpret_cast<const char*>(bytes.data()), bytes.size()}), value);
  EXPECT_EQ(parse(R"({"k":1,"k":{"l":2}})"), json::parse(R"({"k":{"l":2}})"));
  for (const char* wrong : {"", "{", "[1,]", "{\"a\"}", "[] []", "nul", "\"\xe9\"", "1e999"}) {
    EXPECT_THROW(parse(wrong), json::exception) << wrong;
    EXPECT_TRUE(try_parse(wrong).is_discarded()) << wrong;
  }
  for (const char* wrong : {"", "\x81", "\xff", "\x80\x80"})
    EXPECT_THROW(from_cbor(wrong), json::parse_error) << wrong;
}

TEST(JsonText, WhatIsCutIsReadAsItWasWritten) {
  const auto kept = [](const std::string& text) { return parse(safe_text(json(text))).get<std::string>(); };
  const std::string words = "a\u00e9\u20ac\U0001f30a";  // of 1, 2, 3 and 4 bytes
  for (std::size_t longest = 0; longest <= words.size() + 1; ++longest) {
    const std::string part = cut(words, longest);
    EXPECT_LE(part.size(), longest);
    EXPECT_GT(part.size() + 4, std::min(longest, words.size()));
    EXPECT_TRUE(words.starts_with(part));
    EXPECT_EQ(kept(part), part);
  }
  for (const char* wrong : {"\xff", "a\xc3", "\xe2\x82 b", "\xed\xa0\x80"}) {
    EXPECT_EQ(kept(cut(wrong, 100)), cut(wrong, 100));
    EXPECT_LE(cut(wrong, 2).size(), 2u);
  }
}

}  // namespace
}  // namespace empi::json_text
