#include "runtime/agent/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

namespace empi::agent {
namespace {

constexpr std::size_t kTailLines = 20;
constexpr std::size_t kLongestLine = 64 * 1024;
constexpr std::uint64_t kRepeatsShown = 100;

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
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread([this] { run(); });
}

Output::~Output() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
  for (Stream& stream : streams_) close(stream.fd);
  close(wake_);
}

void Output::wake() {
  const std::uint64_t one = 1;
  if (write(wake_, &one, sizeof one) < 0) return;  // full: it is awake
}

void Output::add(const ProcId& proc, int fd, int target) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  {
    std::lock_guard lock(mutex_);
    tails_[proc];
    incoming_.push_back({proc, fd, target, {}, {}});
  }
  wake();
}

void Output::say(const ProcId& proc, int target, std::string_view text) {
  LineSplitter splitter;
  std::vector<std::string> lines = splitter.feed(text);
  if (std::string rest = splitter.rest(); !rest.empty()) lines.push_back(std::move(rest));
  {
    std::lock_guard lock(mutex_);
    said_.push_back({proc, target, std::move(lines)});
  }
  wake();
}

void Output::drain(const ProcId&, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  const std::uint64_t mine = ++requested_;
  wake();
  passed_.wait_for(lock, limit, [&] { return done_ >= mine; });
}

std::vector<std::string> Output::tail(const ProcId& proc) const {
  std::lock_guard lock(mutex_);
  auto at = tails_.find(proc);
  if (at == tails_.end()) return {};
  return {at->second.begin(), at->second.end()};
}

void Output::forget(const ProcId& proc) {
  std::lock_guard lock(mutex_);
  tails_.erase(proc);
}

void Output::emit(const ProcId& proc, int target, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  std::string text;
  for (const std::string& line : lines) {
    if (prefix_) text += "[" + pod_ + " " + proc.nspace + "/" + std::to_string(proc.rank) + "] ";
    text += line + "\n";
  }
  {
    std::lock_guard lock(mutex_);
    if (auto at = tails_.find(proc); at != tails_.end())
      for (const std::string& line : lines) {
        at->second.push_back(line);
        if (at->second.size() > kTailLines) at->second.pop_front();
      }
  }
  write_all(target, text);
}

std::vector<std::string> Output::thinned(Stream& stream, std::vector<std::string> lines) {
  return stream.target == 2 ? stream.repeats.thin(std::move(lines)) : lines;
}

bool Output::read_some(Stream& stream) {
  char buffer[16384];
  for (;;) {
    const ssize_t n = read(stream.fd, buffer, sizeof buffer);
    if (n > 0) {
      emit(stream.proc, stream.target,
           thinned(stream, stream.lines.feed({buffer, static_cast<std::size_t>(n)})));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (std::string rest = stream.lines.rest(); !rest.empty())
      emit(stream.proc, stream.target, thinned(stream, {rest}));
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
    std::erase_if(streams_, [&](Stream& stream) {
      if (read_some(stream)) return false;
      close(stream.fd);
      return true;
    });
    for (const Saying& saying : said) emit(saying.proc, saying.target, saying.lines);
    {
      std::lock_guard lock(mutex_);
      done_ = std::max(done_, round);
      passed_.notify_all();
    }
    if (last) return;
    std::vector<pollfd> waits = {{wake_, POLLIN, 0}};
    for (const Stream& stream : streams_) waits.push_back({stream.fd, POLLIN, 0});
    poll(waits.data(), waits.size(), -1);
    std::uint64_t count;
    while (read(wake_, &count, sizeof count) > 0) {
    }
  }
}

}  // namespace empi::agent
