// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/reactor.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace empi::agent {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

Reactor::Reactor() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) fail("cannot make the agent's event loop");
  epoll_event event{.events = EPOLLIN, .data = {.fd = wakeup_.fd()}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wakeup_.fd(), &event)) fail("epoll_ctl");
}

void Reactor::post(Task task) {
  bool first;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    first = posted_.empty();
    posted_.push_back(std::move(task));
  }
  if (first) wakeup_.notify();
}

void Reactor::watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> on_ready) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  const int op = watched_.contains(fd) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (epoll_ctl(epoll_.get(), op, fd, &event)) fail("epoll_ctl");
  watched_[fd] = std::move(on_ready);
}

void Reactor::unwatch(int fd) {
  if (watched_.erase(fd)) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Reactor::TimerId Reactor::after(Millis delay, Task task) {
  const TimerId id = next_timer_++;
  const TimePoint when = Clock::now() + delay;
  timers_.emplace(std::pair(when, id), std::move(task));
  timer_times_.emplace(id, when);
  return id;
}

void Reactor::cancel(TimerId timer) {
  auto at = timer_times_.find(timer);
  if (at == timer_times_.end()) return;
  timers_.erase({at->second, timer});
  timer_times_.erase(at);
}

int Reactor::wait_milliseconds() const {
  if (timers_.empty()) return -1;
  const auto left = std::chrono::ceil<Millis>(timers_.begin()->first.first - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void Reactor::run_posted() {
  wakeup_.clear();
  std::vector<Task> tasks;
  {
    std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (Task& task : tasks) {
    if (stopped_) return;
    task();
  }
}

void Reactor::run_due_timers() {
  const TimePoint now = Clock::now();
  while (!stopped_ && !timers_.empty() && timers_.begin()->first.first <= now) {
    auto node = timers_.extract(timers_.begin());
    timer_times_.erase(node.key().second);
    node.mapped()();
  }
}

void Reactor::run() {
  std::array<epoll_event, 64> events;
  while (!stopped_) {
    turned_ = Clock::now();
    const int n = epoll_wait(epoll_.get(), events.data(), events.size(), wait_milliseconds());
    if (n < 0 && errno != EINTR) fail("epoll_wait");
    for (int i = 0; i < n && !stopped_; ++i) {
      const int fd = events[i].data.fd;
      if (fd == wakeup_.fd()) {
        run_posted();
      } else if (auto at = watched_.find(fd); at != watched_.end()) {
        auto on_ready = at->second;  // a copy: the handler may unwatch itself
        on_ready(events[i].events);
      }
    }
    run_due_timers();
  }
  std::vector<Task> dropped;  // destroyed without the lock; whoever waits for one learns that it is gone
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(posted_);
  }
}

void Reactor::stop() {
  post([this] { stopped_ = true; });
}

Millis Reactor::age() const { return std::chrono::duration_cast<Millis>(Clock::now() - turned_.load()); }

}  // namespace empi::agent
