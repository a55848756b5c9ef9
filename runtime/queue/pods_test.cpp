// SPDX-License-Identifier: Apache-2.0
// elastic::MasterWorker on agents and real processes. Promise: the results are those of one process alone,
// bit for bit.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/names.hpp"

namespace elastic {
namespace {

using empi::Member;
using empi::testing::LocalPods;
namespace fs = std::filesystem;

std::string program() { return fs::read_symlink("/proc/self/exe").parent_path() / "tasks_program"; }

class TasksOnPods : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/elastic-tasks.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override {
    if (HasFailure()) std::printf("%s\n", pods.all_logs().c_str());
    fs::remove_all(folder);
  }

  static std::string read(const std::string& file) {
    std::string line;
    std::ifstream in(file);
    std::getline(in, line);
    return line;
  }
  // The fingerprint of the results without agents and without other ranks.
  std::string alone() const {
    std::string command = program() + " " + folder + "/alone";
    for (const std::string& s : settings) command += " " + s;
    if (std::system((command + " micros 0 > " + folder + "/alone.log 2>&1").c_str()) != 0)
      throw std::runtime_error(command + " failed: " + read(folder + "/alone.log"));
    return read(folder + "/alone");
  }
  void start(int count, int slots, const std::vector<std::string>& settings, const std::string& micros) {
    this->settings = settings;
    pods.slots = slots;
    pods.command = {program(), folder + "/result"};
    pods.command.insert(pods.command.end(), settings.begin(), settings.end());
    pods.command.insert(pods.command.end(), {"micros", micros});
    members = pods.launch(count);
    pods.start(members);
  }
  // The start of MPI is past: what is promised of losses holds from here on.
  void wait_until_all_work(int ranks) { wait_for_files("all ranks do tasks", "result.begun.", ranks); }
  // What the lead said last of the queue.
  std::string last_word_of_queue() {
    const std::string logs = pods.log(members[0].uid);
    const std::size_t at = logs.rfind(" keeps the queue of tasks, ");
    if (at == std::string::npos) return "";
    const std::size_t begin = logs.rfind('\n', at) + 1;
    return logs.substr(begin, logs.find('\n', at) - begin);
  }
  bool keeps_queue(std::size_t i) {
    const std::string word = last_word_of_queue();
    const std::size_t pod = word.find("(pod " + members[i].name + ")");
    return pod < word.find(" keeps the queue");
  }
  std::size_t wait_for_keeper() {
    std::size_t keeper = 0;
    pods.wait_until("another rank keeps the queue", [&] {
      for (keeper = 1; keeper < members.size(); ++keeper)
        if (keeps_queue(keeper)) return true;
      return false;
    });
    return keeper;
  }
  bool is_mirrored() {
    const std::string word = last_word_of_queue();
    return !word.empty() && word.find("nobody mirrors it") == std::string::npos;
  }
  void wait_for_mirror(std::size_t keeper) {
    pods.wait_until("the queue is mirrored", [&] { return keeps_queue(keeper) && is_mirrored(); });
  }
  bool survives_lead_loss(const Member& member) {
    const auto answer = pods.call("GET", member, empi::paths::kMembership);
    return answer.status == 200 &&
           nlohmann::json::parse(answer.body).get<empi::MembershipView>().survives_lead_loss;
  }
  void wait_for_files(const std::string& what, const std::string& prefix, int number) {
    pods.wait_until(what, [&] {
      int found = 0;
      for (const auto& entry : fs::directory_iterator(folder))
        if (entry.path().filename().string().starts_with(prefix)) ++found;
      return found >= number;
    });
  }
  void commit(const empi::testing::WantedChange& wanted) {
    const empi::ChangeStatus status = pods.change(wanted);
    if (status.outcome != empi::ChangeOutcome::Committed)
      throw std::runtime_error("change " + std::string(to_string(status.outcome)) + ": " + status.reason +
                               "\n" + pods.all_logs());
    std::erase_if(members, [&](const Member& m) {
      return std::ranges::find(wanted.remove, m.uid) != wanted.remove.end();
    });
    members.insert(members.end(), wanted.add.begin(), wanted.add.end());
    EXPECT_TRUE(
        std::ranges::equal(pods.membership().membership.members, members, {}, &Member::uid, &Member::uid));
  }
  // The agent, and its ranks with it. Who follows the pods says so.
  void kill_pod(const Member& member) {
    pods.signal(member.uid, SIGKILL);
    pods.say_lost({member.uid});
  }
  // The job goes on without a pod that has lost a rank.
  void expect_dropped(const Member lost) {
    std::erase_if(members, [&](const Member& m) { return m.uid == lost.uid; });
    pods.wait_until(lost.name + " is dropped",
                    [&] { return pods.membership().membership.members.size() == members.size(); });
    EXPECT_NE(pods.wait_for_end(lost.uid), 0);
    EXPECT_EQ(pods.membership().outcome.result, empi::JobResult::Running);
  }
  void expect_good_end() {
    std::ofstream(folder + "/result.hurry") << "\n";
    for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << m.name;
    EXPECT_EQ(read(folder + "/result"), alone());
  }

