// SPDX-License-Identifier: Apache-2.0
// Lists in messages, written in one way everywhere.
#pragma once
#include <functional>
#include <string>

namespace empi {

/// What `text_of` gives for each element, in their order, with ", " between two: "a, b, c"; "" for none.
template <class Range, class TextOf = std::identity>
std::string joined(const Range& range, TextOf text_of = {}) {
  std::string list;
  bool first = true;
  for (const auto& element : range) {
    if (!first) list += ", ";
    list += std::invoke(text_of, element);
    first = false;
  }
  return list;
}

}  // namespace empi
