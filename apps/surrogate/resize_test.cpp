// SPDX-License-Identifier: Apache-2.0
// Promise: workers that join and leave while empi-surrogate runs, are killed in the middle of a phase, and
// the one with the queue that leaves, do not change a bit of its surrogate and of its samples; nor does the
// loss of all of them, when the program goes on from a checkpoint.
// (app/elastic_test.cpp: a hundred of them in a phase, without processes.)
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "apps/io/test_files.hpp"
#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/protocol/names.hpp"

namespace {

using empi::Member;
using empi::testing::LocalPods;
namespace fs = std::filesystem;

std::string program() { return fs::read_symlink("/proc/self/exe").parent_path() / "empi-surrogate"; }

std::string fingerprint(const fs::path& folder) {
  std::stringstream text;
  text << std::ifstream(folder / "surrogate.json").rdbuf();
  const auto begin = text.str().find("\"fingerprint\"");
  if (begin == std::string::npos)
    throw std::runtime_error("empi-surrogate left no result in " + folder.string());
  return text.str().substr(begin, 34);
}

class SurrogateOnPods : public testing::Test {
 protected:
  // In one process, in the folder `alone`.
  void run_alone(const std::vector<std::string>& arguments) {
    std::string line = program() + " --out " + (folder / "alone").string();
    for (const auto& a : arguments) line += " " + a;
    line += " >/dev/null";
    ASSERT_EQ(std::system(line.c_str()), 0);
  }
  void set_up(const std::vector<std::string>& arguments) {
    pods.slots = 1;
    pods.environment[empi::names::kPartitionSeconds] =
        "3";  // an agent that was killed is missed after so long
    pods.command = {program(), "--out", folder / "resized"};
    pods.command.insert(pods.command.end(), arguments.begin(), arguments.end());
  }
  void expect_members(std::size_t count) {
    pods.wait_until("the lost pod is dropped",
                    [&] { return pods.membership().membership.members.size() == count; });
  }

  const io::test::ScratchFolder scratch;
  const fs::path folder = scratch.path("");
  LocalPods pods;
};

TEST_F(SurrogateOnPods, WhoComputesDoesNotChangeABit) {
  // Fine cells, so that a phase lasts as long as the changes below; few of everything else.
  const std::vector<std::string> arguments{"--cells",   "40",  "--reference-points", "300", "--level",   "2",
                                           "--growth",  "1.2", "--most-points",      "40",  "--samples", "64",
                                           "--burn-in", "600", "--segment",          "300"};
  run_alone(arguments);
  set_up(arguments);
  const std::vector<Member> first = pods.launch(3);
  pods.start(first);
  const std::vector<Member> second = pods.launch(2);
  const auto grown = pods.change({.add = second});
  ASSERT_EQ(grown.outcome, empi::ChangeOutcome::Committed) << grown.reason;
  pods.signal(second[0].uid, SIGKILL);  // an agent, and its rank with it
  pods.say_lost({second[0].uid});
  expect_members(4);
  kill(pods.ranks(second[1].uid).at(0), SIGKILL);  // a rank alone
  expect_members(3);
  const auto shrunk = pods.change({.remove = {first[0].uid}});
  ASSERT_EQ(shrunk.outcome, empi::ChangeOutcome::Committed) << shrunk.reason;
  EXPECT_FALSE(fs::exists(folder / "resized/phases.csv")) << "the first phase was over before all that";
  for (const Member& m : {first[1], first[2]}) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << pods.all_logs();
  EXPECT_EQ(fingerprint(folder / "resized"), fingerprint(folder / "alone"));
}

TEST_F(SurrogateOnPods, AModelInPythonGoesWithItsWorkers) {
  std::ofstream(folder / "model.py") << "import os, time\n"
                                        "def f(p):\n"
                                        "    time.sleep(float(os.environ.get('SLOW', 0)))\n"
                                        "    return [p[0] * p[1], p[0] - p[1]]\n";
  std::ofstream(folder / "problem.yaml")
      << "parameters: [{name: a, low: 0, high: 1}, {name: b, low: 1, high: 2}]\n"
         "outputs: 2\nmodel: {python: 'model.py:f'}\ntruth: [0.25, 1.5]\n";
  std::vector<std::string> arguments{"--problem",
                                     folder / "problem.yaml",
                                     "--reference-points",
                                     "250",
                                     "--level",
                                     "2",
                                     "--most-points",
                                     "20",
                                     "--samples",
                                     "64"};
  run_alone(arguments);
  arguments.insert(arguments.end(), {"--journal", folder / "runs"});
  set_up(arguments);
  pods.environment["SLOW"] = "0.05";
  const std::vector<Member> first = pods.launch(2);
  pods.start(first);
  const std::vector<Member> second = pods.launch(1);
  const auto grown = pods.change({.add = second});
  ASSERT_EQ(grown.outcome, empi::ChangeOutcome::Committed) << grown.reason;
  pods.signal(second[0].uid, SIGKILL);
  pods.say_lost({second[0].uid});
  expect_members(2);
  EXPECT_FALSE(fs::exists(folder / "resized/phases.csv")) << "the first phase was over before all that";
  for (const Member& m : first) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << pods.all_logs();
  EXPECT_EQ(fingerprint(folder / "resized"), fingerprint(folder / "alone"));
}

TEST_F(SurrogateOnPods, AKilledRunGoesOnFromACheckpoint) {
  // Many phases, for it is between them that checkpoints are taken.
  const std::vector<std::string> arguments{
      "--cells",       "24",  "--reference-points", "40",  "--level",   "2",   "--growth",  "0.3",
      "--most-points", "120", "--samples",          "640", "--burn-in", "800", "--segment", "100"};
  run_alone(arguments);
  const auto checkpointed = [&](LocalPods& on, int ranks) {
    on.slots = 1;
    on.environment[empi::names::kCheckpointDir] = folder / "checkpoints";
    on.environment[empi::names::kCheckpointSeconds] = "0.01";
    on.command = {program(), "--out", folder / "resized"};
    on.command.insert(on.command.end(), arguments.begin(), arguments.end());
    const std::vector<Member> members = on.launch(ranks);
    on.start(members);
    return members;
  };
  {
    LocalPods first;
    first.environment["EMPI_SLOWDOWN"] = "8";
    const std::vector<Member> members = checkpointed(first, 2);
    first.wait_until("a third checkpoint",
                     [&] { return fs::exists(folder / "checkpoints/empi-surrogate.000003.h5"); });
    for (const Member& m : members) first.signal(m.uid, SIGKILL);
    for (const Member& m : members) first.wait_for_end(m.uid);
  }
  for (const Member& m : checkpointed(pods, 3)) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << pods.all_logs();
  EXPECT_NE(pods.all_logs().find("goes on from"), std::string::npos) << pods.all_logs();
  EXPECT_EQ(fingerprint(folder / "resized"), fingerprint(folder / "alone"));
}

}  // namespace
