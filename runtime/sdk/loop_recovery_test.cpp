// SPDX-License-Identifier: Apache-2.0
// elastic::Loop::recoverable on agents. Promise: when pods or ranks are killed, at any moment, the others go
// on with every value as it was at one iteration; what cannot be borne ends the job in words.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/names.hpp"

namespace elastic {
namespace {

using empi::Member;
using empi::testing::LocalPods;
namespace fs = std::filesystem;

class RecoveryOnPods : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/elastic-recovery.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
    pods.command = {empi::testing::beside("loop_program"), folder, "0", "20"};
    pods.patience = std::chrono::seconds(60);
  }
  void TearDown() override { fs::remove_all(folder); }

  void start(int count, int slots) {
    pods.slots = slots;
    members = pods.launch(count);
    pods.start(members);
    wait_until_recoverable();
  }
  void wait_until_recoverable() {
    pods.wait_until("there are copies, and all know it", [&] {
      return std::ranges::all_of(members, [&](const Member& member) {
        const auto answer = pods.call("GET", member, empi::paths::kMembership);
        return answer.status == 200 &&
               nlohmann::json::parse(answer.body).get<empi::MembershipView>().survives_lead_loss;
      });
    });
  }
  // A job beside that of the fixture, of one rank in each pod.
  std::vector<Member> start_another(LocalPods& another, int count) const {
    another.command = pods.command;
    another.slots = 1;
    another.patience = std::chrono::seconds(90);
    const std::vector<Member> all = another.launch(count);
    another.start(all);
    another.wait_until("there are copies", [&] { return another.membership().survives_loss; });
    return all;
  }
  // As the agent of that pod says, with so many pods.
  static bool goes_on(LocalPods& pods, const Member& asked, std::size_t count) {
    const auto answer = pods.call("GET", asked, empi::paths::kMembership);
    if (answer.status != 200) return false;
    const auto view = nlohmann::json::parse(answer.body).get<empi::MembershipView>();
    return view.membership.members.size() == count && view.recovering.empty();
  }
  void expect_end_of_another(LocalPods& another, const std::vector<Member>& left) const {
    std::ofstream(folder + "/stop") << "\n";
    for (const Member& m : left) EXPECT_EQ(another.wait_for_end(m.uid), 0) << another.all_logs();
    fs::remove(folder + "/stop");
  }
  // With its agent, all at once.
  void kill_pod(std::size_t i) { pods.signal(members[i].uid, SIGKILL); }
  void expect_left(std::size_t count) {
    pods.wait_until("the others go on", [&] {
      const auto view = pods.membership();
      return view.membership.members.size() == count && view.recovering.empty();
    });
    const auto left = pods.membership().membership;
    std::erase_if(members, [&](const Member& m) { return !left.find(m.uid); });
  }
  void expect_good_end(int ranks) {
    std::ofstream(folder + "/stop") << "\n";
    for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << pods.all_logs();
    const std::string wanted = "finished ranks " + std::to_string(ranks) + " ";
    EXPECT_NE(pods.all_logs().find(wanted), std::string::npos) << "expected: " << wanted << "\n"
                                                               << pods.all_logs();
  }

  // Killed by a signal from outside, as the kernel does when memory is short.
  void kill_rank(std::size_t i) {
    const auto ranks = pods.ranks(members[i].uid);
    ASSERT_FALSE(ranks.empty());
    kill(ranks.back(), SIGKILL);
  }
  void expect_failure(const std::string& why) {
    for (const Member& m : members) pods.wait_for_end(m.uid);
    EXPECT_NE(pods.all_logs().find(why), std::string::npos) << "expected: " << why << "\n" << pods.all_logs();
  }

  std::string folder;
  LocalPods pods;
  std::vector<Member> members;
};

TEST_F(RecoveryOnPods, TheOthersGoOnWithoutARankThatIsKilled) {
  start(3, 2);
  kill_rank(1);
  expect_left(2);
  const auto lost = pods.wait_for_change("lost-2");
  EXPECT_GT(lost.times.lost_ms, 0);
  EXPECT_GE(lost.repeated_iterations, 0);
  EXPECT_LE(lost.repeated_iterations, 20) << "copies are made every 20 iterations";
  expect_good_end(4);
  EXPECT_NE(pods.all_logs().find("recoveries 1"), std::string::npos);
}

// Found with hypre, which an error leaves half way: what it had made was in the way of every change after.
TEST_F(RecoveryOnPods, WhatIsKeptOfAWorldThatIsLostIsInNoChangesWay) {
  std::ofstream(folder + "/keep-lost") << "\n";
  start(4, 1);
  kill_rank(1);
  expect_left(3);
  const std::string leaver = members.back().uid;
  const auto change = pods.change({.remove = {leaver}});
  EXPECT_EQ(change.outcome, empi::ChangeOutcome::Committed) << change.reason;
  EXPECT_EQ(pods.wait_for_end(leaver), 0) << pods.all_logs();
  members.pop_back();
  expect_good_end(2);
}

