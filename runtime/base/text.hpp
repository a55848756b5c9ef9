// SPDX-License-Identifier: Apache-2.0
// Words and numbers for lines that people read.
#pragma once
#include <cctype>
#include <cmath>
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

// "4.56 s", "35 min", "3 h 25 min", "2 d 4 h"; never more digits than one reads.
inline std::string seconds_text(double seconds) {
  constexpr double minute = 60, hour = 3600, day = 24 * hour;
  const double size = seconds < 0 ? -seconds : seconds;
  if (!(size < 1000 * 365 * day)) return seconds < 0 ? "no time" : "for ever";
  if (size < 2 * minute) return format("%.3g s", seconds);
  const char* sign = seconds < 0 ? "-" : "";
  const auto two = [sign](long long all, long long each, const char* large, const char* small) {
    std::string text = sign + std::to_string(all / each) + large;
    if (all % each != 0) text += " " + std::to_string(all % each) + small;
    return text;
  };
  if (size < 10 * minute) return two(std::llround(size), 60, " min", " s");
  if (size < hour) return sign + std::to_string(std::llround(size / minute)) + " min";
  if (size < 2 * day) return two(std::llround(size / minute), 60, " h", " min");
  return two(std::llround(size / hour), 24, " d", " h");
}

// As "%.4g", but never with an exponent where it is large.
inline std::string amount_text(double amount) {
  return amount >= 1e4 || amount <= -1e4 ? format("%.0f", amount) : format("%.4g", amount);
}

// "850 us", "12.3 ms", "4.56 s"
inline std::string time_text(double seconds) {
  if (seconds < 1e-3) return format("%.3g us", seconds * 1e6);
  if (seconds < 1) return format("%.3g ms", seconds * 1e3);
  return seconds_text(seconds);
}

// ASCII; other bytes stay.
inline std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// A record of a log is a line, whatever words of strangers are in it: "|" for the end of one, "?" for
// whatever else a terminal takes for a command (C0, DEL, and C1 as UTF-8 has it).
inline std::string one_line(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == '\n')
      text[i] = '|';
    else if (byte < 0x20 || byte == 0x7f)
      text[i] = '?';
    else if (byte == 0xc2 && next >= 0x80 && next < 0xa0)
      text.replace(i, 2, "?");
  }
  return text;
}

}  // namespace empi
