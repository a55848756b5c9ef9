// SPDX-License-Identifier: Apache-2.0
// Simulated histories of jobs: whatever is lost, repeated, late, stopped or killed, a job ends or goes on,
// and says why. Old faults, put back one at a time, are found by the same histories.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>

#include "runtime/agent/lead/history_hooks.hpp"
#include "runtime/agent/lead/testing/history.hpp"
#include "runtime/base/log.hpp"

namespace empi::agent::histories {
namespace {

constexpr std::uint64_t kCorpus = 1000;
constexpr std::uint64_t kLoops = 300;  // that go on without members
constexpr std::uint64_t kVotes = 100;  // of these that lose ranks while they vote

class Quiet : public ::testing::Environment {
  void SetUp() override { log::to_stderr("history", "%v", "off"); }  // a log of all costs half as much again
};
const auto* const g_quiet = ::testing::AddGlobalTestEnvironment(new Quiet);

TEST(Histories, WhateverHappensAJobEndsOrGoesOnAndSaysWhy) {
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= kCorpus && !HasFailure(); ++seed)
    for (const std::string& what : run_history(seed, coverage))
      ADD_FAILURE() << "seed " << seed << ": " << what;
  for (const std::string& line : describe(coverage)) std::printf("%s\n", line.c_str());
  for (const std::string& gap : gaps(coverage)) ADD_FAILURE() << gap;
  EXPECT_GT(coverage.requests, 10 * kCorpus);
  EXPECT_GT(coverage.changes, 2 * kCorpus);
  EXPECT_GT(coverage.failed_jobs, kCorpus / 20);
  EXPECT_LT(coverage.failed_jobs, kCorpus * 3 / 4);
}

// A lead that is lost is a lost member (R20): the job goes on, and nowhere are there two leads of one epoch.
TEST(Histories, LoopsThatGoOnWithoutMembersGoOnWithoutTheirLead) {
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= kLoops && !HasFailure(); ++seed)
    for (const std::string& what : run_recovery_history(seed, coverage))
      ADD_FAILURE() << "seed " << seed << ": " << what;
  EXPECT_GT(coverage.leads, kLoops / 4);
  EXPECT_LT(coverage.failed_jobs, kLoops);
}

// Whoever was told what, all that are left go on with one membership (R18).
TEST(Histories, LoopsGoOnWhereALossSplitsTheVote) {
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= kVotes && !HasFailure(); ++seed)
    for (const std::string& what : run_vote_history(seed, coverage))
      ADD_FAILURE() << "seed " << seed << ": " << what;
  EXPECT_GT(coverage.votes, kVotes / 4);
  EXPECT_LT(coverage.failed_jobs, kVotes * 3 / 4);
}

// The rank that mirrors the queue of a master-worker program takes it over (R8').
TEST(Histories, MasterWorkerProgramsGoOnWithoutTheRankThatKeepsTheQueue) {
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= kLoops && !HasFailure(); ++seed)
    for (const std::string& what : run_queue_history(seed, coverage))
      ADD_FAILURE() << "seed " << seed << ": " << what;
  EXPECT_GT(coverage.queues, kLoops / 2);
  EXPECT_LT(coverage.failed_jobs, kLoops * 3 / 4);
}

// Queues' histories that have found a defect where the lead is lost in a change: what a change had come to
// was judged by the states of loops, not all leavers had heard of it, and of a pod that had lost a rank all
// were taken for lost.
TEST(Histories, QueuesGoOnWithoutTheirLeadInAChange) {
  Coverage coverage;
  for (const std::uint64_t seed : {436, 528, 1432, 1950, 2346, 2519, 2585, 4379, 4968, 8855, 155687})
    for (const std::string& what : run_queue_history(seed, coverage))
      ADD_FAILURE() << "seed " << seed << ": " << what;
}

void expect_no_violation(std::initializer_list<std::uint64_t> seeds) {
  Coverage coverage;
  for (const std::uint64_t seed : seeds)
    for (const std::string& what : run_history(seed, coverage))
      ADD_FAILURE() << "seed " << seed << ": " << what;
}

// Loops' histories that have found a defect. Each has a test of its own beside it: what several collectives
// at once had been answered, hand-overs for a loss, names of namespaces, members that a new lead had given up
// or that the one before had dropped, a rank of its own that was lost, requests of changes that were over, a
// member that was called silent when it had been reached again, a lead that a leaver had dismissed, words and
// news of leads that came when those were lost, a change that was over for those who were asked, a window
// with nobody left to vote; and those that the judge had got wrong.
TEST(Histories, LoopsThatHadNotGoneOnDo) {
  Coverage coverage;
  for (const std::uint64_t seed :
       {60,       358,      701,      1265,     1374,     2294,     3197,     5637,     9148,
        10291,    15897,    22903,    25358,    100890,   105556,   500288,   20003389, 20020580,
        32082576, 32091906, 32155758, 32237516, 34018565, 36033933, 36053947, 41010034, 41051073,
        41110993, 41117482, 51075836, 51238318, 51340309, 51345007, 51363328})
    for (const std::string& what : run_recovery_history(seed, coverage))
      ADD_FAILURE() << "seed " << seed << ": " << what;
}

