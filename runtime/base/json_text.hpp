// SPDX-License-Identifier: Apache-2.0
// JSON from and to text and CBOR. json_text.cpp alone compiles the library's parsers and serialisers: they
// cost seconds in every source that calls them itself.
//
// What is nested deeper than a limit is refused: the library reads CBOR, and copies and writes all, by
// recursion, so that a few MiB of brackets would overflow the stack.
#pragma once
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace empi::json_text {

// What agents, ranks and controllers say to each other has less than ten levels.
inline constexpr int kDeepestMessage = 64;
// An API server refuses more than 10,000; a list and a watch put theirs around it.
inline constexpr int kDeepestDocument = 10'016;

// As a value takes fifty bytes and more, text from strangers has a limit of values, too.
struct Limits {
  int deepest = kDeepestDocument;
  std::size_t values = SIZE_MAX;
};

// Throws nlohmann::json::parse_error.
nlohmann::json parse(std::string_view text, const Limits& limits);
nlohmann::json parse(std::string_view text, int deepest = kDeepestDocument);
// What is no JSON, or beyond the limits, gives a value that is_discarded().
nlohmann::json try_parse(std::string_view text, const Limits& limits);
nlohmann::json try_parse(std::string_view text, int deepest = kDeepestDocument);

// With `indent` of 0 and more a member a line. Throws nlohmann::json::type_error for text that is no UTF-8
// ...
std::string text(const nlohmann::json& value, int indent = -1);
// ... and this one puts U+FFFD in its place.
std::string safe_text(const nlohmann::json& value, int indent = -1);

bool is_utf8(std::string_view text);
// At most so many bytes of it, not cut within a character, and U+FFFD in place of what is no UTF-8: what
// safe_text() writes and somebody reads again is the same.
std::string cut(std::string text, std::size_t longest);

std::vector<std::uint8_t> cbor(const nlohmann::json& value);
nlohmann::json from_cbor(std::string_view bytes);  // a message; throws nlohmann::json::parse_error

}  // namespace empi::json_text
