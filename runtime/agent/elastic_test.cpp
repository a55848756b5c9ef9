// SPDX-License-Identifier: Apache-2.0
// Real processes that grow, shrink and do both at once.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/agent/testing/elastic_fixture.hpp"

namespace empi {
namespace {

using testing::Elastic;

TEST_F(Elastic, GrowsByOnePod) {
  begin(2);
  const ChangeStatus s = commit({.add = pods.launch(1)});
  EXPECT_EQ(s.from_ranks, 4);
  EXPECT_EQ(s.to_ranks, 6);
  EXPECT_GT(s.times.build_ms, 0);
  EXPECT_GT(s.times.pause_ms, 0);
  expect_finish(6);
}

// What a controller reads of a job's size is what there is, not what was asked for.
TEST_F(Elastic, TheLeadCountsTheRanksThatAreThere) {
  const auto members = begin(2);
  const auto comes_to = [&](int ranks) {
    pods.wait_until(std::to_string(ranks) + " ranks are counted",
                    [&] { return pods.membership().ranks == ranks; });
  };
  comes_to(4);
  commit({.add = pods.launch(1)});
  comes_to(6);
  commit({.remove = {members[0].uid}});  // and of the next lead
  comes_to(4);
  expect_finish(4);
}

TEST_F(Elastic, GrowsBySeveralPodsAtOnce) {
  begin(1);
  commit({.add = pods.launch(3)});
  expect_finish(8);
}

TEST_F(Elastic, ShrinksByThePodInTheMiddle) {
  const auto members = begin(3);
  const ChangeStatus s = commit({.remove = {members[1].uid}});
  EXPECT_EQ(s.released, std::vector{members[1].uid});
  expect_finish(4);
}

TEST_F(Elastic, TheLeadAndWorldRankZeroLeave) {
  const auto members = begin(3);
  commit({.remove = {members[0].uid}});
  EXPECT_EQ(pods.lead().uid, members[1].uid);
  commit({.remove = {members[1].uid}});
  EXPECT_EQ(pods.lead().uid, members[2].uid);
  commit({.add = pods.launch(1)});
  expect_finish(4);
}

TEST_F(Elastic, LeaversAndJoinersInOneChange) {
  const auto members = begin(3);
  const ChangeStatus s = commit({.add = pods.launch(2), .remove = {members[0].uid, members[2].uid}});
  EXPECT_EQ(s.request.kind(), "mixed");
  EXPECT_EQ(pods.membership().membership.members.size(), 3u);
  expect_finish(6);
}

TEST_F(Elastic, NewPodsTakeAllOverButOne) {
  auto members = begin(2);
  const auto joined = pods.launch(1);
  commit({.add = joined, .remove = {members[0].uid}});
  commit({.remove = {members[1].uid}});
  EXPECT_EQ(pods.lead().uid, joined[0].uid);
  expect_finish(2);
}

TEST_F(Elastic, ObjectsAreMadeWhileTheNextWorldIsBuilt) {
  arguments = {"objects"};
  auto members = begin(2);
  commit({.add = pods.launch(1)});
  commit({.add = pods.launch(1), .remove = {members[0].uid}});
  commit({.remove = {members[1].uid}});
  expect_finish(4);
}

// A job may end between the commit of a change and the end of its leavers' last words.
TEST_F(Elastic, TheProgramEndsWhileALeaverIsInItsEpilogue) {
  pods.environment["EMPI_TEST_TRAP"] = "stop_left";
  const auto members = begin(2);
  pods.environment.erase("EMPI_TEST_TRAP");
  const std::string id = pods.request_change({.add = pods.launch(1), .remove = {members[1].uid}});
  ASSERT_EQ(pods.wait_for_state(id, ChangeState::Draining).state, ChangeState::Draining);
  expect_finish(4);
  EXPECT_EQ(pods.wait_for_end(members[1].uid), 0);
  // Nobody may have looked since the commit: the job's last words say it.
  const auto last = outcome_of(members[0].uid).last_change;
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->id, id);
  EXPECT_EQ(last->outcome, ChangeOutcome::Committed);
}

// Who becomes the lead while the program ends knows who has ended before, and how.
TEST_F(Elastic, TheProgramEndsWhileTheLeadIsInItsEpilogue) {
  pods.slots = 1;
  const auto members = begin_with({"stop_left", "end_with_7", "stop_at_end"});
  const std::string id = pods.request_change({.remove = {members[0].uid}});
  ASSERT_EQ(pods.wait_for_state(id, ChangeState::Draining).state, ChangeState::Draining);
  wait_for_trap(members[0].uid);
  stop_program();
  wait_for_trap(members[2].uid);
  pods.wait_until("the leaving lead knows that rank 1 has failed",
                  [&] { return pods.log(members[0].uid).find("exited with code 7") != std::string::npos; });
  let_go(members[0].uid);
  EXPECT_EQ(pods.wait_for_end(members[0].uid), 0);
  let_go(members[2].uid);
  for (const auto& member : {members[1], members[2]}) {
    EXPECT_EQ(pods.wait_for_end(member.uid), 7) << member.name;
    const JobOutcome outcome = outcome_of(member.uid);
    EXPECT_EQ(outcome.result, JobResult::Failed);
    EXPECT_EQ(outcome.exit_code, 7);
    EXPECT_NE(outcome.reason.find("exited with code 7"), std::string::npos) << outcome.reason;
  }
}

// The promise of the issue: 50 changes in a row, nothing lost, nothing leaked.
TEST_F(Elastic, FiftyRandomChanges) {
  pods.slots = 1;
  pods.patience = std::chrono::seconds(120);
  std::vector<Member> members = begin(3);
  std::mt19937 random(20261121);
  struct Size {
    long kib;
    int descriptors;
  };
  std::map<std::string, Size> first;
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const int now = static_cast<int>(members.size());
    const int leave = std::min<int>(random() % 3, now - 1);
    int join = random() % 3;
    if (now - leave + join > 5) join = 0;
    if (leave + join == 0) join = now < 5 ? 1 : 0;
    testing::WantedChange wanted;
    std::ranges::shuffle(members, random);
    for (int i = 0; i < leave || (leave + join == 0 && i < 1); ++i) wanted.remove.push_back(members[i].uid);
    wanted.add = pods.launch(join);
    commit(wanted);
    members = pods.membership().membership.members;
    // Per process that has been there for a while; a new one starts its own account.
    for (const Member& m : members)
      for (pid_t pid : pods.ranks(m.uid)) {
        const Size size{testing::resident_kib(pid), testing::descriptors(pid)};
        const auto [entry, fresh] = first.try_emplace(m.uid + "/" + std::to_string(pid), size);
        EXPECT_LT(size.kib, entry->second.kib + 40'000) << "memory of a rank of " << m.name;
        EXPECT_LT(size.descriptors, entry->second.descriptors + 40) << "descriptors of a rank of " << m.name;
      }
    for (const Member& m : members) {
      EXPECT_LT(testing::descriptors(pods.agent_pid(m.uid)), 120) << "descriptors of the agent of " << m.name;
    }
    if (HasFatalFailure() || HasNonfatalFailure()) break;
  }
  expect_finish(static_cast<int>(members.size()));
}

}  // namespace
}  // namespace empi