// Beyond the corpus, histories that have found a defect. What has been mended has a test of its own beside
// it.
TEST(Histories, ANewLeadReachesAMemberThatItHadGivenUpAsAnOrdinaryPod) {
  expect_no_violation({61453, 201400});
}
TEST(Histories, ALeadThatHasHandedOverStaysUntilTheNextOneKnows) { expect_no_violation({40499, 516828}); }
TEST(Histories, ALeadThatHasHandedOverDropsNobody) { expect_no_violation({645337}); }
TEST(Histories, TheNextLeadConcludesNothingBeforeItLeads) { expect_no_violation({1026832}); }
TEST(Histories, WhereTheQueueWasBeforeItIsNotAgain) { expect_no_violation({509907, 534597}); }
TEST(Histories, AJoinerThatIsKilledBeforeTheCommitCountsAsEnded) { expect_no_violation({1066286}); }
TEST(Histories, AProgramThatEndsWhileALeaverIsBeingAskedToGoReturnsItsCode) { expect_no_violation({637105}); }
TEST(Histories, ALeadWhoseOtherPodsHaveAllLostRanksIsFollowedByAnother) { expect_no_violation({3009432}); }

// And those that the judge had got wrong: silence that was long enough, and a word that came in the very
// moment in which it was judged;
TEST(Histories, SilenceIsNotUndoneByWhatHasNotHadItsTurn) {
  expect_no_violation({42225, 542899, 606566, 608069, 610491});
}
// a loss that is heard of while the queue of tasks is on its way;
TEST(Histories, ALossThatIsHeardOfWhileTheQueueIsOnItsWayMayEndTheJob) {
  expect_no_violation({3007824, 52118065});
}
// a leaver that is cut off before its release;
TEST(Histories, ALeaverThatIsCutOffBeforeItsReleaseFailsTheJob) { expect_no_violation({315394}); }
// a next lead that could not be told so for longer than silence is borne;
TEST(Histories, WhereTheNextLeadCannotBeToldNobodyLeads) { expect_no_violation({1037905}); }
// and a lead before this one that was killed in the moment in which the next one led, where clusters let it
// end.
TEST(Histories, ALeadThatHasHandedOverIsDeletedWithGrace) { expect_no_violation({624264}); }
// Who leaves its loop by a vote does not come to the program's end.
TEST(Histories, ARankThatLeavesByAVoteDoesNotComeToTheEnd) { expect_no_violation({42055636}); }

// EMPI_HISTORY=SEED: that one alone, with the log of its leads and each message; with EMPI_HISTORY_RECOVERS=1
// that of a loop that goes on without members, with EMPI_HISTORY_VOTES=1 one whose votes are split, with
// EMPI_HISTORY_QUEUE=1 that of a mirrored queue.
TEST(Histories, One) {
  const char* seed = std::getenv("EMPI_HISTORY");
  if (!seed) GTEST_SKIP() << "EMPI_HISTORY names none";
  log::to_stderr("history", "%v", "debug");
  Coverage coverage;
  const auto run = std::getenv("EMPI_HISTORY_RECOVERS") ? run_recovery_history
                   : std::getenv("EMPI_HISTORY_VOTES")  ? run_vote_history
                   : std::getenv("EMPI_HISTORY_QUEUE")  ? run_queue_history
                                                        : run_history;
  for (const std::string& what : run(std::strtoull(seed, nullptr, 10), coverage, true)) ADD_FAILURE() << what;
}

struct Put {
  const char* name;
  OldFault fault;
  std::uint64_t found_by =
      1;  // the seed that was the first to find it when this was written: it is tried first
};

class PutBack : public ::testing::TestWithParam<Put> {
 protected:
  void TearDown() override { g_history_hooks.fault = OldFault::None; }
  bool found(std::uint64_t seed) {
    const auto wrong = run_history(seed, coverage_);
    if (!wrong.empty())
      std::printf("found by seed %llu: %s\n", static_cast<unsigned long long>(seed), wrong.front().c_str());
    return !wrong.empty();
  }

 private:
  Coverage coverage_;
};

TEST_P(PutBack, IsFound) {
  g_history_hooks.fault = GetParam().fault;
  if (found(GetParam().found_by)) return;
  for (std::uint64_t seed = 1; seed <= 3 * kCorpus; ++seed)
    if (found(seed)) return;
  FAIL() << "no history of " << 3 * kCorpus << " finds it";
}

INSTANTIATE_TEST_SUITE_P(OldFaults, PutBack,
                         ::testing::Values(Put{"B1", OldFault::B1}, Put{"B2", OldFault::B2},
                                           Put{"B5", OldFault::B5, 2520}, Put{"B6", OldFault::B6},
                                           Put{"B7", OldFault::B7}, Put{"B8", OldFault::B8},
                                           Put{"B9", OldFault::B9, 374}, Put{"B11", OldFault::B11},
                                           Put{"B24", OldFault::B24}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace empi::agent::histories
