// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/rank_runs.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace empi {

RankRuns::RankRuns(const std::vector<ProcId>& procs) {
  for (const ProcId& proc : procs) {
    RankRun* last = runs_.empty() ? nullptr : &runs_.back();
    const bool follows =
        last && proc.rank == last->end() && proc.rank != kAllRanks && proc.nspace == last->nspace;
    if (follows)
      ++last->count;
    else
      runs_.push_back({proc.nspace, proc.rank, 1});
  }
  normalise();
}

RankRuns::RankRuns(std::vector<RankRun> runs) : runs_(std::move(runs)) { normalise(); }

void RankRuns::normalise() {
  std::ranges::sort(runs_);
  std::vector<RankRun> apart;
  for (RankRun& run : runs_) {
    if (run.count == 0) continue;
    RankRun* last = apart.empty() ? nullptr : &apart.back();
    const bool touches = last && last->nspace == run.nspace && run.first <= last->end() &&
                         (run.first == kAllRanks) == (last->first == kAllRanks);
    if (touches)
      last->count = std::max(last->end(), run.end()) - last->first;
    else
      apart.push_back(std::move(run));
  }
  runs_ = std::move(apart);
}

bool RankRuns::contains(const ProcId& proc) const {
  const auto after = std::ranges::upper_bound(
      runs_, proc, {}, [](const RankRun& run) { return ProcId{run.nspace, run.first}; });
  if (after == runs_.begin()) return false;
  const RankRun& run = *std::prev(after);
  return run.nspace == proc.nspace && proc.rank - run.first < run.count;
}

}  // namespace empi
