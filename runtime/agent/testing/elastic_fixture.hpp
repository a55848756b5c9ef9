// SPDX-License-Identifier: Apache-2.0
// gtest fixture: the program elastic_worker over local pods.
#pragma once
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::testing {

inline long resident_kib(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  long pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * 4;
}

inline int descriptors(pid_t pid) {
  std::error_code error;
  int n = 0;
  for (std::filesystem::directory_iterator at("/proc/" + std::to_string(pid) + "/fd", error), end;
       !error && at != end; at.increment(error))
    ++n;
  return n;
}

// By SIGSTOP.
inline bool stands_still(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);  // nothing where it ends meanwhile; an istreambuf_iterator would throw
  const auto end_of_name = text.rfind(") ");
  return end_of_name != text.npos && text[end_of_name + 2] == 'T';
}

class Elastic : public ::testing::Test {
 protected:
  LocalPods pods;
  std::vector<std::string> arguments;  // of the worker
  std::string scratch;                 // folder of this test

  void SetUp() override {
    char name[] = "/tmp/empi-elastic.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    scratch = name;
    pods.environment["EMPI_TEST_FILE"] = scratch + "/file";
  }
  void TearDown() override {
    EXPECT_EQ(pods.sanitizer_reports(), "");
    if (HasFailure()) std::printf("%s\n", pods.all_logs().c_str());
    std::error_code ignored;
    std::filesystem::remove_all(scratch, ignored);
  }

  std::vector<Member> begin(int count) {
    set_command();
    std::vector<Member> members = pods.launch(count);
    pods.start(members);
    return members;
  }

  // A pod for each trap ("": none), in this order.
  std::vector<Member> begin_with(const std::vector<std::string>& traps) {
    set_command();
    std::vector<Member> members;
    for (const std::string& trap : traps) {
      pods.environment["EMPI_TEST_TRAP"] = trap;
      members.push_back(pods.launch(1).front());
    }
    pods.environment.erase("EMPI_TEST_TRAP");
    pods.start(members);
    return members;
  }

  void set_command() {
    pods.command = {beside("elastic_worker"), scratch + "/stop"};
    pods.command.insert(pods.command.end(), arguments.begin(), arguments.end());
  }

  JobOutcome outcome_of(const std::string& uid) {
    return nlohmann::json::parse(pods.termination_log(uid)).get<JobOutcome>();
  }

  // Lets the program end, without waiting for it.
  void stop_program() { std::ofstream(scratch + "/stop") << "now"; }

  // Until all ranks of the pod stand still in a trap of the worker.
  void wait_for_trap(const std::string& uid) {
    pods.wait_until("the ranks of " + uid + " stand still", [&] {
      const std::vector<pid_t> ranks = pods.ranks(uid);
      return !ranks.empty() && std::ranges::all_of(ranks, stands_still);
    });
  }

  // The ranks of the pod that stand still in a trap go on.
  void let_go(const std::string& uid) {
    for (const pid_t rank : pods.ranks(uid)) EXPECT_EQ(kill(rank, SIGCONT), 0);
  }

  ChangeStatus commit(const WantedChange& wanted) {
    const ChangeStatus s = pods.change(wanted);
    EXPECT_EQ(s.outcome, ChangeOutcome::Committed) << s.reason;
    return s;
  }

  // Lets the program end; `ranks`: how many there must be then.
  void expect_finish(int ranks) {
    const std::vector<Member> members = pods.membership().membership.members;
    stop_program();
    for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << m.name;
    const std::string logs = pods.all_logs();
    EXPECT_NE(logs.find("finished: size " + std::to_string(ranks) + ","), std::string::npos);
    EXPECT_EQ(logs.find("BAD "), std::string::npos);
  }
};

}  // namespace empi::testing
