// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace emj::cli {

namespace {

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10 ? size.ws_col : 80;
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
  const std::size_t width = terminal_width() - 1;
  for (const std::string& text : view_) std::fprintf(stdout, "%s\n", shortened(text, width).c_str());
  drawn_ = view_.size();
}

}  // namespace emj::cli
