// SPDX-License-Identifier: Apache-2.0
// Walks through a text file word by word and knows the line it is on, for messages.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace io {

/// It keeps no copy: the text has to outlive it, and words and lines are parts of the text.
class TextScanner {
 public:
  /// A byte order mark of UTF-8 before it, as spreadsheets write it, is not part of the text.
  TextScanner(std::string path, std::string_view text) : path_(std::move(path)), text_(without_mark(text)) {}

  static std::string_view without_mark(std::string_view text) {
    return text.substr(text.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  }

  const std::string& path() const { return path_; }
  std::size_t line() const { return line_; }
  std::size_t bytes_left() const { return text_.size() - position_; }

  /// Next line without its line end; nothing at the end of the file. line() is then that line's number.
  std::optional<std::string_view> next_line();

  /// Next blank-separated word; nothing at the end of the file.
  std::optional<std::string_view> next_word();

  /// Next word as a finite number. `what` names it in the error ("elevation of row 3, column 7").
  template <class Describe>
  double next_number(Describe&& what) {
    const auto word = next_word();
    if (!word) fail_at_end(what());
    double value = 0;
    if (!parse(*word, value)) fail_number(what(), *word);
    return value;
  }

  /// Finite decimal number that fills `word` completely (leading + and Fortran's D exponent allowed).
  static bool parse(std::string_view word, double& value);

  /// The words of one line.
  static std::vector<std::string_view> words(std::string_view line);

  [[noreturn]] void fail(const std::string& expected, const std::string& found,
                         const std::string& advice) const;

 private:
  [[noreturn]] void fail_at_end(const std::string& what) const;
  [[noreturn]] void fail_number(const std::string& what, std::string_view word) const;

  std::string path_;
  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t line_ = 1;
  bool line_started_ = false;
};

/// `word` in quotes, cut to a length that fits a message, control characters shown as '?'.
std::string in_quotes(std::string_view word);

}  // namespace io
