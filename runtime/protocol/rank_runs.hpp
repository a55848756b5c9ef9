// SPDX-License-Identifier: Apache-2.0
// A set of ranks as runs of consecutive numbers, which is what pods have: all ranks of a large job are one
// run a namespace, in memory as on the wire.
#pragma once
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "runtime/protocol/ids.hpp"

namespace empi {

struct RankRun {
  std::string nspace;
  std::uint32_t first = 0, count = 0;
  std::uint32_t end() const { return first + count; }
  auto operator<=>(const RankRun&) const = default;
};

class RankRuns {
 public:
  RankRuns() = default;
  RankRuns(std::initializer_list<ProcId> procs) : RankRuns(std::vector<ProcId>(procs)) {}
  RankRuns(const std::vector<ProcId>& procs);  // in any order, once or more often
  explicit RankRuns(std::vector<RankRun> runs);

  // In order; no two touch. kAllRanks, which stands for a whole namespace, is a run by itself.
  const std::vector<RankRun>& runs() const { return runs_; }
  bool contains(const ProcId& proc) const;
  bool empty() const { return runs_.empty(); }
  auto operator<=>(const RankRuns&) const = default;

 private:
  void normalise();

  std::vector<RankRun> runs_;
};

}  // namespace empi
