// SPDX-License-Identifier: Apache-2.0
// Keeps a sink up to date with one collection: list, watch from the list's version, again for ever. Two
// things end a watch early and are no trouble: the server's timeout, and stop(). Everything else is waited
// out with a growing, jittered backoff; when events may have been missed, the collection is listed anew.
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "operator/kube/backoff.hpp"
#include "operator/kube/client.hpp"
#include "operator/kube/watch.hpp"

namespace emj::kube {

// Called on the watcher's thread only. Bookmarks and errors do not arrive here.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  virtual void replaced(std::vector<nlohmann::json> objects, const std::string& version) = 0;
  virtual void changed(WatchEvent event, Instant received) = 0;
};

struct WatcherOptions {
  std::string namespace_name{};  // empty: all
  std::string label_selector{}, field_selector{};
  int page = 500;
  Seconds shortest_watch{180}, longest_watch{280};  // drawn anew for each, so that they do not end together
  // After so long the collection is listed again though no watch has failed: an event that was lost, in
  // whatever way, is a change that nobody would ever notice.
  Seconds relist_after{1800};
  Backoff::Limits backoff{};
  std::function<void(nlohmann::json&)> reduce{};  // drops what nobody reads, before it is kept; keep metadata
  std::uint64_t seed = std::random_device{}();
  Log log{};
};

struct WatcherStats {
  std::uint64_t lists = 0, watches = 0, events = 0, bookmarks = 0;
  std::uint64_t expired = 0;   // 410 of either kind
  std::uint64_t failures = 0;  // everything that was waited out
  std::string version;         // where the next watch begins
  std::string last_problem;    // empty while all is well
};

class Watcher {
 public:
  Watcher(Client& client, Resource resource, WatchSink& sink, WatcherOptions options,
          Clock& clock = real_clock());
  ~Watcher() { stop(); }
  Watcher(const Watcher&) = delete;

  void start();
  void stop();  // prompt; the sink is not called afterwards. Not from the sink.

  // Since the server last said anything: a list, an opened watch, an event or a bookmark. A quiet collection
  // without bookmarks reaches longest_watch; far more than that is a stuck watch.
  std::chrono::steady_clock::duration age() const;
  // Since it has last done anything, be it an attempt that failed: a server that is away is no reason to
  // start anew.
  std::chrono::steady_clock::duration idle() const;
  WatcherStats stats() const;

 private:
  void run();
  bool list();
  void watch();
  void fail(const ApiError& error);
  void wait(Millis time);
  void heard();
  void expired(const ApiError& error);

  Client& client_;
  const Resource resource_;
  WatchSink& sink_;
  const WatcherOptions options_;
  Clock& clock_;
  Backoff backoff_;
  std::mt19937_64 random_;

  // The thread's own.
  std::string version_;       // from which to watch; empty: list first
  std::string list_version_;  // the list must not be older than this; empty: the newest state
  Instant listed_{};          // when the last list came
  bool progressed_ = false;   // something came since the last 410
  bool expired_ = false;      // the last watch ended with a 410

  mutable std::mutex mutex_;
  std::condition_variable condition_;
  WatcherStats stats_;
  Instant heard_;
  Instant tried_{};  // and failed
  std::shared_ptr<Watch> current_;
  bool stopping_ = false;
  bool running_ = false;
  std::thread thread_;
};

}  // namespace emj::kube