TEST_F(RecoveryOnPods, AnOddNumberGoesOn) {
  start(4, 1);
  kill_rank(1);
  expect_left(3);
  expect_good_end(3);
}

TEST_F(RecoveryOnPods, TheOthersGoOnWithoutAPodThatFallsSilent) {
  pods.environment[empi::names::kPartitionSeconds] = "3";
  start(3, 1);
  kill_pod(2);
  // By silence alone it is not dropped: another lead might have been named meanwhile.
  pods.wait_until("the lead misses it", [&] {
    const auto view = pods.membership();
    return view.silent == std::vector<std::string>{members[2].uid} && view.membership.members.size() == 3;
  });
  pods.say_lost({members[2].uid});
  expect_left(2);
  expect_good_end(2);
}

// Decision R20.
TEST_F(RecoveryOnPods, TheOthersGoOnWithoutThePodOfTheLead) {
  start(4, 1);
  kill_pod(0);
  pods.say_lost({members[0].uid});
  expect_left(3);
  EXPECT_EQ(pods.lead().uid, members[0].uid);
  // And the next one can be lost as well, and changes go on.
  const auto added = pods.launch(1);
  const auto grown = pods.change({.add = added});
  ASSERT_EQ(grown.outcome, empi::ChangeOutcome::Committed) << grown.reason << pods.all_logs();
  members.push_back(added[0]);
  wait_until_recoverable();
  kill_pod(0);
  pods.say_lost({members[0].uid});
  expect_left(3);
  expect_good_end(3);
}

TEST_F(RecoveryOnPods, TheOthersGoOnWithoutALeadThatIsLostWhileNewcomersAreAwaited) {
  start(4, 1);
  const std::string id = pods.request_change({.add = {pods.missing_pod()}});
  pods.wait_until("the next lead knows the change", [&] {
    const auto answer = pods.call("GET", members[1], empi::paths::kMembership);
    return nlohmann::json::parse(answer.body).get<empi::MembershipView>().change == id;
  });
  kill_pod(0);
  pods.say_lost({members[0].uid});
  expect_left(3);
  EXPECT_EQ(pods.wait_for_change(id).outcome, empi::ChangeOutcome::RolledBack);
  expect_good_end(3);
}

// It was stopped and not dead: what it does when it goes on is nobody's business (K7').
TEST_F(RecoveryOnPods, ALeadThatComesBackEndsItsRanks) {
  start(3, 1);
  const std::string former = members[0].uid;
  pods.signal(former, SIGSTOP);
  pods.say_lost({former});
  expect_left(2);
  pods.signal(former, SIGCONT);
  EXPECT_NE(pods.wait_for_end(former), 0);
  EXPECT_TRUE(pods.ranks(former).empty());
  expect_good_end(2);
}

// The second one is lost while the others make a world without the first.
TEST_F(RecoveryOnPods, TwoPodsThatHoldNothingOfEachOther) {
  start(4, 1);
  kill_rank(1);
  kill_rank(2);
  expect_left(2);
  expect_good_end(2);
}

// Half of the pods are on it: neighbours, and such as are half the world apart.
TEST_F(RecoveryOnPods, TheOthersGoOnWithoutAllPodsOfANode) {
  pods.nodes = {"b", "a", "a", "b", "a", "b"};
  start(6, 1);
  std::vector<std::string> lost;
  for (const std::size_t i : {1, 2, 4}) {
    kill_pod(i);
    lost.push_back(members[i].uid);
  }
  pods.say_lost(lost);
  expect_left(3);
  expect_good_end(3);
}

