// SPDX-License-Identifier: Apache-2.0
// The bounds of a change (decision R17) at the lead: what happens at each, and in which words.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/agent/lead/testing/driver_fixture.hpp"

namespace empi::agent {
namespace {

using namespace std::chrono_literals;

TEST_F(Driver, AWindowThatIsNotOverAtTheDeadlineIsInterruptedOnce) {
  for (const bool agreed : {false, true}) {
    SCOPED_TRACE(agreed);
    driver = {};
    begin(newcomers);
    to_window();
    driver.tick(now + 9s);
    EXPECT_TRUE(driver.take_steps().empty());
    driver.tick(now + 1h);
    const DriverStep interrupt = next_step(Kind::Interrupt);
    EXPECT_EQ(interrupt.uids, (std::set<std::string>{"a", "b", "c"}));
    EXPECT_TRUE(interrupt.dead.empty());
    EXPECT_EQ(driver.state(), ChangeState::Window) << "the ranks' agreement decides";
    EXPECT_NE(driver.status().reason.find("not over after 10000 ms"), std::string::npos)
        << "whoever asks meanwhile is told: " << driver.status().reason;
    driver.tick(now + 2h);
    EXPECT_TRUE(driver.take_steps().empty());
    report(Report::Agreed, old_ranks()[0], agreed);
    if (agreed) {
      EXPECT_EQ(driver.state(), ChangeState::Committed) << "all had voted before they heard of it";
      EXPECT_EQ(driver.status().reason, "");
    } else {
      EXPECT_EQ(driver.state(), ChangeState::RollingBack);
      EXPECT_NE(driver.status().reason.find("not over after 10000 ms"), std::string::npos)
          << driver.status().reason;
      EXPECT_EQ(driver.status().ended_by, ChangeEvent::Deadline);
    }
  }
}

TEST_F(Driver, ALeaverThatGoesOnAfterItsReleaseIsTerminatedAndThenKilled) {
  begin({}, {"a"});
  to_draining();
  driver.tick(now + 1h);
  EXPECT_TRUE(driver.take_steps().empty()) << "others may still need it";
  EXPECT_NE(driver.status().reason.find("rank job.1/0 is not out of the window"), std::string::npos)
      << driver.status().reason;
  report_all(Report::Past, old_ranks());
  answer(next_step(Kind::Release));
  EXPECT_EQ(driver.status().reason, "");
  driver.rank_exited({"job.1", 0}, true, "", now);
  driver.tick(now + 3s);
  EXPECT_TRUE(driver.take_steps().empty());
  driver.tick(now + 4s);
  const DriverStep terminate = next_step(Kind::Terminate);
  EXPECT_EQ(terminate.uids, std::set<std::string>{"a"});
  EXPECT_EQ(terminate.leavers, (std::vector<ProcId>{{"job.1", 1}}));
  driver.tick(now + 8s);
  EXPECT_TRUE(driver.take_steps().empty());
  driver.tick(now + 9s);
  EXPECT_EQ(next_step(Kind::Kill).leavers, (std::vector<ProcId>{{"job.1", 1}}));
  driver.tick(now + 1h);
  EXPECT_TRUE(driver.take_steps().empty()) << "nothing is stronger";
  driver.rank_exited({"job.1", 1}, false, "killed by signal 9", now);
  answer(next_step(Kind::Forget));
  EXPECT_EQ(driver.status().outcome, ChangeOutcome::Committed);
  EXPECT_EQ(driver.status().reason,
            "leaving rank job.1/1 did not call MPI_Finalize within 4 s of its release: it was killed");
}

TEST_F(Driver, ALeaverThatFinalisesKeepsItsEpilogueForThePodsGrace) {
  begin({}, {"a"});
  to_draining();
  report_all(Report::Past, old_ranks());
  answer(next_step(Kind::Release));
  report(Report::Finalizing, {"job.1", 0});
  driver.tick(now + 4s);
  EXPECT_EQ(next_step(Kind::Terminate).leavers, (std::vector<ProcId>{{"job.1", 1}}));
  driver.rank_exited({"job.1", 1}, false, "killed by signal 15", now);
  driver.tick(now + 9s);
  EXPECT_TRUE(driver.take_steps().empty());
  driver.tick(now + 10s);  // the change's deadline is as long as the pod's grace
  EXPECT_EQ(next_step(Kind::Terminate).leavers, (std::vector<ProcId>{{"job.1", 0}}));
  driver.rank_exited({"job.1", 0}, true, "", now);
  answer(next_step(Kind::Forget));
  EXPECT_EQ(driver.status().outcome, ChangeOutcome::Committed);
  EXPECT_EQ(driver.status().reason,
            "leaving rank job.1/1 did not call MPI_Finalize within 4 s of its release: it was terminated; "
            "leaving rank job.1/0 did not end within 10 s of its release: it was terminated");
}

TEST_F(Driver, TheDeadlineNamesWhomItWaitedFor) {
  begin(newcomers);
  answer(next_step(Kind::Prepare));
  answer(next_step(Kind::Launch));
  report(Report::Hello, joiners()[0]);
  driver.tick(now + 9s);
  EXPECT_EQ(driver.state(), ChangeState::Preparing);
  driver.tick(now + 10s);
  EXPECT_EQ(driver.state(), ChangeState::RollingBack);
  EXPECT_NE(driver.status().reason.find("job.2/1 is not past MPI_Init"), std::string::npos)
      << driver.status().reason;
}

// One rank stands still: nobody has been told to build, so nobody waits for it in MPI.
TEST_F(Driver, ARankThatDoesNotSayWhetherItCanBuildIsWaitedForUntilTheDeadline) {
  begin({}, {"b"});
  answer(next_step(Kind::Prepare));
  const DriverStep fetch = next_step(Kind::Fetch);
  driver.answered(fetch.number, "a", {}, now);
  driver.tick(now + 10s);
  ASSERT_EQ(driver.state(), ChangeState::RollingBack);
  EXPECT_NE(driver.status().reason.find("pod b has not answered"), std::string::npos)
      << driver.status().reason;
  answer(next_step(Kind::GiveUp));
  answer(next_step(Kind::Forget));
  EXPECT_EQ(driver.state(), ChangeState::Stable);
}

TEST_F(Driver, RollbackDoesNotWaitForEverForARankThatSaysNothing) {
  begin(newcomers);
  to_building();
  driver.cancel("no", now);
  answer(next_step(Kind::GiveUp));
  driver.tick(now + 10s);
  EXPECT_EQ(driver.state(), ChangeState::RollingBack);
  driver.tick(now + 60s);
  answer(next_step(Kind::Forget));
  EXPECT_EQ(driver.state(), ChangeState::Stable);
}

}  // namespace
}  // namespace empi::agent
