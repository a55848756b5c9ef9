// SPDX-License-Identifier: Apache-2.0
// What a queue decides from, and what it decides: values.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/decide/queue/demand.hpp"
#include "operator/decide/queue/resources.hpp"
#include "operator/decide/queue/rules.hpp"

namespace emj::queue {

struct Pool {
  std::string name;
  Resources capacity;          // without foreign pods and headroom
  double speed = 1;            // of its cores
  double price = 1;            // of a CPU hour; 1 in all pools where none has a price
  bool spot = false;           // workers there are the first that make room
  bool without_nodes = false;  // it goes by nodes, and none can be used:
  std::string
      no_nodes{};  // which labels there are, or what is wrong with those that have its own; for people
  Resources unplaceable{};  // of the capacity, free in pieces that are too small (rule Q29)
};

// What a quota of a namespace leaves for pods that do not exist yet; what it does not bound is very much.
struct Quota {
  Resources left;
  std::int64_t pods = 0;
};

// Pods of a pool whose job asks for nothing there any more: it is gone, or in another queue. They hold what
// they have until they have ended (promise I7).
struct Departing {
  int pool = 0;
  Resources held;
  bool stays = false;  // for all that is known: its job is there, and cannot be read
};

struct QueueState {
  Rules rules;
  std::vector<Pool> pools;
  std::vector<Quota> quotas;  // of the jobs' namespaces
  std::vector<Demand> jobs;   // ascending by since, then uid: who is first where all else is equal
  std::vector<Departing> departing{};
  std::map<std::string, double> usage;  // CPU hours of namespaces, decayed
  double busy = .5;                     // average share of the capacity that is held, over a day (rule Q3)
  double release_seconds = 5;           // from a decision to shrink until the pods are gone, average
};

// Whether `jobs` is sorted as QueueState wants it.
bool in_order(const std::vector<Demand>& jobs);

struct Grant {
  enum class Kind {
    Start,     // a waiting job gets its workers
    Backfill,  // the same, ahead of one that waits for more
    Promise,   // a waiting job gets workers when donors have let go
    Withdraw,  // of a promise
    Yield,     // fewer, for a promise
    GiveBack,  // fewer, since the pool has become smaller
    Grow,
    Move,     // fewer, since another gains more by them
    Migrate,  // to another pool
    Leave,    // the same, since its own has no room for it any more
  };
  int job = 0;  // place in QueueState::jobs
  Kind kind = Kind::Start;
  Allocation allocation;  // from now on
  int other = -1;         // job that it is done for
  double saved = 0;       // seconds, Grow
  double left = 0;        // seconds without it, Grow
  bool by_quota = false;  // a ResourceQuota has no room for it any more, Withdraw
  std::string words{};    // what the other pool has to offer, Migrate
};

// What nobody behind may delay.
struct Reservation {
  int job = 0;
  int pool = 0;
  Time start{};
};

// One that waits since quotas leave room for so many workers only (rule Q30).
struct Barred {
  int job = 0;
  int room = 0;
};

struct Plan {
  std::vector<Grant> grants;  // at most one for a job
  std::vector<Reservation> reservations;
  std::vector<int> waiting;  // jobs that get nothing, in their order
  std::vector<Barred> barred;
  std::optional<Time> wake;  // when something becomes possible that only time prevents
};

}  // namespace emj::queue
