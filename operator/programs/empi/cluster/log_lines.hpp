// SPDX-License-Identifier: Apache-2.0
// A log that comes in pieces and, after an interruption, partly again. Pure.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace emj::cli {

// Lines as `timestamps=true` gives them: "2026-01-31T12:00:00.25Z text".
class LogLines {
 public:
  // What is to be shown of the next piece: whole lines without their times, and none that was shown before.
  std::string feed(std::string_view piece);
  // The stream has ended: its last line, should it be without an end.
  std::string end();
  // Of the last line shown, "" before the first: a stream from there on does not leave out anything.
  const std::string& last_time() const { return last_; }
  void another_log();  // of another pod: nothing of it was shown

 private:
  std::string shown(const std::string& line);

  std::string rest_;         // of a line
  std::string last_;         // as it was given
  std::size_t at_last_ = 0;  // lines shown that have this time
  std::size_t again_ = 0;    // of these, how many this stream has given again
  bool catching_up_ = false;
};

}  // namespace emj::cli
