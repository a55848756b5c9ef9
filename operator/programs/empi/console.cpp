// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace emj::cli {

namespace {

struct Size {
  std::size_t columns = 80, rows = 24;
};

Size terminal_size() {
  winsize size{};
  Size result;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return result;
  if (size.ws_col > 10) result.columns = size.ws_col;
  if (size.ws_row > 3) result.rows = size.ws_row;
  return result;
}

// At most `width` characters: a line that wraps could not be erased again.
std::string shortened(const std::string& text, std::size_t width) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool continues = (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
    if (!continues && ++characters > width) return text.substr(0, i);
  }
  return text;
}

}  // namespace

Console::~Console() { std::fflush(stdout); }

void Console::line(const std::string& text) {
  std::lock_guard lock(mutex_);
  erase();
  std::fprintf(stdout, "%s\n", text.c_str());
  draw();
  std::fflush(stdout);
}

void Console::warning(const std::string& text) {
  std::lock_guard lock(mutex_);
  erase();
  std::fflush(stdout);
  std::fprintf(stderr, "empi: %s\n", text.c_str());
  draw();
  std::fflush(stdout);
}

void Console::view(std::vector<std::string> lines) {
  if (!live_) return;
  std::lock_guard lock(mutex_);
  erase();
  view_ = std::move(lines);
  draw();
  std::fflush(stdout);
}

void Console::erase() {
  if (drawn_ > 0) std::fprintf(stdout, "\x1b[%zuF\x1b[J", drawn_);
  drawn_ = 0;
}

void Console::draw() {
  if (!live_) return;
  const auto [columns, rows] = terminal_size();
  // What has left the screen at its top could not be erased again.
  const bool all = view_.size() < rows;
  const std::size_t count = all ? view_.size() : rows - 2;
  for (std::size_t i = 0; i < count; ++i)
    std::fprintf(stdout, "%s\n", shortened(view_[i], columns - 1).c_str());
  if (!all) std::fprintf(stdout, "... and %zu lines more\n", view_.size() - count);
  drawn_ = count + (all ? 0 : 1);
}

}  // namespace emj::cli
