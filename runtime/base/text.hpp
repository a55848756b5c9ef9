// SPDX-License-Identifier: Apache-2.0
// Words and numbers for lines that people read.
#pragma once
#include <cctype>
#include <cstdio>
#include <string>

namespace empi {

// printf into a string of at most 399 characters; what is longer is cut.
template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[400];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

// "850 us", "12.3 ms", "4.56 s"
inline std::string time_text(double seconds) {
  if (seconds < 1e-3) return format("%.3g us", seconds * 1e6);
  if (seconds < 1) return format("%.3g ms", seconds * 1e3);
  return format("%.3g s", seconds);
}

// ASCII; other bytes stay.
inline std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace empi
