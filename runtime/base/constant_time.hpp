// SPDX-License-Identifier: Apache-2.0
// Comparing secrets.
#pragma once
#include <string_view>

namespace empi {

// True when both are equal, in time that depends on the length of `presented` only.
inline bool constant_time_equal(std::string_view expected, std::string_view presented) {
  volatile unsigned char difference = expected.size() == presented.size() && !expected.empty() ? 0 : 1;
  for (std::size_t i = 0; i < presented.size(); ++i) {
    const char other = expected.empty() ? char{1} : expected[i % expected.size()];
    difference = difference | static_cast<unsigned char>(presented[i] ^ other);
  }
  return difference == 0;
}

}  // namespace empi
