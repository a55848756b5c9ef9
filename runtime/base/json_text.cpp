// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/json_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace empi::json_text {
namespace {

using nlohmann::json;

// Takes what the library's parsers find, one piece after the other, and puts the value together.
class Builder {
 public:
  explicit Builder(const Limits& limits)
      : deepest_(static_cast<std::size_t>(limits.deepest)), values_left_(limits.values), limits_(limits) {}
  json take() { return std::move(root_); }

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(json::number_integer_t value) { return put(value); }
  bool number_unsigned(json::number_unsigned_t value) { return put(value); }
  bool number_float(json::number_float_t value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(json::binary_t& value) { return put(std::move(value)); }
  bool start_object(std::size_t) { return open(json::object()); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool key(std::string& name) {
    member_ = &open_.back()->get_ref<json::object_t&>()[std::move(name)];
    return true;
  }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  template <class Error>  // of the library's, each thrown as what it is
  bool parse_error(std::size_t, const std::string&, const Error& error) {
    throw error;
  }

 private:
  json& place(json&& value) {
    if (values_left_-- == 0)
      throw json::parse_error::create(101, 0, "more than " + std::to_string(limits_.values) + " values",
                                      nullptr);
    if (open_.empty()) return root_ = std::move(value);
    if (!open_.back()->is_array()) return *member_ = std::move(value);
    auto& elements = open_.back()->get_ref<json::array_t&>();
    elements.push_back(std::move(value));
    return elements.back();
  }
  bool put(json value) {
    place(std::move(value));
    return true;
  }
  bool open(json value) {
    if (open_.size() == deepest_)
      throw json::parse_error::create(101, 0, "nested more than " + std::to_string(deepest_) + " deep",
                                      nullptr);
    open_.push_back(&place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::size_t deepest_, values_left_;
  const Limits& limits_;
  json root_;
  std::vector<json*> open_;  // arrays and objects that have begun, and not ended
  json* member_ = nullptr;   // of the innermost object: the one whose name came last
};

json build(std::string_view bytes, json::input_format_t format, const Limits& limits) {
  Builder builder(limits);
  json::sax_parse(bytes.begin(), bytes.end(), &builder, format);
  return builder.take();
}

}  // namespace

json parse(std::string_view text, const Limits& limits) {
  return build(text, json::input_format_t::json, limits);
}
json parse(std::string_view text, int deepest) { return parse(text, Limits{deepest}); }
json try_parse(std::string_view text, const Limits& limits) {
  try {
    return parse(text, limits);
  } catch (const json::exception&) {
    return json::value_t::discarded;
  }
}
json try_parse(std::string_view text, int deepest) { return try_parse(text, Limits{deepest}); }

std::string text(const json& value, int indent) { return value.dump(indent); }
std::string safe_text(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

bool is_utf8(std::string_view text) {
  if (std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) return true;
  try {
    json(text).dump();
    return true;
  } catch (const json::type_error&) {
    return false;
  }
}

std::string cut(std::string text, std::size_t longest) {
  if (!is_utf8(text)) text = json::parse(safe_text(text)).get<std::string>();
  if (text.size() <= longest) return text;
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80) --longest;
  text.resize(longest);
  return text;
}

std::vector<std::uint8_t> cbor(const json& value) { return json::to_cbor(value); }
json from_cbor(std::string_view bytes) { return build(bytes, json::input_format_t::cbor, {kDeepestMessage}); }

}  // namespace empi::json_text
