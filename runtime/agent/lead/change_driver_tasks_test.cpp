// SPDX-License-Identifier: Apache-2.0
// The lead's driver in a master-worker program, without any process: nobody builds a world or agrees on an
// iteration, and lost members are remembered instead of ending the job.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/agent/lead/testing/driver_fixture.hpp"

namespace empi::agent {
namespace {

using Kind = DriverStep::Kind;
using Report = RankReport::Kind;

// Three old pods with one rank each, one newcomer with two; every agent answers well unless told otherwise.
class TasksDriver : public DriverFixture {
 protected:
  bool known_as_tasks = false;  // by the ranks' first words, before the queue is there
  std::vector<Member> newcomers = {{"d", "pod-d", "d:1", 2, "", 0}};

  void SetUp() override {
    old.members = {
        {"a", "pod-a", "a:1", 1, "", 0}, {"b", "pod-b", "b:1", 1, "", 0}, {"c", "pod-c", "c:1", 1, "", 0}};
    lay_out("job.1", old.members);
    driver.queue_is_at("10.0.0.1:5000/key", now);
  }
  void begin(std::vector<Member> add, std::vector<std::string> remove) {
    DriverFixture::begin(std::move(add), std::move(remove), {.tasks = known_as_tasks});
  }
  void pass(Kind kind) { answer(next_step(kind)); }
  ProcId rank_of(const std::string& uid) const { return ranks_of(*old.find(uid)).front(); }
  void joiners_start() {
    pass(Kind::Prepare);
    pass(Kind::Launch);
    report_all(Report::Hello, joiners());
  }
  void joiners_attach() {
    const DriverStep attach = next_step(Kind::Attach);
    EXPECT_EQ(attach.address, "10.0.0.1:5000/key");
    EXPECT_EQ(attach.uids, std::set<std::string>{"d"});
    answer(attach);
    report_all(Report::Built, joiners());
  }
  void leave_and_go(const std::string& uid) {
    report(Report::Agreed, rank_of(uid));
    report(Report::Past, rank_of(uid));
    pass(Kind::Commit);
    pass(Kind::Release);
    driver.rank_exited(rank_of(uid), true, "exited", now);
    pass(Kind::Forget);
  }
  void expect_committed() {
    EXPECT_EQ(driver.status().outcome, ChangeOutcome::Committed)
        << driver.status().reason << to_string(driver.state());
    EXPECT_EQ(driver.state(), ChangeState::Stable);
  }
};

TEST_F(TasksDriver, JoinersAttachAndThatIsAll) {
  begin(newcomers, {});
  joiners_start();
  joiners_attach();
  pass(Kind::Commit);
  pass(Kind::Forget);
  expect_committed();
}

TEST_F(TasksDriver, LeaversGoWhenTheirTaskIsDone) {
  begin({}, {"b"});
  pass(Kind::Prepare);
  const DriverStep depart = next_step(Kind::Depart);
  EXPECT_EQ(depart.uids, std::set<std::string>{"b"});
  answer(depart);
  EXPECT_EQ(driver.state(), ChangeState::Window);
  leave_and_go("b");
  expect_committed();
}

TEST_F(TasksDriver, LeaversAreAskedWhenTheJoinersAreThere) {
  begin(newcomers, {"a"});
  joiners_start();
  joiners_attach();
  pass(Kind::Depart);
  leave_and_go("a");
  expect_committed();
}

TEST_F(TasksDriver, WaitsForAQueueThatIsNotThereYet) {
  ChangeDriver fresh;
  driver = fresh;
  begin(newcomers, {});
  pass(Kind::Prepare);
  pass(Kind::Launch);
  RankReport hello;
  hello.kind = Report::Hello;
  hello.tasks = true;
  for (const ProcId& proc : joiners()) {
    hello.proc = proc;
    driver.reported(hello, now);
  }
  EXPECT_TRUE(driver.take_steps().empty());
  driver.queue_is_at("10.0.0.1:5000/key", now);
  joiners_attach();
}

// Asked for between the last rank's first word and the queue's: nobody builds a world.
TEST_F(TasksDriver, AChangeAskedForBeforeTheQueueIsKnownWaitsForIt) {
  driver = {};
  known_as_tasks = true;
  begin({}, {"b"});
  pass(Kind::Prepare);
  EXPECT_TRUE(driver.take_steps().empty()) << "neither Fetch nor Build";
  driver.queue_is_at("10.0.0.1:5000/key", now);
  pass(Kind::Depart);
  leave_and_go("b");
  expect_committed();
}

TEST_F(TasksDriver, TheDeadlineSaysWhoseTaskIsInHandAndInterruptsNobody) {
  begin({}, {"b"});
  pass(Kind::Prepare);
  pass(Kind::Depart);
  driver.tick(now + std::chrono::hours(1));
  EXPECT_TRUE(driver.take_steps().empty());
  EXPECT_NE(driver.status().reason.find("rank job.1/1 has not left"), std::string::npos)
      << driver.status().reason;
  leave_and_go("b");
  expect_committed();
  EXPECT_EQ(driver.status().reason, "");
}

TEST_F(TasksDriver, AJoinerThatDiesBeforeTheCommitRollsBackWithoutTellingMpi) {
  begin(newcomers, {"b"});
  joiners_start();
  driver.take_steps();
  driver.rank_exited(joiners()[0], false, "joining rank was killed", now);
  EXPECT_EQ(driver.state(), ChangeState::RollingBack);
  const DriverStep give_up = next_step(Kind::GiveUp);
  EXPECT_TRUE(give_up.dead.empty());
  answer(give_up);
  pass(Kind::Forget);
  EXPECT_EQ(driver.status().outcome, ChangeOutcome::RolledBack);
  EXPECT_TRUE(driver.lost().empty());
}

TEST_F(TasksDriver, AJoinerThatCannotAttachRollsBack) {
  begin(newcomers, {});
  joiners_start();
  pass(Kind::Attach);
  report(Report::Built, joiners()[0], false);
  EXPECT_EQ(driver.state(), ChangeState::RollingBack);
}

TEST_F(TasksDriver, AJoinerThatDiesOnceItIsAWorkerIsLostLikeAnyMember) {
  begin(newcomers, {"b"});
  joiners_start();
  joiners_attach();
  pass(Kind::Depart);
  driver.rank_exited(joiners()[0], false, "killed", now);
  leave_and_go("b");
  expect_committed();
  EXPECT_TRUE(driver.lost().contains("d"));
}

// A stayer's pod dies with its agent in each state: the change is finished without its answers.
TEST_F(TasksDriver, ALostStayerStopsNothing) {
  for (int moment = 0; moment < 5; ++moment) {
    SCOPED_TRACE(moment);
    driver = ChangeDriver();
    driver.queue_is_at("10.0.0.1:5000/key", now);
    begin(newcomers, {"b"});
    const auto lose_at = [&](int here) {
      if (here == moment) driver.pod_lost("c", "pod c is lost", now);
    };
    const auto pass_without_c = [&](Kind kind, int here) {
      DriverStep s = next_step(kind);
      lose_at(here);
      if (here >= moment) s.uids.erase("c");
      answer(s);
    };
    pass_without_c(Kind::Prepare, 0);
    pass(Kind::Launch);
    report_all(Report::Hello, joiners());
    lose_at(1);
    joiners_attach();
    lose_at(2);
    pass(Kind::Depart);
    report(Report::Agreed, rank_of("b"));
    pass_without_c(Kind::Commit, 3);
    pass(Kind::Release);
    driver.rank_exited(rank_of("b"), true, "exited", now);
    pass_without_c(Kind::Forget, 4);
    expect_committed();
    EXPECT_TRUE(driver.lost().contains("c"));
  }
}

// Its agent lives. What a lead that leaves has answered it before the last step has to arrive before that is
// over (decision R15).
TEST_F(TasksDriver, APodThatHasLostARankIsWaitedForAsAnyOther) {
  begin({}, {"b"});
  pass(Kind::Prepare);
  pass(Kind::Depart);
  driver.rank_exited(rank_of("c"), false, "killed", now);
  report(Report::Agreed, rank_of("b"));
  const DriverStep commit = next_step(Kind::Commit);
  for (const std::string uid : {"a", "b"}) driver.answered(commit.number, uid, {}, now);
  EXPECT_EQ(driver.state(), ChangeState::Committed);
  driver.answered(commit.number, "c", {}, now);
  EXPECT_EQ(driver.state(), ChangeState::Draining);
}

TEST_F(TasksDriver, ALeaverThatDiesHasLeft) {
  begin({}, {"b"});
  pass(Kind::Prepare);
  pass(Kind::Depart);
  driver.rank_exited(rank_of("b"), false, "killed", now);
  pass(Kind::Commit);
  pass(Kind::Release);
  pass(Kind::Forget);
  expect_committed();
}

TEST_F(TasksDriver, AProgramThatEndsWhileOneIsToLeave) {
  begin({}, {"b"});
  pass(Kind::Prepare);
  pass(Kind::Depart);
  report(Report::Finalizing, rank_of("a"));
  EXPECT_EQ(driver.state(), ChangeState::Window);
  report(Report::Finalizing, rank_of("b"));
  pass(Kind::Commit);
  pass(Kind::Release);
  driver.rank_exited(rank_of("b"), true, "exited", now);
  pass(Kind::Forget);
  expect_committed();
}

TEST_F(TasksDriver, AJoinerThatCannotBeToldToAttachIsNotWaitedFor) {
  begin(newcomers, {});
  joiners_start();
  answer(next_step(Kind::Attach),
         {.ok = false, .error = "rank job.2/0 was not told to attach: Message too long"});
  EXPECT_EQ(driver.state(), ChangeState::RollingBack);
  EXPECT_EQ(driver.status().reason, "pod d: rank job.2/0 was not told to attach: Message too long");
}

// It cannot be called back, and whoever looks must see what it waits for.
TEST_F(TasksDriver, ALeaverThatCannotBeToldToDepartIsNamed) {
  begin({}, {"b"});
  pass(Kind::Prepare);
  const std::string error = "rank job.1/1 was not told to leave: Message too long";
  answer(next_step(Kind::Depart), {.ok = false, .error = error});
  EXPECT_EQ(driver.state(), ChangeState::Window);
  EXPECT_EQ(driver.status().reason, "pod b: " + error);
  driver.tick(now + std::chrono::hours(1));
  EXPECT_NE(driver.status().reason.find(error), std::string::npos) << driver.status().reason;
  leave_and_go("b");
  expect_committed();
  begin({}, {"c"});
  EXPECT_EQ(driver.status().reason, "");
}

TEST_F(TasksDriver, AProgramThatEndsWhileOthersWouldJoinRollsBack) {
  begin(newcomers, {});
  joiners_start();
  pass(Kind::Attach);
  report(Report::Finalizing, rank_of("a"));
  EXPECT_EQ(driver.state(), ChangeState::RollingBack);
}

}  // namespace
}  // namespace empi::agent
