// SPDX-License-Identifier: Apache-2.0
// What descriptions of fields are made of, and the words of enumerations. Private to operator/api. What
// values are allowed the schema says (operator/api/schema.hpp).
//
// A description walks the fields of a value, each named once. The visitor reads JSON, writes JSON or lists
// the fields. It offers:
//   field(name, reference)          plain values, optionals, times, quantities, enumerations, lists of
//                                   numbers or texts
//   word(name, reference)           an enumeration that the schema leaves open, for status: what another
//                                   version has written reads as Unknown, which is written as nothing
//   always(name, reference)         a text that is written when it is empty, too
//   object(name, function)          a nested object that always exists
//   object(name, optional, ...)     a nested object that may be absent; described by describe(v, T&)
//   list(name, vector)              a list of objects, each described by describe(v, T&)
//   group(key, optional)            fields of the current object that exist when `key` does
#pragma once
#include <array>
#include <utility>

namespace emj::fields {

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