  LocalPods pods;
  std::string folder;
  std::vector<std::string> settings;
  std::vector<Member> members;
};

TEST_F(TasksOnPods, FixedSize) {
  start(2, 2, {"phases", "3", "tasks", "300"}, "300");
  expect_good_end();
}

TEST_F(TasksOnPods, TheControllerSeesTheQueue) {
  pods.environment[empi::names::kWindowMillis] = "100";
  start(2, 1, {"phases", "1", "tasks", "20000"}, "4000");
  std::optional<empi::WindowSample> seen;
  pods.wait_until("a window shows the queue", [&] {
    for (const empi::WindowSample& window : pods.samples())
      if (window.master_worker() && window.ranks == 2 && window.tasks.ended > 4) seen = window;
    return seen.has_value();
  });
  const empi::TaskQueue& queue = seen->tasks.queue;
  EXPECT_EQ(queue.phase, 1u);
  EXPECT_EQ(queue.total, 20000u);
  EXPECT_LT(queue.done + queue.queued, queue.total) << "some are in work";
  EXPECT_GT(queue.queued, 10000u);
  EXPECT_GT(seen->tasks.task_s / static_cast<double>(seen->tasks.ended), 0.0008) << "sleeps 0.8 to 8 ms";
  EXPECT_TRUE(empi::task_efficiency(*seen).known);
  expect_good_end();
}

TEST_F(TasksOnPods, GrowsAndShrinksWithinAPhase) {
  start(2, 2, {"phases", "2", "tasks", "20000"}, "4000");
  commit({.add = pods.launch(1)});
  commit({.remove = {members[1].uid}});
  commit({.add = pods.launch(1), .remove = {members[1].uid}});
  expect_good_end();
}

TEST_F(TasksOnPods, TheQueueIsHandedOverWhenRankZeroLeaves) {
  start(3, 1, {"phases", "2", "tasks", "20000"}, "4000");
  commit({.remove = {members[0].uid}});
  commit({.add = pods.launch(2), .remove = {members[0].uid}});
  commit({.remove = {members[0].uid, members[1].uid}});
  expect_good_end();
}

// Pods come and go, rank 0 and the lead like any other, in one phase.
TEST_F(TasksOnPods, AHundredRandomJoinsAndLeaves) {
  start(2, 1, {"phases", "1", "tasks", "60000"},
        "40000");  // minutes, unless hurried: a busy machine is slow to start pods
  std::mt19937 random(1);
  for (int joined_or_left = 0; joined_or_left < 100;) {
    empi::testing::WantedChange wanted;
    std::vector<Member> old = members;
    std::ranges::shuffle(old, random);
    const std::size_t most = members.size() < 3 ? members.size() - 1 : 2;
    for (std::size_t i = 0; i < random() % (most + 1); ++i) wanted.remove.push_back(old[i].uid);
    const std::size_t stay = members.size() - wanted.remove.size();
    if (stay < 5) wanted.add = pods.launch(static_cast<int>(random() % std::min<std::size_t>(3, 6 - stay)));
    joined_or_left += static_cast<int>(wanted.add.size() + wanted.remove.size());
    if (!wanted.add.empty() || !wanted.remove.empty()) commit(wanted);
  }
  EXPECT_FALSE(fs::exists(folder + "/result")) << "too few tasks for so many changes";
  expect_good_end();
}

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

// Sizes of the worlds after the phases so far.
std::vector<int> worlds(const std::string& folder) {
  std::vector<int> sizes;
  std::ifstream in(folder + "/result.worlds");
  for (int size = 0; in >> size;) sizes.push_back(size);
  return sizes;
}

// The program itself checks after every phase that the world is what it should be, and that it works.
TEST_F(TasksOnPods, TheWorldIsRebuiltAtTheEndOfAPhase) {
  start(2, 2, {"phases", "40", "tasks", "400", "world", "1"}, "4000");
  const auto wait_for_world_of = [&](int ranks) {
    pods.wait_until("a world of " + std::to_string(ranks), [&] {
      const auto sizes = worlds(folder);
      return !sizes.empty() && sizes.back() == ranks;
    });
  };
  wait_for_world_of(4);
  commit({.add = pods.launch(2)});
  wait_for_world_of(8);
  commit({.remove = {members[1].uid, members[2].uid}});
  wait_for_world_of(4);
  commit({.add = pods.launch(1), .remove = {members[0].uid}});  // the queue and rank 0 go
  commit({.add = pods.launch(1)});
  wait_for_world_of(6);
  EXPECT_LT(worlds(folder).size(), 40u) << "too few phases for so many changes";
  expect_good_end();
  EXPECT_EQ(worlds(folder).size(), 40u);
}

// Pods come and go at any moment of the phases, while worlds are built too.
TEST_F(TasksOnPods, WorldsWhilePodsComeAndGo) {
  start(2, 1, {"phases", "400", "tasks", "60", "world", "1"}, "4000");
  std::mt19937 random(3);
  for (int change = 0; change < 12; ++change) {
    empi::testing::WantedChange wanted;
    std::vector<Member> old = members;
    std::ranges::shuffle(old, random);
    if (members.size() > 1 && random() % 2 == 0) wanted.remove = {old[0].uid};
    if (members.size() < 5 || wanted.remove.empty())
      wanted.add = pods.launch(1 + static_cast<int>(random() % 2));
    if (members.size() + wanted.add.size() - wanted.remove.size() <= 6) commit(wanted);
  }
  EXPECT_FALSE(fs::exists(folder + "/result")) << "too few phases for so many changes";
  expect_good_end();
  EXPECT_EQ(worlds(folder).size(), 400u);
}

// Killed in a phase: the world is that of those who are left.
TEST_F(TasksOnPods, TheWorldIsRebuiltWithoutTheDead) {
  start(4, 1, {"phases", "3", "tasks", "20000", "world", "1"}, "4000");
  wait_until_all_work(4);
  commit({.add = pods.launch(1)});
  for (const std::size_t victim : {4, 2}) {
    kill(pods.ranks(members[victim].uid)[0], SIGKILL);
    expect_dropped(members[victim]);
  }
  expect_good_end();
  EXPECT_EQ(worlds(folder), (std::vector<int>{3, 3, 3}));
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
  // Nobody is dropped for mere silence: the lead says who is silent, and who follows the pods that he is
  // lost.
  void give_up(const Member& member) {
    pods.wait_until("the lead says who is silent", [&] {
      const auto silent = pods.membership().silent;
      return std::ranges::find(silent, member.uid) != silent.end();
    });
    pods.say_lost({member.uid});
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
    const empi::testing::WantedChange wanted{.add = pods.launch(1)};
    const std::string id = pods.request_change(wanted);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 500));
    kill(pods.ranks(victim.uid)[0], SIGKILL);
    const empi::ChangeStatus status = pods.wait_for_change(id);
    if (status.outcome == empi::ChangeOutcome::Committed)
      members.insert(members.end(), wanted.add.begin(), wanted.add.end());
    expect_dropped(victim);
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
