// SPDX-License-Identifier: Apache-2.0
#pragma once

// What descriptions of fields are made of: ranges, and the words of enumerations. Private to operator/api.
//
// A description walks the fields of a value, each named once. The visitor reads JSON, writes JSON or lists
// the fields. It offers:
//   field(name, reference, range)   plain values, optionals, times, quantities, enumerations, lists of
//   numbers or texts word(name, reference)           an enumeration that the schema leaves open, for status:
//   what another version
//                                   has written reads as Unknown, which is written as nothing
//   always(name, reference)         a text that is written when it is empty, too
//   object(name, function)          a nested object that always exists
//   object(name, optional, ...)     a nested object that may be absent; described by describe(v, T&)
//   list(name, vector, count)       a list of objects, each described by describe(v, T&)
//   group(key, optional)            fields of the current object that exist when `key` does

#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "operator/api/time.hpp"

namespace emj::fields {

struct Range {
  std::int64_t minimum = std::numeric_limits<std::int64_t>::min();
  std::int64_t maximum = std::numeric_limits<std::int64_t>::max();
};

inline constexpr Range kAny{};
inline constexpr Range kNotNegative{0, std::numeric_limits<std::int64_t>::max()};
inline constexpr Range kPositive{1, std::numeric_limits<std::int64_t>::max()};
inline constexpr Range kPercent{0, 100};
inline constexpr Range kWorkerCount{1, 10000};
inline constexpr std::int64_t kDayInSeconds = 86400;

template <class E>
struct Names;

template <class E>
const char* name_of(E value) {
  for (const auto& [candidate, name] : Names<E>::all)
    if (candidate == value) return name;
  return "";
}

#define EMJ_NAMES(Type, count, ...)                                                      \
  template <>                                                                            \
  struct Names<Type> {                                                                   \
    static constexpr std::array<std::pair<Type, const char*>, count> all{{__VA_ARGS__}}; \
  };

}  // namespace emj::fields
