// gtest fixture: the program elastic_worker over local pods.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/agent/testing/local_pods.hpp"

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

  static std::string beside(const std::string& name) {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
  }

  std::vector<Member> begin(int count) {
    pods.command = {beside("elastic_worker"), scratch + "/stop"};
    pods.command.insert(pods.command.end(), arguments.begin(), arguments.end());
    std::vector<Member> members = pods.launch(count);
    pods.start(members);
    return members;
  }

  ChangeStatus commit(const WantedChange& wanted) {
    const ChangeStatus s = pods.change(wanted);
    EXPECT_EQ(s.outcome, "committed") << s.reason;
    return s;
  }

  // Lets the program end; `ranks`: how many there must be then.
  void expect_finish(int ranks) {
    const std::vector<Member> members = pods.membership().membership.members;
    std::ofstream(scratch + "/stop") << "now";
    for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << m.name;
    const std::string logs = pods.all_logs();
    EXPECT_NE(logs.find("finished: size " + std::to_string(ranks) + ","), std::string::npos);
    EXPECT_EQ(logs.find("BAD "), std::string::npos);
  }
};

}  // namespace empi::testing
