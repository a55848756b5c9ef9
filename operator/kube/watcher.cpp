// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/watcher.hpp"

#include <algorithm>
#include <utility>

namespace emj::kube {

namespace {

// A server that accepts a watch and ends it at once without a word is not well.
constexpr Seconds kShortestProperWatch{1};

bool version_is_ahead(const ApiError& error) {
  return std::any_of(error.causes.begin(), error.causes.end(),
                     [](const Cause& cause) { return cause.reason == "ResourceVersionTooLarge"; });
}

}  // namespace

Watcher::Watcher(Client& client, Resource resource, WatchSink& sink, WatcherOptions options, Clock& clock)
    : client_(client),
      resource_(std::move(resource)),
      sink_(sink),
      options_(std::move(options)),
      clock_(clock),
      backoff_(options_.backoff, options_.seed),
      random_(options_.seed + 1),
      heard_(clock.now()) {}

void Watcher::start() {
  std::lock_guard lock(mutex_);
  if (thread_.joinable() || stopping_) return;
  heard_ = clock_.now();
  running_ = true;
  thread_ = std::thread([this] { run(); });
}

void Watcher::stop() {
  std::thread thread;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    condition_.notify_all();
    // One stop() may come before there is a socket to cut.
    while (running_) {
      if (current_) current_->stop();
      condition_.wait_for(lock, Millis(20), [this] { return !running_; });
    }
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

std::chrono::steady_clock::duration Watcher::age() const {
  std::lock_guard lock(mutex_);
  return clock_.now() - heard_;
}

std::chrono::steady_clock::duration Watcher::idle() const {
  std::lock_guard lock(mutex_);
  return clock_.now() - std::max(heard_, tried_);
}

WatcherStats Watcher::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void Watcher::heard() {
  std::lock_guard lock(mutex_);
  heard_ = clock_.now();
  stats_.last_problem.clear();
}

void Watcher::wait(Millis time) {
  std::unique_lock lock(mutex_);
  clock_.wait_until(condition_, lock, clock_.now() + time, [this] { return stopping_; });
}

void Watcher::run() {
  const auto stopping = [this] {
    std::lock_guard lock(mutex_);
    stats_.version = version_;
    return stopping_;
  };
  while (!stopping()) {
    if (version_.empty() && !list()) continue;
    if (!stopping()) watch();
    if (!version_.empty() && clock_.now() - listed_ >= options_.relist_after)
      list_version_ = std::exchange(version_, {});
  }
  std::lock_guard lock(mutex_);
  running_ = false;
  condition_.notify_all();
}

// Waits before the next attempt, at least as long as the server asked for.
void Watcher::fail(const ApiError& error) {
  if (error.kind == ApiError::Kind::Stopped) {
    // The client was stopped, or we were; in the first case nothing will ever work again.
    wait(options_.backoff.longest);
    return;
  }
  Millis time = backoff_.next(clock_.now());
  if (error.retry_after) time = std::max(time, *error.retry_after);
  bool news = false;
  {
    std::lock_guard lock(mutex_);
    ++stats_.failures;
    tried_ = clock_.now();
    news = stats_.last_problem != error.message;
    stats_.last_problem = error.message;
  }
  if (news && options_.log)
    options_.log(error.message + "; next attempt in " + std::to_string(time.count()) + " ms");
  wait(time);
}

// The first relist accepts any state that is not older than what we have, which the server can answer from
// its cache; when that does not help, the newest state is asked for. The first 410 is ordinary, also just
// after a list: a server whose cache of the resource has only begun (a new definition) knows nothing older
// than itself.
void Watcher::expired(const ApiError& error) {
  {
    std::lock_guard lock(mutex_);
    ++stats_.expired;
  }
  list_version_ = progressed_ ? version_ : "";
  version_.clear();
  progressed_ = false;
  if (std::exchange(expired_, true)) fail(error);  // again and again: not in a tight loop
}

bool Watcher::list() {
  {
    std::lock_guard lock(mutex_);
    ++stats_.lists;
  }
  ListOptions options{options_.label_selector, options_.field_selector, list_version_, options_.page};
  auto listed = client_.list(resource_, options_.namespace_name, options, options_.reduce);
  if (!listed) {
    const ApiError& error = listed.error();
    if (error.kind == ApiError::Kind::Expired) {
      std::lock_guard lock(mutex_);
      ++stats_.expired;
    }
    if (!list_version_.empty() && (error.kind == ApiError::Kind::Expired || version_is_ahead(error))) {
      list_version_.clear();  // this version is of no use any more: try the newest at once
      return false;
    }
    fail(error);
    return false;
  }
  version_ = listed.value().resource_version;
  list_version_.clear();
  listed_ = clock_.now();
  heard();
  sink_.replaced(std::move(listed.value().items), version_);
  return true;
}

void Watcher::watch() {
  std::shared_ptr<Watch> watch = client_.make_watch();
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    current_ = watch;
    ++stats_.watches;
  }
  WatchOptions options{version_, options_.label_selector, options_.field_selector};
  options.timeout = Seconds(std::uniform_int_distribution<Seconds::rep>(
      options_.shortest_watch.count(),
      std::max(options_.shortest_watch, options_.longest_watch).count())(random_));
  const Instant begin = clock_.now();
  const WatchEnd end = watch->run(
      resource_, options_.namespace_name, options,
      [&](WatchEvent event) {
        const Instant received = event.read;
        heard();
        const bool bookmark = event.type == WatchEvent::Type::Bookmark;
        {
          std::lock_guard lock(mutex_);
          if (stopping_) return false;
          ++(bookmark ? stats_.bookmarks : stats_.events);
        }
        std::string version = resource_version_of(event.object);
        if (!bookmark) {
          if (options_.reduce) options_.reduce(event.object);
          sink_.changed(std::move(event), received);
        }
        if (!version.empty()) version_ = std::move(version);
        progressed_ = true;
        expired_ = false;
        return true;
      },
      [&] { heard(); });
  {
    std::lock_guard lock(mutex_);
    current_.reset();
    if (stopping_) return;  // whatever the end says: the socket was cut by stop()
  }
  using Kind = ApiError::Kind;
  if (!end.error) {
    if (end.events > 0 || clock_.now() - begin >= kShortestProperWatch) {
      expired_ = false;
      return;
    }
    ApiError error;
    error.message = "watching " + resource_.plural + ": the server ended the watch at once without an event";
    fail(error);
  } else if (end.error->kind == Kind::Expired) {
    expired(*end.error);
  } else {
    // An event that was not readable or not sent is missed: only a list shows what it was.
    const bool missed = end.error->kind == Kind::Malformed ||
                        (end.opened && end.error->status != 0 && end.error->kind != Kind::TooManyRequests);
    if (missed) {
      list_version_.clear();
      version_.clear();
    }
    fail(*end.error);
  }
}

}  // namespace emj::kube
