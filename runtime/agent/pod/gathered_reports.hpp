// SPDX-License-Identifier: Apache-2.0
// Adds up what the ranks of a pod report: its ranks come to each phase of a change at about the same time,
// and the lead hears of that once a pod, not once a rank. Pure; not thread-safe.
//
//   reports.add(report, now);
//   for (RankReported& message : reports.take(running_ranks, now)) ...   // again each kSoon, while not
//   empty()
//
// What one rank has reported arrives in its order.
#pragma once
#include <chrono>
#include <cstddef>
#include <vector>

#include "runtime/protocol/agent_messages.hpp"

namespace empi::agent {

class GatheredReports {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // So long a report waits for the same of other ranks: where the lead acts on the first one it hears of,
  static constexpr std::chrono::milliseconds kSoon{20};
  // and where it waits for all of them in any case.
  static constexpr std::chrono::milliseconds kLongest{500};

  void add(const RankReport& report, TimePoint now);
  // What is to be said now: what all `ranks` (how many) have reported or nobody else will, what has waited
  // for long enough, and whatever began before it.
  std::vector<RankReported> take(std::size_t ranks, TimePoint now);
  // Everything: something else is to be said that comes after it.
  std::vector<RankReported> take_all();
  bool empty() const { return groups_.empty(); }

 private:
  struct Group {
    RankReported message;
    TimePoint since;
  };
  std::vector<RankReported> take_first(std::size_t count);

  std::vector<Group> groups_;  // in the order of their first reports
};

}  // namespace empi::agent
