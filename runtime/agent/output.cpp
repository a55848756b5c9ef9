// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "runtime/base/log.hpp"
#include "runtime/protocol/log_lines.hpp"

namespace empi::agent {
namespace {

constexpr std::size_t kTailLines = 40;  // more than Open MPI's stack trace of a crash has
constexpr std::size_t kMessageLines = 50;
constexpr std::size_t kLongestLine = 64 * 1024;
constexpr std::uint64_t kRepeatsShown = 100;

void push(std::deque<std::string>& last, const std::string& line, std::size_t limit) {
  last.push_back(line);
  if (last.size() > limit) last.pop_front();
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      pollfd wait{fd, POLLOUT, 0};
      poll(&wait, 1, 1000);
      continue;
    }
    if (n <= 0) return;  // nobody reads any more
    text.remove_prefix(n);
  }
}

}  // namespace

std::vector<std::string> LineSplitter::feed(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const bool whole = end != bytes.npos;
    const std::size_t take = std::min(whole ? end : bytes.size(), kLongestLine - partial_.size());
    partial_.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    const bool newline = whole && !bytes.empty() && bytes.front() == '\n';
    if (newline) bytes.remove_prefix(1);
    if (newline || partial_.size() >= kLongestLine) {
      lines.push_back(std::move(partial_));
      partial_.clear();
    }
  }
  return lines;
}

std::string LineSplitter::rest() { return std::exchange(partial_, {}); }

std::vector<std::string> Repeats::thin(std::vector<std::string> lines) {
  std::vector<std::string> kept;
  for (std::string& line : lines) {
    const bool again = line == last_ || line == before_;
    if (!again) std::ranges::move(rest(), std::back_inserter(kept));
    if (line != last_) before_ = std::exchange(last_, line);
    repeated_ = again ? repeated_ + 1 : 0;
    if (repeated_ <= kRepeatsShown) kept.push_back(std::move(line));
  }
  return kept;
}

std::vector<std::string> Repeats::rest() {
  if (repeated_ <= kRepeatsShown) return {};
  return {"(" + std::to_string(std::exchange(repeated_, 0) - kRepeatsShown) + " more lines like these)"};
}

Output::Output(bool prefix, std::string pod) : prefix_(prefix), pod_(std::move(pod)) {
  thread_ = std::thread([this] { run(); });
}

Output::~Output() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakeup_.notify();
  thread_.join();
}

void Output::add(const ProcId& proc, UniqueFd fd, int target) {
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  {
    std::lock_guard lock(mutex_);
    kept_[proc];
    incoming_.push_back({.proc = proc, .fd = std::move(fd), .target = target});
  }
  wakeup_.notify();
}

void Output::say(const ProcId& proc, int target, std::string_view text) {
  LineSplitter splitter;
  std::vector<std::string> lines = splitter.feed(text);
  if (std::string rest = splitter.rest(); !rest.empty()) lines.push_back(std::move(rest));
  {
    std::lock_guard lock(mutex_);
    said_.push_back({proc, target, std::move(lines)});
  }
  wakeup_.notify();
}

void Output::failed(const ProcId& proc) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = kept_.find(proc); at != kept_.end()) at->second.failed = true;
  }
  wakeup_.notify();
}

void Output::drain(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  const std::uint64_t mine = ++requested_;
  wakeup_.notify();
  passed_.wait_for(lock, limit, [&] { return done_ >= mine; });
}

std::vector<std::string> Output::tail(const ProcId& proc) const {
  std::lock_guard lock(mutex_);
  auto at = kept_.find(proc);
  if (at == kept_.end()) return {};
  return {at->second.tail.begin(), at->second.tail.end()};
}

void Output::forget(const ProcId& proc) {
  std::lock_guard lock(mutex_);
  kept_.erase(proc);
}

void Output::emit(const ProcId& proc, int target, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  if (target == kMpiMessages) return keep_messages(proc, lines);
  std::string text;
  for (const std::string& line : lines) {
    if (prefix_) text += rank_log_prefix(pod_, name_of(proc));
    text += line + "\n";
  }
  {
    std::lock_guard lock(mutex_);
    if (auto at = kept_.find(proc); at != kept_.end())
      for (const std::string& line : lines) push(at->second.tail, line, kTailLines);
  }
  write_all(target, text);
}

void Output::keep_messages(const ProcId& proc, const std::vector<std::string>& lines) {
  const std::lock_guard lock(mutex_);
  const auto at = kept_.find(proc);
  for (const std::string& line : lines) {
    log::debug("MPI in {}: {}", name_of(proc), line);
    if (at != kept_.end()) push(at->second.messages, line, kMessageLines);
  }
}

void Output::show_messages_of_failed() {
  std::vector<Saying> shown;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [proc, kept] : kept_) {
      if (!kept.failed || kept.messages.empty()) continue;
      shown.push_back({proc, 2, {kept.messages.begin(), kept.messages.end()}});
      kept.messages.clear();
    }
  }
  for (const Saying& saying : shown) emit(saying.proc, saying.target, saying.lines);
}

void Output::forward(Stream& stream, std::vector<std::string> lines) {
  if (stream.target == 2) emit(stream.proc, kMpiMessages, stream.printed_by_mpi.take(lines));
  if (stream.target != 1) lines = stream.repeats.thin(std::move(lines));
  emit(stream.proc, stream.target, lines);
}

bool Output::read_some(Stream& stream) {
  char buffer[16384];
  for (;;) {
    const ssize_t n = read(stream.fd.get(), buffer, sizeof buffer);
    if (n > 0) {
      forward(stream, stream.lines.feed({buffer, static_cast<std::size_t>(n)}));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (std::string rest = stream.lines.rest(); !rest.empty()) forward(stream, {std::move(rest)});
    emit(stream.proc, stream.target, stream.repeats.rest());
    return false;
  }
}

void Output::run() {
  for (;;) {
    std::uint64_t round;
    bool last;
    std::vector<Saying> said;
    {
      std::lock_guard lock(mutex_);
      round = requested_;
      last = stopping_;
      for (Stream& stream : incoming_) streams_.push_back(std::move(stream));
      incoming_.clear();
      said = std::exchange(said_, {});
    }
    std::erase_if(streams_, [&](Stream& stream) { return !read_some(stream); });
    for (const Saying& saying : said) emit(saying.proc, saying.target, saying.lines);
    show_messages_of_failed();
    {
      std::lock_guard lock(mutex_);
      done_ = std::max(done_, round);
      passed_.notify_all();
    }
    if (last) return;
    std::vector<pollfd> waits = {{wakeup_.fd(), POLLIN, 0}};
    for (const Stream& stream : streams_) waits.push_back({stream.fd.get(), POLLIN, 0});
    poll(waits.data(), waits.size(), -1);
    wakeup_.clear();
  }
}

}  // namespace empi::agent
