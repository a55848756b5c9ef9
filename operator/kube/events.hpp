// SPDX-License-Identifier: Apache-2.0
// Events (kubectl describe) about objects. Repetitions become one Event with a count, each object has a
// budget, and writing happens on threads of its own: recording never blocks and never fails. An Event that
// cannot be written is logged, nothing else.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "operator/kube/client.hpp"

namespace emj::kube {

struct EventNote {
  nlohmann::json regarding;  // the object itself, or apiVersion, kind and metadata {name, namespace, uid}
  bool warning = false;
  std::string reason;  // CamelCase, for machines: WorkersReady
  std::string action;  // what was being done: Resize; the reason when empty
  std::string note;    // for people; cut at 1024 bytes
};

struct EventWrite {
  std::string namespace_name;
  std::string name;  // empty: create `body`; otherwise merge-patch this Event with it
  nlohmann::json body;
};

// Decides what is written when. Pure: time comes in, writes come out.
class EventAggregator {
 public:
  struct Limits {
    Seconds series_gap{360};      // after which the same note is a new Event
    Seconds series_interval{60};  // at most one count update of a series in this time
    int burst = 25;               // Events an object may have at once ...
    Seconds refill{60};           // ... and one more after each of these
    std::size_t objects = 10000;  // remembered at most
  };
  EventAggregator(std::string controller, std::string instance, Limits limits)
      : controller_(std::move(controller)), instance_(std::move(instance)), limits_(limits) {}

  std::optional<EventWrite> record(const EventNote& note, Instant now, WallTime wall);
  // Counts that are due, all of them when `everything`.
  std::vector<EventWrite> due(Instant now, bool everything);
  std::optional<Instant> next_due() const;
  std::uint64_t dropped() const { return dropped_; }  // beyond an object's budget

 private:
  using Key = std::tuple<std::string, bool, std::string, std::string, std::string>;
  struct Series {
    std::string namespace_name, name;
    int count = 1, written = 1;
    Instant last{}, next_write{};
    std::string last_wall{};
  };
  EventWrite series_write(Series& series, Instant now);
  bool spend(const std::string& object, Instant now);

  const std::string controller_, instance_;
  const Limits limits_;
  std::map<Key, Series> series_;
  std::map<std::string, Instant> full_at_;  // object -> when its budget is full again
  std::uint64_t dropped_ = 0;
};

class EventRecorder {
 public:
  // `controller`: elasticmpi.io/operator; `instance`: the pod's name.
  EventRecorder(Client& client, std::string controller, std::string instance, Log log,
                Clock& clock = real_clock(), EventAggregator::Limits limits = {});
  ~EventRecorder() { stop(Millis(0)); }

  void record(const EventNote& note);  // from any thread
  // Writes what is waiting, for at most `time`, and ends the threads. The rest is lost and logged.
  void stop(Millis time);

  std::uint64_t lost() const;  // not written: failed, over budget, or the queue was full

 private:
  void run();
  bool write(const EventWrite& write);
  // With mutex_ held.
  bool may_write() const { return !stopping_ || clock_.now() < give_up_; }
  std::optional<EventWrite> take();  // the first that may be written now

  Client& client_;
  Clock& clock_;
  const Log log_;
  mutable std::mutex mutex_;
  std::condition_variable condition_;
  EventAggregator aggregator_;
  std::deque<EventWrite> queue_;
  std::set<std::string> in_hand_;  // names of the Events that are being written
  std::uint64_t news_ = 0;         // counts what may be of interest to a thread that waits
  std::uint64_t failed_ = 0;
  bool stopping_ = false;
  Instant give_up_{};
  std::vector<std::thread> threads_;
};

}  // namespace emj::kube
