// SPDX-License-Identifier: Apache-2.0
// Everything that a queue may know of a job. A cache of the job's spec and status, made anew from them at any
// time (rules Q8, Q25).
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/time.hpp"
#include "operator/decide/queue/curve.hpp"
#include "operator/decide/queue/resources.hpp"

namespace emj::queue {

// What the queue lets a job have; it stands in the job's status.
struct Allocation {
  int workers = 0;   // that it may have now; 0 while it waits
  int promised = 0;  // that it gets once donors have let go; 0: no promise
  int pool = -1;     // place in QueueState::pools of what it has or is promised
  Time time{};       // of the promise: older promises are served first

  bool operator==(const Allocation&) const = default;
};

// Sizes of a job that has not started, in one of its pools.
struct SizesIn {
  int pool = 0;
  int floor = 1;
  int wish = 1;
};

// Living pods in a pool that their job has left, or is leaving.
struct Left {
  int pool = 0;
  int pods = 0;
};

struct Demand {
  std::string uid;
  std::string name;  // for people
  std::string namespace_name;
  Resources worker;                    // of one, sidecar included
  std::shared_ptr<const Curve> curve;  // over its feasible sizes

  // Feasible sizes, in workers. A rigid job, and one that may not be preempted while it runs, has its present
  // size as floor; a rigid one as wish, too.
  int reference = 1;
  int floor = 1;    // least that it may be taken to, and what it starts with at least
  int wish = 1;     // most that its own policy wants
  int keeps = 0;    // of a running job: what its program says that it needs now (MPIX_Wish_adapt); 0: nothing
  int trusted = 1;  // growth ends here: rule Q10, twice the largest measured size or the reference size

  int held = 0;  // larger of the allocation and the living pods in its pool, those that end included
  std::vector<Left> left{};  // those in other pools
  bool resizing = false;     // a change is under way
  bool awaits_pods = false;  // it waits for its newcomers, and can be called off
  Time since{};              // in the queue: creation, or the last resume
  Time started{};
  Time changed{};       // when its size was decided last
  Time frozen_until{};  // not resized before: a change rolled back, or could not be placed
  Time paused_until{};  // it does not compute before: the end of a change

  // Seconds at speed 1 of the curve on cores of speed 1, when that is known or claimed.
  std::optional<double> work_left;
  double speed = 1;         // of the cores of its pool; while it waits, of that which it prefers
  double lost_seconds = 0;  // that one change costs it
  double weight = 1;
  double work = 0;  // that an iteration reports, for the objective Workload
  int priority = 0;
  // By when it should be over, of a job whose policy keeps to that, and how much earlier it aims, as a share
  // of the time left. It counts if it could be met at submission and was not changed since (step 2').
  std::optional<Time> deadline;
  double margin = 0;
  bool deadline_counts = false;
  std::optional<double> budget;  // that is left, of a job whose policy keeps to it
  bool sized = false;            // its policy has judged the size it needs while it runs: that is its wish
  std::vector<int> pools;        // that it may use, by preference, as places in QueueState::pools; empty: all
  bool migrates = false;         // it may go to another of them while it runs
  bool by_price = false;  // that order is binding: it takes what others can let go of before a later pool
  // Pools where nobody is shrunk for it, or waits: twice no node took what it was given there (rule Q29).
  std::vector<int> free_only{};
  std::vector<SizesIn> sizes_in;  // of the pools where its sizes are not floor and wish
  std::vector<int> quotas{};      // that count its pods, as places in QueueState::quotas
  int unmade = 0;                 // workers of its allocation that are no pods yet
  Allocation allocation;
  // Whether the allocation stands in the job's status. One that was given out a moment ago is counted, but
  // nobody is asked for it, and the job is given nothing else meanwhile (rule Q26).
  bool written = true;

  bool queued() const { return allocation.workers == 0; }
  bool rigid() const { return floor >= wish; }
  // Workers that a standing promise has still to bring.
  int lacking() const {
    return allocation.promised > allocation.workers ? allocation.promised - allocation.workers : 0;
  }
  Resources of(int workers) const { return worker * workers; }
  int pods_left() const {
    int sum = 0;
    for (const Left& other : left) sum += other.pods;
    return sum;
  }
};

inline bool free_only_in(const Demand& job, int pool) {
  return std::ranges::find(job.free_only, pool) != job.free_only.end();
}

// What it starts with at least, and wishes for, in this pool.
SizesIn sizes_in(const Demand& job, int pool);

// Least that `job` may be taken to for one of priority `other`: who is more important keeps its reference
// size, and all keep what their programs say that they need now. Not where workers are due: to who was
// promised them before a program said so, and to nodes that have gone.
enum class Donation { Chosen, Due };
int yields_down_to(const Demand& job, int other, Donation donation = Donation::Chosen);

// Seconds left on so many workers of its pool, or of one with cores of this speed, as far as known.
std::optional<double> seconds_left(const Demand& job, int workers);
std::optional<double> seconds_left_at(const Demand& job, int workers, double speed);
// The same; where nothing is known, as long again as it has run, and so many at least (rule Q12).
inline constexpr double kShortestGuess = 600;
double seconds_left_or_guess(const Demand& job, int workers, Time now);

// When a running job ends that is taken to its floor now, or a waiting one that starts with what it is
// promised, its floor else: rule Q2. A millisecond from now at the earliest; where nothing is known, nothing,
// or a guess.
enum class WhenUnknown { Nothing, Guess };
std::optional<Time> end_at_floor(const Demand& job, Time now, WhenUnknown unknown = WhenUnknown::Nothing);

// Rounded to what Time can tell; centuries at most.
Time after(Time from, double seconds);

}  // namespace emj::queue
