// SPDX-License-Identifier: Apache-2.0
// Marks a text in a describe() as bytes of any kind.
#pragma once
#include <string>

namespace empi {

template <class Text>
struct Binary {
  Text& bytes;
};
inline Binary<std::string> binary(std::string& bytes) { return {bytes}; }
inline Binary<const std::string> binary(const std::string& bytes) { return {bytes}; }

}  // namespace empi
