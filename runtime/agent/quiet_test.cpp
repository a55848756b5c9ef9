// SPDX-License-Identifier: Apache-2.0
// What a user reads of a job that grows, shrinks and is rolled back: the program's own lines and nothing of
// Open MPI's, of which they can do nothing about.
#include "runtime/agent/testing/elastic_fixture.hpp"
#include "runtime/protocol/log_lines.hpp"

namespace empi {
namespace {

using testing::Elastic;

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

class Quiet : public Elastic {
 protected:
  // Lines of a pod's log that neither the agent nor the program has written.
  std::string foreign_lines(const Member& member) {
    std::istringstream log(pods.log(member.uid));
    std::string foreign;
    for (std::string line; std::getline(log, line);) {
      const LogLine kind = kind_of_log_line(member.name, line);
      const bool own = kind == LogLine::OfRank && line.find("] finished: size ") != line.npos;
      if (own || kind == LogLine::AgentNote || kind == LogLine::AgentProblem) continue;
      foreign += line + "\n";
    }
    return foreign;
  }
};

TEST_F(Quiet, ChangesOfSize) {
  auto seen = begin(2);
  for (int round = 0; round < 3; ++round) {
    const auto joiners = pods.launch(2);
    seen.insert(seen.end(), joiners.begin(), joiners.end());
    commit({.add = joiners});
    commit({.remove = {joiners[0].uid, joiners[1].uid}});
  }
  const auto last = pods.launch(1);
  seen.insert(seen.end(), last.begin(), last.end());
  commit({.add = last, .remove = {seen.front().uid}});
  expect_finish(4);
  for (const Member& member : seen) EXPECT_EQ(foreign_lines(member), "") << member.name;
}

TEST_F(Quiet, ChangesThatAreRolledBack) {
  const auto members = begin(2);
  for (const char* trap : {"after_init", "in_window", "before_commit", "random_30"}) {
    SCOPED_TRACE(trap);
    pods.environment["EMPI_TEST_TRAP"] = trap;
    const auto joiners = pods.launch(1);
    pods.environment.erase("EMPI_TEST_TRAP");
    EXPECT_EQ(pods.change({.add = joiners}).outcome, ChangeOutcome::RolledBack);
    pods.wait_for_end(joiners[0].uid);
  }
  expect_finish(4);
  for (const Member& member : members) EXPECT_EQ(foreign_lines(member), "") << member.name;
}

// The agent's part of it, whatever Open MPI has to say today: a program that speaks as Open MPI does.
class SpeaksAsMpi : public Quiet {
 protected:
  // The log of a pod whose ranks end so.
  std::string run(const std::string& end) {
    pods.mode = "rigid";
    pods.job = "quiet-" + std::to_string(getpid());
    pods.command = {"bash", "-c", "echo mine; echo of MPI >&$OPAL_OUTPUT_STDERR_FD; " + end};
    pods.slots = 1;
    member = pods.launch(1)[0];
    pods.start({member});
    pods.wait_for_end(member.uid);
    return pods.log(member.uid);
  }
  Member member;
};

TEST_F(SpeaksAsMpi, NothingIsShownOfARankThatEndsWell) {
  const std::string log = run("exit 0");
  EXPECT_EQ(count(log, "] mine"), 1) << log;
  EXPECT_EQ(count(log, "of MPI"), 0) << log;
}

TEST_F(SpeaksAsMpi, AllIsShownOfARankThatFails) {
  const std::string log = run("exit 1");
  EXPECT_EQ(count(log, "] mine"), 1) << log;
  EXPECT_EQ(count(log, "] of MPI"), 1) << log;
  const std::string end = pods.termination_log(member.uid);
  EXPECT_NE(end.find("of MPI"), std::string::npos) << end;
}

TEST_F(SpeaksAsMpi, TheAgentsLogHasItWhenItIsAskedForEverything) {
  pods.environment["EMPI_LOG_LEVEL"] = "debug";
  const std::string log = run("exit 0");
  EXPECT_EQ(count(log, "agent debug: MPI in quiet-"), 1) << log;
}

}  // namespace
}  // namespace empi
