// SPDX-License-Identifier: Apache-2.0
// elastic::MasterWorker loses ranks, agents, pods and its queue.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <thread>

#include "runtime/queue/testing/tasks_on_pods.hpp"

namespace elastic {
namespace {

using empi::Member;
using testing::TasksOnPods;
namespace fs = std::filesystem;

TEST_F(TasksOnPods, KilledWorkersCostTheirChunk) {
  pods.environment[empi::names::kPartitionSeconds] = "4";
  start(4, 2, {"phases", "2", "tasks", "20000"}, "4000");
  wait_until_all_work(8);
  commit({.add = pods.launch(1)});
  for (const std::size_t victim : {4, 1}) {
    kill(pods.ranks(members[victim].uid)[0], SIGKILL);
    expect_dropped(members[victim]);
  }
  kill_pod(members[1]);
  expect_dropped(members[1]);
  // A rank beside the one with the queue: only its tasks are lost.
  const auto ranks = pods.ranks(members[0].uid);
  kill(*std::ranges::max_element(ranks), SIGKILL);
  commit({.add = pods.launch(1)});
  expect_good_end();
}

// Whatever the moment: before, while and after others join and leave.
TEST_F(TasksOnPods, WorkersKilledAtRandomTimesOfChanges) {
  pods.environment[empi::names::kPartitionSeconds] = "4";
  start(3, 1, {"phases", "1", "tasks", "60000"}, "4000");
  wait_until_all_work(3);
  std::mt19937 random(5);
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    empi::testing::WantedChange wanted;
    wanted.add = pods.launch(1 + static_cast<int>(random() % 2));
    const Member victim = members[1 + random() % (members.size() - 1)];
    const Member other = members[1 + random() % (members.size() - 1)];
    if (members.size() > 3) wanted.remove = {other.uid};
    const std::string id = pods.request_change(wanted);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 500));
    const auto ranks = pods.ranks(victim.uid);
    if (round % 3 == 0)
      kill_pod(victim);
    else if (!ranks.empty())
      kill(ranks[0], SIGKILL);
    const empi::ChangeStatus status = pods.wait_for_change(id);
    ASSERT_EQ(status.outcome, empi::ChangeOutcome::Committed) << status.reason;
    std::erase_if(members, [&](const Member& m) {
      return m.uid == victim.uid || (!wanted.remove.empty() && m.uid == other.uid);
    });
    members.insert(members.end(), wanted.add.begin(), wanted.add.end());
    pods.wait_until("the membership is as it should be", [&] {
      return std::ranges::equal(pods.membership().membership.members, members, {}, &Member::uid,
                                &Member::uid);
    });
  }
  EXPECT_FALSE(fs::exists(folder + "/result")) << "too few tasks for so many changes";
  expect_good_end();
}

// A pod whose machine is gone without a word, after the last phase: its ranks are in the world on which the
// others synchronise in MPI_Finalize.
class APodIsLostInSilence : public TasksOnPods {
 protected:
  void SetUp() override {
    TasksOnPods::SetUp();
    pods.environment[empi::names::kPartitionSeconds] = "5";
  }
  void finish_the_phases(const std::string& wait_for = "-1") {
    start(3, 1, {"phases", "1", "tasks", "30", "world", "1", "linger", "1", "wait_for", wait_for}, "1000");
    wait_for_files("the phase is done", "result.lingers.", 3);
  }
  // Connections stay open and say nothing.
  Member silence(Member member) {
    silent = pods.ranks(member.uid);
    silent.push_back(pods.agent_pid(member.uid));
    for (const pid_t pid : silent) kill(pid, SIGSTOP);
    std::erase_if(members, [&](const Member& m) { return m.uid == member.uid; });
    return member;
  }
  // Where the queue is mirrored nobody is dropped for mere silence: the lead says who is silent, and who
  // follows the pods that it is lost. Else it drops the pod by itself.
  void give_up(const Member& member) {
    bool wants_word = false;
    pods.wait_until("the lead says who is silent, or drops it", [&] {
      if (!pods.running(members[0].uid)) return true;
      const auto view = pods.find_membership();
      if (!view) return false;
      wants_word = std::ranges::find(view->silent, member.uid) != view->silent.end();
      return wants_word || !view->membership.find(member.uid);
    });
    if (wants_word) pods.say_lost({member.uid});
  }
  void wait_until_dropped() {
    pods.wait_until("the silent pod is dropped",
                    [&] { return pods.membership().membership.members.size() == members.size(); });
  }
  void let_them_end() { std::ofstream(folder + "/result.end") << "\n"; }
  void expect_end() {
    for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << m.name;
  }
  void TearDown() override {
    for (const pid_t pid : silent) kill(pid, SIGKILL);
    TasksOnPods::TearDown();
  }
  std::vector<pid_t> silent;
};

TEST_F(APodIsLostInSilence, BeforeTheOthersFinalize) {
  finish_the_phases();
  give_up(silence(members[2]));
  wait_until_dropped();
  let_them_end();
  expect_end();
}

