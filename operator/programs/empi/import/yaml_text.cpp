// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/import/yaml_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "runtime/base/json_text.hpp"
#include "runtime/base/text.hpp"

namespace emj::cli {

namespace {

using nlohmann::json;

bool is_plain(const std::string& text) {
  static constexpr std::array words{"true", "false", "yes", "no", "on", "off", "y", "n", "null"};
  if (text.empty() || (std::isalpha(static_cast<unsigned char>(text[0])) == 0 && text[0] != '/'))
    return false;
  if (std::ranges::find(words, empi::lower(text)) != words.end()) return false;
  return std::ranges::all_of(text, [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/');
  });
}

// A text of JSON is one of YAML.
std::string scalar(const json& value) {
  if (value.is_string() && is_plain(value.get_ref<const std::string&>())) return value.get<std::string>();
  return empi::json_text::safe_text(value);
}

void write(const json& value, std::size_t indent, std::string& text);

// Behind "name:" or "-"; `text` ends with that.
void write_value(const json& value, std::size_t indent, std::string& text) {
  if (value.empty() || !value.is_structured()) {
    text += " " + scalar(value) + "\n";
    return;
  }
  text += "\n";
  write(value, indent, text);
}

void write(const json& value, std::size_t indent, std::string& text) {
  const std::string margin(indent, ' ');
  if (value.is_object()) {
    for (const auto& [name, field] : value.items()) {
      text += margin + scalar(name) + ":";
      write_value(field, indent + 2, text);
    }
    return;
  }
  for (const json& item : value) {
    std::string inner;
    if (item.is_structured() && !item.empty()) {
      write(item, indent + 2, inner);
      inner.replace(indent, 1, "-");
      text += inner;
    } else {
      text += margin + "- " + scalar(item) + "\n";
    }
  }
}

}  // namespace

std::string yaml_text(const json& object) {
  std::string text;
  write(object, 0, text);
  return text;
}

}  // namespace emj::cli
