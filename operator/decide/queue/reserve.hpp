// SPDX-License-Identifier: Apache-2.0
// Step 4 of a pass: what the first that must wait is promised, from when the running jobs end. Every
// malleable job counts at its floor, also for its end (rule Q2): whatever is taken from it or given to it
// later, it ends no later than that, so nobody starts later than was promised while forecasts hold.
#pragma once
#include <optional>
#include <vector>

#include "operator/decide/queue/state.hpp"

namespace emj::queue {

// A waiting job that is let in by this plan.
struct Admitted {
  int job = 0;
  int pool = 0;
  bool ahead = false;  // of one that waits for more
};

struct End {
  Time time{};
  Resources freed;
};

// Ends at floor speed in a pool, ascending, for a job of this priority: running jobs, those that are promised
// workers, and `admitted`. Who has no forecast never ends, or when a guess says.
std::vector<End> ends_at_floor(const QueueState& state, int pool, int priority,
                               const std::vector<Admitted>& admitted, Time now,
                               WhenUnknown unknown = WhenUnknown::Nothing);

// Textbook EASY (Mu'alem, Feitelson, IEEE TPDS 12, 2001): when the need fits first, and what is then left
// over.
struct Shadow {
  std::optional<Time> start;  // nothing: not as far as is known
  Resources extra;
};
Shadow shadow(const std::vector<End>& ends, Resources available, const Resources& need, Time now);

// What is free of a pool from now on, for conservative backfill.
class Profile {
 public:
  Profile(Resources available, const std::vector<End>& ends, Time now);

  // First time from which `need` fits for `seconds` (nothing: for ever); nothing: not as far as is known.
  std::optional<Time> earliest(const Resources& need, std::optional<double> seconds) const;
  void take(Time from, std::optional<double> seconds, const Resources& need);

 private:
  struct Level {
    Time from;
    Resources free;
  };
  std::size_t split(Time at);

  std::vector<Level> levels_;  // ascending; each holds until the next
};

}  // namespace emj::queue
