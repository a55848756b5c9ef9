#pragma once

// Words of reason lines.

#include <cstdio>
#include <string>

namespace emj {

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

}  // namespace emj
