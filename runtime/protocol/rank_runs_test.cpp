// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/rank_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace empi {
namespace {

TEST(RankRuns, AllRanksOfANamespaceAreOneRunInWhateverOrder) {
  std::vector<ProcId> procs;
  for (const char* nspace : {"job.2", "job.1"})
    for (std::uint32_t rank = 0; rank < 100; ++rank) procs.push_back({nspace, rank});
  const RankRuns in_order(procs);
  EXPECT_EQ(in_order.runs(), (std::vector<RankRun>{{"job.1", 0, 100}, {"job.2", 0, 100}}));
  std::shuffle(procs.begin(), procs.end(), std::mt19937(3));
  procs.push_back(procs.front());
  EXPECT_EQ(RankRuns(procs), in_order);
}

TEST(RankRuns, ContainsWhatItWasMadeOf) {
  std::mt19937 random(5);
  std::set<ProcId> procs;
  for (int i = 0; i < 200; ++i)
    procs.insert({random() % 2 ? "a" : "b", static_cast<std::uint32_t>(random() % 300)});
  const RankRuns runs(std::vector<ProcId>(procs.begin(), procs.end()));
  for (const char* nspace : {"", "a", "b", "c"})
    for (std::uint32_t rank = 0; rank <= 301; ++rank)
      EXPECT_EQ(runs.contains({nspace, rank}), procs.contains({nspace, rank})) << nspace << rank;
}

TEST(RankRuns, AWholeNamespaceIsARunByItself) {
  const RankRuns runs = {{"a", kAllRanks}, {"a", kAllRanks - 1}, {"a", kAllRanks}};
  EXPECT_EQ(runs.runs(), (std::vector<RankRun>{{"a", kAllRanks - 1, 1}, {"a", kAllRanks, 1}}));
  EXPECT_TRUE(runs.contains({"a", kAllRanks}));
  EXPECT_FALSE(runs.contains({"a", 0}));
}

TEST(RankRuns, RunsThatOverlapAreOne) {
  EXPECT_EQ(RankRuns(std::vector<RankRun>{{"a", 4, 4}, {"a", 0, 6}, {"a", 1, 2}, {"a", 9, 0}}),
            RankRuns(std::vector<RankRun>{{"a", 0, 8}}));
}

}  // namespace
}  // namespace empi