// At whatever moment of that. The two hold no copies of each other.
TEST_F(RecoveryOnPods, ASecondLossWhileTheWorldIsMadeIsBorne) {
#ifndef EMPI_FULL_TESTS
  GTEST_SKIP() << "in the full tests: twelve jobs";
#endif
  for (int ms = 0; ms < 360; ms += 30) {
    SCOPED_TRACE(ms);
    LocalPods pods;
    const std::vector<Member> all = start_another(pods, 8);
    kill(pods.ranks(all[1].uid).back(), SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    kill(pods.ranks(all[6].uid).back(), SIGKILL);
    pods.wait_until("the others go on", [&] {
      const auto view = pods.membership();
      return view.membership.members.size() == 6 && view.recovering.empty();
    });
    expect_end_of_another(pods, {all[0], all[2], all[3], all[4], all[5], all[7]});
  }
}

TEST_F(RecoveryOnPods, APodAndTheOneWithItsCopiesEndTheJobInWords) {
  start(4, 1);
  kill_rank(1);
  kill_rank(3);
  expect_failure("no copy is left of what rank 1 had");
}

TEST_F(RecoveryOnPods, AReplacementJoinsAndMayBeLostAgain) {
  start(2, 2);
  for (int again = 0; again < 2; ++again) {
    kill_rank(1);
    expect_left(1);
    const auto added = pods.launch(1);
    const auto status = pods.change({.add = added});
    ASSERT_EQ(status.outcome, empi::ChangeOutcome::Committed) << status.reason << pods.all_logs();
    members.push_back(added[0]);
  }
  const std::string removed = members[1].uid;
  EXPECT_EQ(pods.change({.remove = {removed}}).outcome, empi::ChangeOutcome::Committed);
  members.pop_back();
  expect_good_end(2);
}

// The world that the change has made has copied nothing yet: what leavers had copies of is on others by then,
// and newcomers know where the others' are.
TEST_F(RecoveryOnPods, ALossRightAfterAChangeIsBorne) {
  struct {
    std::size_t before, after;
    int lost;
    const char* what;
  } const cases[] = {{4, 3, 1, "it and the leaver had each other's copies"},
                     {3, 2, 0, "it had those of the leaver"},
                     {4, 2, 1, "all copies of those who stay were on leavers"},
                     {2, 3, 1, "nobody has left"},
                     {2, 3, 2, "a newcomer"},
                     {1, 2, 0, "there were no copies before"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    LocalPods pods;
    std::vector<Member> members = start_another(pods, static_cast<int>(c.before));
    std::ofstream(folder + "/die-in-rebuild") << c.lost << " 1\n";
    empi::testing::WantedChange change;
    if (c.after > c.before) change.add = pods.launch(static_cast<int>(c.after - c.before));
    for (std::size_t i = c.after; i < c.before; ++i) change.remove.push_back(members[i].uid);
    pods.request_change(change);
    members.resize(std::min(c.before, c.after));
    members.insert(members.end(), change.add.begin(), change.add.end());
    members.erase(members.begin() + c.lost);
    pods.wait_until("the others go on", [&] { return goes_on(pods, members[0], c.after - 1); });
    fs::remove(folder + "/die-in-rebuild");
    expect_end_of_another(pods, members);
  }
}

// minReplicas: the program itself makes sure that it computes nothing on fewer.
TEST_F(RecoveryOnPods, BelowTheLeastNumberTheOthersWaitForReplacements) {
  pods.environment[empi::names::kMinWorkers] = "4";
  start(4, 1);
  kill_rank(1);
  kill_rank(2);
  expect_left(2);
  for (int again = 0; again < 2; ++again) {  // after the first one there are still too few
    const auto added = pods.launch(1);
    const auto status = pods.change({.add = added});
    ASSERT_EQ(status.outcome, empi::ChangeOutcome::Committed) << status.reason << pods.all_logs();
    members.push_back(added[0]);
  }
  expect_good_end(4);
}

TEST_F(RecoveryOnPods, ReplacementsThatDoNotComeEndTheJobInWords) {
  pods.environment[empi::names::kMinWorkers] = "3";
  pods.environment[empi::names::kReplacementSeconds] = "1";
  start(3, 1);
  kill_rank(1);
  expect_failure("2 of at least 3 workers are left, and no others have come within 1 s");
}

TEST_F(RecoveryOnPods, ALossWhileNewcomersAreAwaitedCallsTheChangeBack) {
  start(4, 1);
  const std::string id = pods.request_change({.add = {pods.missing_pod()}});
  kill_rank(1);
  EXPECT_EQ(pods.wait_for_change(id).outcome, empi::ChangeOutcome::RolledBack);
  expect_left(3);
  expect_good_end(3);
}

// Where it is met decides: the others go on, or, when MPI does not come back from making the next world, or
// the vote was under way, the job ends in words.
TEST_F(RecoveryOnPods, ALossAnywhereElseInAChangeIsBorneOrSaid) {
#ifndef EMPI_FULL_TESTS
  GTEST_SKIP() << "in the full tests: it takes whatever moment it meets";
#endif
  using enum empi::ChangeState;
  for (const auto state : {Building, Ready, Window, Draining}) {
    SCOPED_TRACE(to_string(state));
    LocalPods pods;
    std::vector<Member> members = start_another(pods, 4);
    const auto added = pods.launch(1);
    const std::string id = pods.request_change({.add = added});
    pods.wait_for_state(id, state);
    kill(pods.ranks(members[1].uid).back(), SIGKILL);
    const auto change = pods.wait_for_change_or_end(id);
    if (change && change->outcome == empi::ChangeOutcome::Committed) members.push_back(added[0]);
    bool borne = false;
    pods.wait_until("the others go on, or not", [&] {
      return (borne = goes_on(pods, members[0], members.size() - 1)) || !pods.running(members[0].uid);
    });
    if (borne) {
      members.erase(members.begin() + 1);
      expect_end_of_another(pods, members);
      std::printf("a loss in %s was borne\n", std::string(to_string(state)).c_str());
    } else {
      EXPECT_NE(pods.all_logs().find("rank 1 (pod "), std::string::npos) << pods.all_logs();
    }
  }
}

// Revoking may never come back (quirk revoke-threads), whichever thread does it: that rank is lost, too.
TEST_F(RecoveryOnPods, ARankThatIsStuckInMpiEndsItself) {
  pods.environment["EMPI_TEST_STUCK_REVOCATION"] = "2 program";
  start(4, 1);
  kill_rank(1);
  expect_left(2);
  expect_good_end(2);
}

TEST_F(RecoveryOnPods, ARankThatIsStuckInMpiWhenAChangeIsCalledBackEndsItself) {
  pods.environment["EMPI_TEST_STUCK_REVOCATION"] = "2 order";
  pods.environment["EMPI_TEST_TELL_ACCEPTS"] = folder;
  start(4, 1);
  pods.environment["EMPI_TEST_NEVER_CONNECTS"] = "yes";
  const std::string id = pods.request_change({.add = pods.launch(1)});
  pods.wait_until("all await it", [&] { return fs::exists(folder + "/all-accept"); });
  kill_rank(1);
  EXPECT_EQ(pods.wait_for_change(id).outcome, empi::ChangeOutcome::RolledBack);
  expect_left(2);
  expect_good_end(2);
}

// Where the program makes something of the job's first world, as at each snapshot (quirk blocked-search).
TEST_F(RecoveryOnPods, ALossWhileACommunicatorIsMadeIsBorne) {
  start(3, 1);
  std::ofstream(folder + "/die-in-rebuild") << "1 0\n";
  expect_left(2);
  expect_good_end(2);
}

// All have voted, and one dies: some are in the next world, and one does not know. Which joiners and leavers
// are members then depends on whom the lead hears first.
TEST_F(RecoveryOnPods, ALossThatSplitsTheVoteIsBorne) {
  struct {
    const char* what;
    bool grows;
    int doubter;
    std::size_t fewest;
  } const cases[] = {{"a grow, one that stays is in doubt", true, 2, 3},
                     {"a shrink, one that leaves is in doubt", false, 3, 2}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    LocalPods pods;
    pods.environment["EMPI_TEST_SPLIT_VOTE"] = folder + " 1 " + std::to_string(c.doubter);
    const std::vector<Member> before = start_another(pods, 4);
    empi::testing::WantedChange change;
    if (c.grows)
      change.add = pods.launch(1);
    else
      change.remove = {before[3].uid};
    pods.wait_for_change(pods.request_change(change));
    empi::MembershipView view;
    pods.wait_until("the others go on", [&] {
      view = pods.membership();
      return !view.membership.find(before[1].uid) && view.recovering.empty();
    });
    EXPECT_GE(view.membership.members.size(), c.fewest);
    EXPECT_LE(view.membership.members.size(), c.fewest + 1);
    expect_end_of_another(pods, view.membership.members);
    EXPECT_NE(pods.all_logs().find("recoveries 1"), std::string::npos) << pods.all_logs();
    for (int rank = 0; rank < 4; ++rank) fs::remove(folder + "/voted-" + std::to_string(rank));
  }
}

// Its agent lives, and hands the lead over: nobody has to be named.
TEST_F(RecoveryOnPods, TheOthersGoOnWithoutARankInThePodOfTheLead) {
  start(3, 1);
  const std::string former = members[0].uid;
  kill_rank(0);
  expect_left(2);
  EXPECT_NE(pods.wait_for_end(former), 0);
  EXPECT_NE(pods.log(former).find("was killed by signal 9"), std::string::npos);
  expect_good_end(2);
}

TEST_F(RecoveryOnPods, WhereTheJobSaysFailALossEndsIt) {
  pods.recover = false;
  pods.slots = 1;
  members = pods.launch(2);
  pods.start(members);
  pods.wait_until("the program iterates", [&] { return fs::exists(folder + "/iterating"); });
  EXPECT_FALSE(pods.membership().survives_loss);
  kill_rank(1);
  expect_failure("was killed by signal 9");
}

}  // namespace
}  // namespace elastic
