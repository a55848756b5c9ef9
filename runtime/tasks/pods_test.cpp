// elastic::MasterWorker on agents and real processes. Promise: the results are those of one process alone,
// bit for bit.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace elastic
