// elastic::MasterWorker on agents and real processes. Promise: the results are those of one process alone,
// bit for bit.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "runtime/agent/testing/local_pods.hpp"

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
  std::string alone(const std::vector<std::string>& settings) const {
    std::string command = program() + " " + folder + "/alone";
    for (const std::string& s : settings) command += " " + s;
    if (std::system((command + " micros 0 > " + folder + "/alone.log 2>&1").c_str()) != 0)
      throw std::runtime_error(command + " failed: " + read(folder + "/alone.log"));
    return read(folder + "/alone");
  }
  void start(int count, int slots, const std::vector<std::string>& settings, const std::string& micros) {
    pods.slots = slots;
    pods.command = {program(), folder + "/result"};
    pods.command.insert(pods.command.end(), settings.begin(), settings.end());
    pods.command.insert(pods.command.end(), {"micros", micros});
    members = pods.launch(count);
    pods.start(members);
  }
  void commit(const empi::testing::WantedChange& wanted) {
    const empi::ChangeStatus status = pods.change(wanted);
    if (status.outcome != "committed")
      throw std::runtime_error("change " + status.outcome + ": " + status.reason + "\n" + pods.all_logs());
    std::erase_if(members, [&](const Member& m) {
      return std::ranges::find(wanted.remove, m.uid) != wanted.remove.end();
    });
    members.insert(members.end(), wanted.add.begin(), wanted.add.end());
    EXPECT_TRUE(
        std::ranges::equal(pods.membership().membership.members, members, {}, &Member::uid, &Member::uid));
  }
  // The job goes on without a pod that has lost a rank.
  void expect_dropped(const Member& lost) {
    std::erase_if(members, [&](const Member& m) { return m.uid == lost.uid; });
    pods.wait_until(lost.name + " is dropped",
                    [&] { return pods.membership().membership.members.size() == members.size(); });
    EXPECT_NE(pods.wait_for_end(lost.uid), 0);
    EXPECT_EQ(pods.membership().outcome.result, "");
  }
  void expect_good_end(const std::string& expected) {
    for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << m.name;
    EXPECT_EQ(read(folder + "/result"), expected);
  }

  LocalPods pods;
  std::string folder;
  std::vector<Member> members;
};

TEST_F(TasksOnPods, FixedSize) {
  const std::vector<std::string> settings{"phases", "3", "tasks", "300"};
  start(2, 2, settings, "300");
  expect_good_end(alone(settings));
}

TEST_F(TasksOnPods, GrowsAndShrinksWithinAPhase) {
  const std::vector<std::string> settings{"phases", "1", "tasks", "3000"};
  start(2, 2, settings, "4000");
  commit({.add = pods.launch(1)});
  commit({.remove = {members[1].uid}});
  commit({.add = pods.launch(1), .remove = {members[1].uid}});
  expect_good_end(alone(settings));
}

TEST_F(TasksOnPods, TheQueueIsHandedOverWhenRankZeroLeaves) {
  const std::vector<std::string> settings{"phases", "2", "tasks", "1000"};
  start(3, 1, settings, "4000");
  commit({.remove = {members[0].uid}});
  commit({.add = pods.launch(2), .remove = {members[0].uid}});
  commit({.remove = {members[0].uid, members[1].uid}});
  expect_good_end(alone(settings));
}

TEST_F(TasksOnPods, KilledWorkersCostTheirChunk) {
  const std::vector<std::string> settings{"phases", "2", "tasks", "1000"};
  start(4, 2, settings, "4000");
  commit({.add = pods.launch(1)});
  for (const int victim : {4, 1}) {
    const Member lost = members[static_cast<std::size_t>(victim)];
    kill(pods.ranks(lost.uid)[0], SIGKILL);
    expect_dropped(lost);
  }
  const Member lost = members[1];
  pods.signal(lost.uid, SIGKILL);  // the agent, and its ranks with it
  expect_dropped(lost);
  // A rank beside the one with the queue: only its tasks are lost.
  const auto ranks = pods.ranks(members[0].uid);
  kill(*std::ranges::max_element(ranks), SIGKILL);
  commit({.add = pods.launch(1)});
  expect_good_end(alone(settings));
}

TEST_F(TasksOnPods, TheLossOfTheQueueFailsTheJobAndSaysSo) {
  start(2, 1, {"phases", "2", "tasks", "1000"}, "4000");
  pods.wait_until("the program runs", [&] { return pods.ranks(members[0].uid).size() == 1; });
  commit({.add = pods.launch(1)});
  kill(pods.ranks(members[0].uid)[0], SIGKILL);
  for (const Member& m : members) EXPECT_NE(pods.wait_for_end(m.uid), 0);
  EXPECT_NE(pods.termination_log(members[1].uid).find("rank 0 (pod pod-0) was killed by signal 9"),
            std::string::npos)
      << pods.termination_log(members[1].uid);
}

}  // namespace
}  // namespace elastic
