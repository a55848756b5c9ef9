// SPDX-License-Identifier: Apache-2.0
// Reading objects of others: what is missing, or of another type, reads as nothing.
#pragma once
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

namespace emj {

inline const nlohmann::json& member(const nlohmann::json& object, const char* name) {
  static const nlohmann::json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

inline std::string text(const nlohmann::json& object, const char* name) {
  const nlohmann::json& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

inline nlohmann::json only(const nlohmann::json& object, std::initializer_list<const char*> names) {
  nlohmann::json kept = nlohmann::json::object();
  for (const char* name : names)
    if (const nlohmann::json& value = member(object, name); !value.is_null()) kept[name] = value;
  return kept;
}

}  // namespace emj
