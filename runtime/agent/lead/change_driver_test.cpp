// SPDX-License-Identifier: Apache-2.0
// The lead's driver, without any process: what it asks for, when, and how every phase can fail.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/agent/lead/testing/driver_fixture.hpp"

namespace empi::agent {
namespace {

using Kind = DriverStep::Kind;
using Report = RankReport::Kind;
using namespace std::chrono_literals;

TEST_F(Driver, Grows) {
  begin(newcomers);
  to_draining();
  report_all(Report::Past, old_ranks());
  EXPECT_EQ(driver.state(), ChangeState::Draining) << "joiners are not past it yet";
  report_all(Report::Past, joiners());
  answer(next_step(Kind::Forget));
  EXPECT_EQ(driver.state(), ChangeState::Stable);
  EXPECT_EQ(driver.status().outcome, ChangeOutcome::Committed);
  EXPECT_EQ(driver.status().from_ranks, 4);
  EXPECT_EQ(driver.status().to_ranks, 6);
  EXPECT_TRUE(driver.status().released.empty());
}

TEST_F(Driver, AddsUpWhatTheRanksHaveMoved) {
  begin(newcomers);
  to_window();
  for (const auto& [rank, bytes] : {std::pair{0u, 100}, {1u, 28}}) {
    RankReport r;
    r.kind = Report::Agreed;
    r.proc = {"job.1", rank};
    r.change = "x";
    r.bytes = bytes;
    driver.reported(r, now);
  }
  EXPECT_EQ(driver.status().moved_bytes, 128);
}

TEST_F(Driver, LeaversGoWhenEveryRankIsPastAndAreReleasedWhenTheyAreGone) {
  begin({}, {"a"});
  to_draining();
  report_all(Report::Past, {{"job.1", 0}, {"job.1", 1}, {"job.1", 2}});
  EXPECT_TRUE(driver.take_steps().empty()) << "one rank is not past it";
  report(Report::Past, {"job.1", 3});
  const DriverStep release = next_step(Kind::Release);
  EXPECT_EQ(release.uids, std::set<std::string>{"a"});
  answer(release);
  driver.rank_exited({"job.1", 0}, true, "", now);
  EXPECT_EQ(driver.state(), ChangeState::Draining);
  driver.rank_exited({"job.1", 1}, false, "crashed at exit", now);
  const DriverStep forget = next_step(Kind::Forget);
  EXPECT_EQ(forget.uids, std::set<std::string>{"b"});
  answer(forget);
  EXPECT_EQ(driver.status().outcome, ChangeOutcome::Committed);
  EXPECT_EQ(driver.status().released, std::vector<std::string>{"a"});
}

TEST_F(Driver, WaitsForOldRanksThatAreStillStarting) {
  ChangeRequest r;
  r.id = "x";
  r.remove = {"b"};
  r.deadline_ms = 1000;
  driver.begin(r, old, "", {.hello = {{"job.1", 0}, {"job.1", 1}, {"job.1", 2}}}, now);
  answer(next_step(Kind::Prepare));
  EXPECT_EQ(driver.state(), ChangeState::Preparing);
  driver.tick(now + 2s);
  EXPECT_NE(driver.status().reason.find("rank job.1/3 has not called MPI_Init_adapt"), std::string::npos)
      << driver.status().reason;
}

TEST_F(Driver, ProposesAnIterationThatLiesAheadAndDoublesTheMarginWhenRefused) {
  begin({}, {"b"});
  to_building();
  now += 100ms;  // 110 probes in 110 ms: one a millisecond
  report_all(Report::Built, old_ranks());
  const DriverStep read = next_step(Kind::ReadProbes);
  now += 10ms;  // round trip
  answer(read, {.probes = 210});
  const DriverStep first = next_step(Kind::Arm);
  EXPECT_GE(first.iteration, 210u + 11u) << "at least a round trip at the measured rate, and one";
  EXPECT_LE(first.iteration, 210u + 60u);
  driver.answered(first.number, "a", {.ok = true, .probes = 220}, now);
  driver.answered(first.number, "b", {.ok = false, .probes = 300}, now);
  EXPECT_EQ(driver.state(), ChangeState::Ready);
  const DriverStep second = next_step(Kind::Arm);
  EXPECT_GT(second.iteration, 300u);
  EXPECT_EQ(second.iteration - 300, 2 * (first.iteration - 210));
  answer(second, {.probes = 300});
  EXPECT_EQ(next_step(Kind::Confirm).iteration, second.iteration) << "what was armed is what is confirmed";
}

TEST_F(Driver, AJoinerLostBeforeTheWindowRollsBackInEveryPhase) {
  begin(newcomers);
  driver.take_steps();
  driver.pod_lost("c", "gone", now);
  ASSERT_EQ(driver.state(), ChangeState::RollingBack);
  answer(next_step(Kind::GiveUp));
  answer(next_step(Kind::Forget));  // nobody was told to build: nothing to wait for
  EXPECT_EQ(driver.state(), ChangeState::Stable);

  begin(newcomers);
  to_building();
  driver.rank_exited(joiners()[1], false, "killed", now);
  expect_rolled_back();

  begin(newcomers);
  to_ready();
  driver.take_steps();
  driver.rank_exited(joiners()[0], false, "killed", now);
  expect_rolled_back();
}

// The others would be in a collective call for ever.
TEST_F(Driver, ARankThatCannotBeToldToBuildRollsBack) {
  begin(newcomers);
  answer(next_step(Kind::Prepare));
  answer(next_step(Kind::Launch));
  report_all(Report::Hello, joiners());
  answer(next_step(Kind::Fetch));
  const DriverStep build = next_step(Kind::Build);
  driver.answered(build.number, "b",
                  {.ok = false, .error = "rank job.1/2 was not told to build: Broken pipe"}, now);
  EXPECT_EQ(driver.status().reason, "pod b: rank job.1/2 was not told to build: Broken pipe");
  expect_rolled_back();
}

TEST_F(Driver, GiveUpNamesAllJoinersAsDead) {
  begin(newcomers);
  to_building();
  driver.cancel("not wanted any more", now);
  EXPECT_EQ(next_step(Kind::GiveUp).dead, joiners());
}

TEST_F(Driver, InTheWindowAJoinersDeathInterruptsAndTheAgreementDecides) {
  begin(newcomers);
  to_window();
  driver.rank_exited(joiners()[0], false, "killed", now);
  EXPECT_EQ(driver.state(), ChangeState::Window);
  EXPECT_EQ(next_step(Kind::Interrupt).dead, std::vector{joiners()[0]});
  driver.cancel("too late", now);
  driver.tick(now + 1h);
  EXPECT_EQ(driver.state(), ChangeState::Window);
  EXPECT_TRUE(driver.take_steps().empty()) << "it is interrupted already";
  report_all(Report::Agreed, old_ranks(), false);
  ASSERT_EQ(driver.state(), ChangeState::RollingBack);
  EXPECT_EQ(driver.status().reason, "killed");
  answer(next_step(Kind::GiveUp));
  answer(next_step(Kind::Forget));
  EXPECT_EQ(driver.status().outcome, ChangeOutcome::RolledBack);
}

TEST_F(Driver, AJoinersNoDoesNotCallBackOldRanksOnTheirWayToTheWindow) {
  begin(newcomers);
  to_window();
  report_all(Report::Agreed, joiners(), false);
  EXPECT_EQ(driver.state(), ChangeState::Window);
  EXPECT_TRUE(driver.take_steps().empty());
  report(Report::Agreed, old_ranks()[0], false);
  EXPECT_EQ(driver.state(), ChangeState::RollingBack);
}

TEST_F(Driver, AMemberLostInAnyPhaseFails) {
  for (const int phase : {0, 1, 2, 3, 4}) {
    SCOPED_TRACE(phase);
    driver = {};
    begin(newcomers, {"b"});
    if (phase == 1) to_building();
    if (phase == 2) to_ready();
    if (phase == 3) to_window();
    if (phase == 4) to_draining();
    driver.rank_exited({"job.1", 0}, false, "rank 0 was killed", now);
    EXPECT_EQ(driver.state(), ChangeState::Failed);
    EXPECT_EQ(driver.status().outcome, ChangeOutcome::Failed);
    EXPECT_EQ(driver.status().reason, "rank 0 was killed");
    EXPECT_FALSE(driver.active());
  }
}

TEST_F(Driver, ALeaverThatDiesBeforeItsReleaseFails) {
  begin({}, {"b"});
  to_draining();
  driver.rank_exited({"job.1", 2}, false, "died while lingering", now);
  EXPECT_EQ(driver.state(), ChangeState::Failed);
}

// The job's last iteration falls between the commit and the end of the drain, as it does with slow epilogues.
TEST_F(Driver, AJoinerThatFinalisesOnceItIsAMemberEndsTheJobWell) {
  begin(newcomers, {"a"});
  to_draining();
  report(Report::Finalizing, joiners()[0]);
  EXPECT_EQ(driver.state(), ChangeState::Draining);
  EXPECT_EQ(driver.status().reason, "");
  report_all(Report::Past, old_ranks());
  report_all(Report::Past, joiners());
  answer(next_step(Kind::Release));
  driver.rank_exited(joiners()[0], true, "", now);
  driver.rank_exited({"job.1", 0}, true, "", now);
  driver.rank_exited({"job.1", 1}, true, "", now);
  answer(next_step(Kind::Forget));
  EXPECT_EQ(driver.status().outcome, ChangeOutcome::Committed);
}

TEST_F(Driver, AJoinerThatFinalisesWhileTheRecordSpreadsEndsTheJobWell) {
  begin(newcomers);
  to_window();
  report(Report::Agreed, joiners()[0]);
  ASSERT_EQ(driver.state(), ChangeState::Committed);
  report(Report::Finalizing, joiners()[0]);
  EXPECT_EQ(driver.state(), ChangeState::Committed);
  answer(next_step(Kind::Commit));
  EXPECT_EQ(driver.state(), ChangeState::Draining);
}

TEST_F(Driver, AJoinerThatDiesOnceItIsAMemberFailsTheJobAsOne) {
  begin(newcomers);
  to_draining();
  driver.rank_exited(joiners()[0], false, "rank 4 was killed", now);
  EXPECT_EQ(driver.state(), ChangeState::Failed);
  EXPECT_EQ(driver.status().reason, "rank 4 was killed");
  EXPECT_EQ(driver.status().ended_by, ChangeEvent::MemberLost);
}

// In the window it has neither voted nor will it: the others must not wait for its vote.
TEST_F(Driver, AJoinerThatFinalisesInsteadOfVotingInterruptsTheWindow) {
  begin(newcomers);
  to_window();
  report(Report::Finalizing, joiners()[0]);
  EXPECT_EQ(driver.state(), ChangeState::Window);
  EXPECT_TRUE(next_step(Kind::Interrupt).dead.empty()) << "it still lives";
  report(Report::Agreed, old_ranks()[0], false);
  ASSERT_EQ(driver.state(), ChangeState::RollingBack);
  EXPECT_NE(driver.status().reason.find("job.2/0 finalised instead of joining"), std::string::npos)
      << driver.status().reason;
}

TEST_F(Driver, AJoinerLostInTheWindowAfterItsVoteFailsTheChangeRightAfterTheCommit) {
  for (const bool pod : {false, true}) {
    SCOPED_TRACE(pod);
    driver = {};
    begin(newcomers);
    to_window();
    if (pod)
      driver.pod_lost("c", "joining rank was killed by signal 9", now);
    else
      driver.rank_exited(joiners()[0], false, "joining rank was killed by signal 9", now);
    report(Report::Agreed, old_ranks()[0]);
    EXPECT_EQ(driver.state(), ChangeState::Failed);
    EXPECT_EQ(driver.status().outcome, ChangeOutcome::Failed);
    EXPECT_EQ(driver.status().reason, "joining rank was killed by signal 9");
    EXPECT_EQ(driver.status().ended_by, ChangeEvent::JoinerLost);
  }
}

TEST_F(Driver, ALeaversPodMayDieAfterItsRelease) {
  for (const bool answered : {true, false}) {
    SCOPED_TRACE(answered);
    driver = {};
    begin({}, {"a"});
    to_draining();
    report_all(Report::Past, old_ranks());
    const DriverStep release = next_step(Kind::Release);
    if (answered) answer(release);
    driver.pod_lost("a", "pod a is lost", now);
    EXPECT_EQ(driver.state(), ChangeState::Draining) << driver.status().reason;
    answer(next_step(Kind::Forget));
    EXPECT_EQ(driver.status().outcome, ChangeOutcome::Committed);
    EXPECT_EQ(driver.status().released, std::vector<std::string>{"a"});
  }
}

TEST_F(Driver, ALeaversPodThatDiesBeforeItsReleaseFails) {
  begin({}, {"a"});
  to_draining();
  driver.pod_lost("a", "pod a is lost", now);
  EXPECT_EQ(driver.state(), ChangeState::Failed);
}

TEST_F(Driver, AStayersPodThatDiesAfterTheReleaseFails) {
  begin({}, {"a"});
  to_draining();
  report_all(Report::Past, old_ranks());
  answer(next_step(Kind::Release));
  driver.pod_lost("b", "pod b is lost", now);
  EXPECT_EQ(driver.state(), ChangeState::Failed);
}

TEST_F(Driver, ARankThatCannotBuildRollsBack) {
  begin(newcomers);
  to_building();
  report(Report::Built, {"job.1", 2}, false);
  expect_rolled_back();
}

TEST_F(Driver, AnEndingJobRollsBack) {
  begin(newcomers);
  to_building();
  report(Report::Finalizing, {"job.1", 1});
  expect_rolled_back();
  EXPECT_NE(driver.status().reason.find("the job is ending"), std::string::npos);
}

TEST_F(Driver, ARankThatFinalisesBeforeTheAgreedIterationRollsBack) {
  begin(newcomers);
  to_window();
  report(Report::Finalizing, {"job.1", 1});
  expect_rolled_back();
}

TEST_F(Driver, NobodyIsToldToBuildBeforeAllHaveTheConnectionData) {
  begin(newcomers);
  answer(next_step(Kind::Prepare));
  answer(next_step(Kind::Launch));
  report_all(Report::Hello, joiners());
  const DriverStep fetch = next_step(Kind::Fetch);
  driver.answered(fetch.number, "a", {}, now);
  driver.answered(fetch.number, "b", {.ok = false, .error = "no data"}, now);
  ASSERT_EQ(driver.state(), ChangeState::RollingBack);
  answer(next_step(Kind::GiveUp));
  answer(next_step(Kind::Forget));  // no rank has anything to drop
  EXPECT_EQ(driver.state(), ChangeState::Stable);
}

TEST_F(Driver, LateAnswersOfEarlierStepsAreIgnored) {
  begin({}, {"b"});
  const DriverStep prepare = next_step(Kind::Prepare);
  answer(prepare);
  const DriverStep fetch = next_step(Kind::Fetch);
  answer(prepare);
  EXPECT_TRUE(driver.take_steps().empty());
  EXPECT_EQ(driver.state(), ChangeState::Building);
  answer(fetch);
}

TEST_F(Driver, APortIsPartOfNoOtherChangesPort) {
  begin(newcomers);
  const std::string one = driver.plan().port;
  EXPECT_NE(one.find(".x."), std::string::npos);
}

}  // namespace
}  // namespace empi::agent
