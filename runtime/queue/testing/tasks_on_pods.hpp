// SPDX-License-Identifier: Apache-2.0
// elastic::MasterWorker on agents and real processes (tasks_program). Promise: the results are those of one
// process alone, bit for bit.
#pragma once
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/names.hpp"

namespace elastic::testing {

using empi::Member;
using empi::testing::LocalPods;
namespace fs = std::filesystem;

inline std::string program() { return empi::testing::beside("tasks_program"); }

class TasksOnPods : public ::testing::Test {
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

}  // namespace elastic::testing
