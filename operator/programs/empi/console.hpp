// SPDX-License-Identifier: Apache-2.0
// What a running job shows: lines that scroll by and, on a terminal, a few lines at the bottom that are
// drawn anew. Safe from any thread.
#pragma once
#include <mutex>
#include <string>
#include <vector>

namespace emj::cli {

class Console {
 public:
  Console(bool live) : live_(live) {}
  ~Console();  // leaves the last view on the screen

  bool live() const { return live_; }
  void line(const std::string& text);
  void warning(const std::string& text);  // to standard error
  // Replaces the lines at the bottom. Nothing happens when there is no terminal.
  void view(std::vector<std::string> lines);

 private:
  void erase();
  void draw();

  const bool live_;
  std::mutex mutex_;
  std::vector<std::string> view_;
  std::size_t drawn_ = 0;
};

}  // namespace emj::cli