// Said to MPI, which hears nothing of it on its connections.
TEST_F(APodIsLostInSilence, AndMessagesFromItAreAnError) {
  finish_the_phases("2");
  const Member silent = silence(members[2]);
  let_them_end();
  give_up(silent);
  expect_end();
  wait_for_files("both others got an error", "result.refused.", 2);
}

TEST_F(APodIsLostInSilence, WhileTheOthersFinalize) {
  finish_the_phases();
  const Member silent = silence(members[1]);
  let_them_end();
  give_up(silent);
  expect_end();
}

// A joiner that dies is nothing to the others, before and after it is one of the workers.
TEST_F(TasksOnPods, AKilledJoiner) {
  start(2, 1, {"phases", "1", "tasks", "20000"}, "4000");
  const auto joiner = pods.launch(1);
  const std::string id = pods.request_change({.add = joiner});
  pods.wait_until("the joiner is there", [&] { return !pods.ranks(joiner[0].uid).empty(); });
  kill(pods.ranks(joiner[0].uid)[0], SIGKILL);
  EXPECT_EQ(pods.wait_for_change(id).outcome, empi::ChangeOutcome::RolledBack);
  commit({.add = pods.launch(1)});
  expect_good_end();
}

// It would crash wherever it is done.
TEST_F(TasksOnPods, ATaskThatCrashesFailsTheJobWithItsLastLines) {
  start(3, 1, {"phases", "1", "tasks", "20000", "crash", "500"}, "1000");
  for (const Member& m : members) EXPECT_NE(pods.wait_for_end(m.uid), 0);
  const std::string end = pods.termination_log(members[0].uid);
  EXPECT_NE(end.find("was killed by signal 6"), std::string::npos) << end;
  EXPECT_NE(end.find("task 500 does not work"), std::string::npos) << end;
}

// The rank with the queue is killed; then the pod of the one that has taken it over.
TEST_F(TasksOnPods, TheLossOfAQueueThatIsMirroredCostsTasksInHand) {
  pods.environment[empi::names::kPartitionSeconds] = "4";
  start(3, 1, {"phases", "2", "tasks", "20000"}, "4000");
  wait_for_mirror(0);
  kill(pods.ranks(members[0].uid)[0], SIGKILL);
  const std::size_t next = wait_for_keeper();
  commit({.add = pods.launch(1)});
  wait_for_mirror(next);
  kill_pod(members[next]);
  expect_dropped(members[next]);
  expect_good_end();
}

// It has the queue, too. The next lead is named, and goes on with changes; then the same again.
TEST_F(TasksOnPods, TheLossOfTheLeadsPodCostsTasksInHand) {
  start(3, 1, {"phases", "2", "tasks", "20000"}, "4000");
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    pods.wait_until("the queue is mirrored, whoever keeps it", [&] { return is_mirrored(); });
    const Member lost = members[0];
    pods.wait_until("the others know who keeps the queue", [&] {
      return std::ranges::all_of(members, [&](const Member& m) { return survives_lead_loss(m); });
    });
    kill_pod(lost);
    expect_dropped(lost);
    commit({.add = pods.launch(1)});
  }
  expect_good_end();
}

// In each round one joins, and the one with the queue is killed at some moment of that.
TEST_F(TasksOnPods, QueuesAreLostAtRandomTimesOfChanges) {
  start(3, 1, {"phases", "1", "tasks", "60000"}, "4000");
  std::mt19937 random(7);
  wait_for_mirror(0);
  kill(pods.ranks(members[0].uid)[0], SIGKILL);  // from here on the queue is not in the lead's pod
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const std::size_t keeper = wait_for_keeper();
    const Member victim = members[keeper];
    wait_for_mirror(keeper);
    const std::vector<Member> joiner = pods.launch(1);
    const std::string id = pods.request_change({.add = joiner});
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 500));
    kill(pods.ranks(victim.uid)[0], SIGKILL);
    const bool joined = pods.wait_for_change(id).outcome == empi::ChangeOutcome::Committed;
    if (joined) members.push_back(joiner[0]);
    expect_dropped(victim);
    if (joined) continue;
    // Of two rounds without a joiner one would be left, whose queue nobody mirrors.
    members.push_back(pods.launch(1)[0]);
    const empi::ChangeStatus instead = pods.change({.add = {members.back()}});
    EXPECT_EQ(instead.outcome, empi::ChangeOutcome::Committed) << pods.all_logs();
  }
  expect_good_end();
}

// On one pod nobody mirrors it.
TEST_F(TasksOnPods, TheLossOfTheQueueFailsTheJobAndSaysSo) {
  start(1, 2, {"phases", "2", "tasks", "20000"}, "4000");
  wait_until_all_work(2);
  const auto ranks = pods.ranks(members[0].uid);
  kill(*std::ranges::min_element(ranks), SIGKILL);
  for (const Member& m : members) EXPECT_NE(pods.wait_for_end(m.uid), 0);
  const std::string end = pods.termination_log(members[0].uid);
  EXPECT_NE(end.find("rank 0 (pod pod-0) was killed by signal 9"), std::string::npos) << end;
}

}  // namespace
}  // namespace elastic
