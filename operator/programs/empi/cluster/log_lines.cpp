// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/cluster/log_lines.hpp"

#include <algorithm>
#include <utility>

namespace emj::cli {

namespace {

constexpr std::size_t kDate = 19;  // "2026-01-31T12:00:00"

bool is_time(std::string_view text) {
  return text.size() > kDate && text[4] == '-' && text[10] == 'T' && text[13] == ':';
}

// Fractions have any number of digits: ".1Z" is before ".12Z".
bool before(std::string_view a, std::string_view b) {
  const auto digits = [](std::string_view time) {
    std::string text(time.substr(0, time.find_first_of("Z+-", kDate)));
    if (text.size() == kDate) text += '.';
    text.append(kDate + 10 - std::min(text.size(), kDate + 10), '0');
    return text;
  };
  return digits(a) < digits(b);
}

}  // namespace

std::string LogLines::shown(const std::string& line) {
  const auto space = line.find(' ');
  const std::string time = line.substr(0, space);
  if (!is_time(time)) return line + "\n";  // a server's own word
  if (catching_up_) {  // later on lines may be a little out of order: they come from two pipes
    if (before(time, last_)) return "";
    if (!before(last_, time) && again_ < at_last_) {
      ++again_;
      return "";
    }
    catching_up_ = false;
  }
  at_last_ = time == last_ ? at_last_ + 1 : 1;
  last_ = time;
  return (space == std::string::npos ? "" : line.substr(space + 1)) + "\n";
}

std::string LogLines::feed(std::string_view piece) {
  std::string text;
  while (!piece.empty()) {
    const auto end = piece.find('\n');
    rest_ += piece.substr(0, end);
    if (end == std::string_view::npos) break;
    text += shown(std::exchange(rest_, {}));
    piece.remove_prefix(end + 1);
  }
  return text;
}

std::string LogLines::end() {
  std::string text = rest_.empty() ? "" : shown(std::exchange(rest_, {}));
  again_ = 0;
  catching_up_ = !last_.empty();
  return text;
}

void LogLines::another_log() {
  rest_.clear();
  last_.clear();
  at_last_ = again_ = 0;
  catching_up_ = false;
}

}  // namespace emj::cli
