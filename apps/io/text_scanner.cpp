// SPDX-License-Identifier: Apache-2.0
#include "apps/io/text_scanner.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "apps/io/file_error.hpp"

namespace io {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == ',' || c == '\f' || c == '\v'; }

}  // namespace

std::optional<std::string_view> TextScanner::next_line() {
  if (line_started_) ++line_;
  if (position_ >= text_.size()) return std::nullopt;
  line_started_ = true;
  const auto end = std::min(text_.find('\n', position_), text_.size());
  auto line = text_.substr(position_, end - position_);
  position_ = std::min(end + 1, text_.size());
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::optional<std::string_view> TextScanner::next_word() {
  if (line_started_) ++line_;  // the line that next_line() returned is finished
  line_started_ = false;
  while (position_ < text_.size() && (is_blank(text_[position_]) || text_[position_] == '\n')) {
    if (text_[position_] == '\n') ++line_;
    ++position_;
  }
  if (position_ >= text_.size()) return std::nullopt;
  const auto begin = position_;
  while (position_ < text_.size() && !is_blank(text_[position_]) && text_[position_] != '\n') ++position_;
  return text_.substr(begin, position_ - begin);
}

bool TextScanner::parse(std::string_view word, double& value) {
  if (!word.empty() && word.front() == '+') word.remove_prefix(1);
  const char *begin = word.begin(), *end = word.end();
  auto result = std::from_chars(begin, end, value);
  if (result.ec != std::errc() || result.ptr != end) {
    const auto exponent = word.find_first_of("dD");
    if (exponent == std::string_view::npos || word.size() > 40) return false;
    std::string fortran(word);
    fortran[exponent] = 'e';
    result = std::from_chars(fortran.data(), fortran.data() + fortran.size(), value);
    if (result.ec != std::errc() || result.ptr != fortran.data() + fortran.size()) return false;
  }
  return std::isfinite(value);
}

std::vector<std::string_view> TextScanner::words(std::string_view line) {
  std::vector<std::string_view> found;
  for (std::size_t i = 0; i < line.size();) {
    if (is_blank(line[i])) {
      ++i;
      continue;
    }
    const auto begin = i;
    while (i < line.size() && !is_blank(line[i])) ++i;
    found.push_back(line.substr(begin, i - begin));
  }
  return found;
}

void TextScanner::fail(const std::string& expected, const std::string& found,
                       const std::string& advice) const {
  throw FileError::at_line(path_, line_, expected, found, advice);
}

void TextScanner::fail_at_end(const std::string& what) const {
  fail(what, "the end of the file", "the file is cut off: fetch it again");
}

void TextScanner::fail_number(const std::string& what, std::string_view word) const {
  fail(what + " as a finite number", in_quotes(word), "correct the value or fetch the file again");
}

std::string in_quotes(std::string_view word) {
  std::string text(word.substr(0, 40));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
  }
  return "'" + text + (word.size() > 40 ? "..." : "") + "'";
}

}  // namespace io
