// SPDX-License-Identifier: Apache-2.0
// Losses in changes, and ends of ranks of a master-worker program, by what the lead has heard.
#include <gtest/gtest.h>
#include <signal.h>

#include <set>
#include <string>
#include <vector>

#include "runtime/agent/lead/testing/queue_fixture.hpp"

namespace empi::agent {
namespace {

// It made a new epoch by what was passed on to it, took the word that it leads for old news, and never led.
TEST_F(Losses, TheNextLeadDropsNobodyBeforeItLeads) {
  begin_leave({"uid-0"});
  report(1, RankReport::Kind::Queue);
  report(0, RankReport::Kind::Agreed);
  ends(0, 0, 0, true);
  ASSERT_TRUE(handed_over);
  Lead next({"uid-1", "job"});
  next.take_over(*handed_over, now);
  next.on(RankExited{rank(2), 0, SIGKILL, false, true, {}}, "uid-2", now);
  EXPECT_EQ(next.membership().members.size(), 2u);
  next.begin_to_lead(now);
  EXPECT_EQ(next.membership().members.size(), 1u);
}

// The other leaver has its last task in hand still: how long that takes must not decide about the job.
TEST_F(Losses, WhatALeaverReturnsCountsUntilItHasLeftTheQueue) {
  begin_leave();
  report(1, RankReport::Kind::Agreed);
  ends(1, 7, 0, true);
  EXPECT_FALSE(lead.verdict());
  report(2, RankReport::Kind::Agreed);
  ends(2, 7, 0, true);
  EXPECT_EQ(lead.state(), ChangeState::Stable);
  ends(0, 0, 0, true);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->result, JobResult::Succeeded) << lead.verdict()->reason;
}

// Its program ended while it was being asked to leave: the code that it returned was nobody's, and the job a
// success.
TEST_F(Losses, WhatALeaverReturnsCountsWhereTheProgramEndsFirst) {
  begin_leave({"uid-1"});
  report(1, RankReport::Kind::Finalizing);
  report(1, RankReport::Kind::Finalized);
  for (const std::size_t i : {0, 2}) ends(i, 0, 0, true);
  EXPECT_FALSE(lead.verdict());
  ends(1, 7, 0, true);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->exit_code, 7) << lead.verdict()->reason;
}

TEST_F(Losses, ALeaverThatCrashesOnceItHasLeftTheQueueFailsNothing) {
  begin_leave();
  report(1, RankReport::Kind::Agreed);
  ends(1, 0, SIGSEGV, false);
  EXPECT_FALSE(lead.verdict());
  report(2, RankReport::Kind::Agreed);
  lead.on(RankAborted{rank(2), 3, "on purpose", {}}, "uid-2", now);
  EXPECT_FALSE(lead.verdict());
}

TEST_F(Losses, ALeaverThatCrashesInItsLastTaskFailsTheJob) {
  begin_leave();
  ends(1, 0, SIGSEGV, false);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->reason, "rank 1 (pod pod-1) was killed by signal 11");
}

// It was killed while a leaver had its last task in hand, in the pod that had taken the queue over and cannot
// be dropped: it never counted as ended, and the job went on for ever.
TEST_F(Losses, AJoinerThatIsKilledBeforeTheCommitCountsAsEnded) {
  report(1, RankReport::Kind::Queue);
  begin_leave({"uid-1"}, {{"uid-3", "pod-3", "pod-3:1", 2, "", 0}});
  say(RankReport::Kind::Queue, joiner(0), "uid-3");
  lead.on(RankExited{joiner(1), 0, SIGKILL, false, true, {}}, "uid-3", now);
  report(1, RankReport::Kind::Agreed);
  ends(1, 0, 0, true);
  ASSERT_EQ(lead.state(), ChangeState::Stable);
  EXPECT_EQ(told_lost["uid-2"], std::set{joiner(1)});
  for (const std::size_t i : {0, 2}) ends(i, 0, 0, true);
  EXPECT_FALSE(lead.verdict());
  lead.on(RankExited{joiner(0), 0, 0, true, true, {}}, "uid-3", now);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->result, JobResult::Succeeded) << lead.verdict()->reason;
}

// From the window on it works like a member, and nothing calls it back: when it crashes, it would again.
TEST_F(Losses, AJoinerThatCrashesBeforeTheCommitIsAMemberThatCrashes) {
  begin_leave({"uid-1"}, {{"uid-3", "pod-3", "pod-3:1", 2, "", 0}});
  lead.on(RankExited{joiner(1), 0, SIGSEGV, false, true, {"last words"}}, "uid-3", now);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->reason, "joining rank job.2/1 (pod pod-3) was killed by signal 11");
}

TEST_F(Losses, AJoinerThatAbortsBeforeTheCommitIsAMemberThatAborts) {
  begin_leave({"uid-1"}, {{"uid-3", "pod-3", "pod-3:1", 2, "", 0}});
  lead.on(RankAborted{joiner(1), 3, "on purpose", {}}, "uid-3", now);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->exit_code, 3);
}

// Its connections may say nothing: who hands the queue over to it, or waits for it to come along, waited
// until the change was over, and the change waited for it.
TEST_F(Losses, WhoIsLostDuringAChangeIsSaidAtOnce) {
  begin_leave({"uid-0"}, {{"uid-3", "pod-3", "pod-3:1", 2, "", 0}});
  lead.pod_lost("uid-1", "the test says so", now);
  obey();
  EXPECT_EQ(lead.state(), ChangeState::Window);
  EXPECT_EQ(told_lost["uid-0"], std::set{rank(1)});
  lead.pod_lost("uid-3", "the test says so", now);
  obey();
  EXPECT_EQ(told_lost["uid-0"], (std::set{rank(1), joiner(0), joiner(1)}));
}

// Each pod that stays or joins has lost a rank. The lead took what it says last for the end of a change that
// is rolled back: it forgot the joiners' namespace, the next one could not make out who the members are, and
// the job had a lead for ever that only waited for it.
TEST_F(Losses, WhereEveryOtherPodHasLostARankTheNextLeadIsToldOfAll) {
  begin_leave({"uid-0", "uid-1"}, {{"uid-3", "pod-3", "pod-3:1", 2, "", 0}});
  ends(2, 0, SIGKILL, false);
  lead.on(RankExited{joiner(0), 0, SIGKILL, false, true, {}}, "uid-3", now);
  obey();
  for (const std::size_t i : {0, 1}) report(i, RankReport::Kind::Agreed);
  for (const std::size_t i : {0, 1}) ends(i, 0, 0, true);
  ASSERT_TRUE(handed_over);
  EXPECT_EQ(uids_of(handed_over->record.membership().members), (std::vector<std::string>{"uid-2", "uid-3"}));
}

}  // namespace
}  // namespace empi::agent
