// SPDX-License-Identifier: Apache-2.0
// Whole numbers from JSON that anybody may have written. nlohmann::json's get() takes any number for one,
// whatever its size, and what it makes of one that does not fit is undefined. Include only in .cpp files.
#pragma once
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

namespace empi::wire {

// All of these throw nlohmann::json::type_error for what is no whole number, or does not fit.
template <std::integral T>
  requires(!std::same_as<T, bool>)
T integer(const nlohmann::json& from) {
  if (from.is_number_unsigned()) {
    const auto value = from.get<std::uint64_t>();
    if (std::in_range<T>(value)) return static_cast<T>(value);
  } else if (from.is_number_integer()) {
    const auto value = from.get<std::int64_t>();
    if (std::in_range<T>(value)) return static_cast<T>(value);
  }
  throw nlohmann::json::type_error::create(302, "type must be a whole number in range, but is another",
                                           &from);
}
// A member that is missing is a nlohmann::json::out_of_range.
template <class T>
void get_integer(const nlohmann::json& object, const char* name, T& value) {
  value = integer<T>(object.at(name));
}
template <class T>
T integer_or(const nlohmann::json& object, const char* name, T otherwise) {
  const auto found = object.find(name);
  return found == object.end() ? otherwise : integer<T>(*found);
}

}  // namespace empi::wire
