// SPDX-License-Identifier: Apache-2.0
// Promise: workers that join and leave while empi-surrogate runs, are killed in the middle of a phase, and
// the one with the queue that leaves, do not change a bit of its surrogate and of its samples; nor does the
// loss of all of them, when the program goes on from a checkpoint. A model that is a program of its own comes
// and goes with its rank. (app/elastic_test.cpp: a hundred of them in a phase, without processes.)
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "apps/io/test_files.hpp"
#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/protocol/names.hpp"

namespace {

using empi::Member;
using empi::testing::LocalPods;
namespace fs = std::filesystem;

std::string program() { return empi::testing::beside("empi-surrogate"); }

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
  // Slow cores, so that a phase lasts as long as the changes below; few of everything else.
  pods.environment[empi::names::kSlowdown] = "20";
  const std::vector<std::string> arguments{"--cells",   "20",  "--reference-points", "300", "--level",   "2",
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
  pods.environment.erase(empi::names::kSlowdown);  // who comes now does the rest
  const std::vector<Member> third = pods.launch(2);
  ASSERT_EQ(pods.change({.add = third}).outcome, empi::ChangeOutcome::Committed);
  for (const Member& m : {first[1], first[2], third[0], third[1]})
    EXPECT_EQ(pods.wait_for_end(m.uid), 0) << pods.all_logs();
  EXPECT_EQ(fingerprint(folder / "resized"), fingerprint(folder / "alone"));
}

// A model of somebody's, by each of the doors to it. While there is a file `hold` its runs are slow, and of
// each process that it starts there is a line in `started`: its id, and that of the rank.
struct Door {
  const char* name;
  const char* model;
};

class AModelOfOnesOwn : public SurrogateOnPods, public testing::WithParamInterface<Door> {
 protected:
  void write(const std::string& name, std::string text) {
    const std::string here = folder.parent_path();
    for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; at += here.size())
      text.replace(at, 1, here);
    std::ofstream(folder / name) << text;
  }
  // Those that live: who was killed may wait for whoever buries it.
  std::vector<pid_t> processes(pid_t of_rank = 0) const {
    std::vector<pid_t> living;
    std::ifstream lines(folder / "started");
    for (pid_t pid = 0, rank = 0; lines >> pid >> rank;) {
      std::stringstream stat;
      stat << std::ifstream("/proc/" + std::to_string(pid) + "/stat").rdbuf();
      const bool lives = !stat.str().empty() && stat.str().find(") Z ") == std::string::npos;
      if (lives && (of_rank == 0 || of_rank == rank)) living.push_back(pid);
    }
    return living;
  }
};

TEST_P(AModelOfOnesOwn, GoesWithItsWorkers) {
  write("model.py",
        "import os, time\n"
        "with open('@/started', 'a') as file: file.write(f'{os.getpid()} {os.getppid()}\\n')\n"
        "def f(p):\n"
        "    if os.path.exists('@/hold'): time.sleep(.2)\n"
        "    return [p[0] + p[1], p[0] * p[1], p[2]]\n");
  write("run.sh",
        "echo $$ $PPID >>@/started\n"
        "if [ -e @/hold ]; then sleep .2; fi\n"
        "cp parameters.txt outputs.txt\n");
  write("server.sh", "echo $$ $PPID >>@/started\nexec python3 " +
                         empi::testing::of_checkout("apps/surrogate/external/testing/umbridge_stub.py") +
                         " slow @/hold\n");
  write("problem.yaml",
        "parameters: [{name: a, low: 0, high: 1}, {name: b, low: 1, high: 2}, {name: c, low: 0, high: 1}]\n"
        "outputs: 3\ntruth: [0.25, 1.5, 0.5]\nmodel: " +
            std::string(GetParam().model) + "\n");
  std::vector<std::string> arguments{"--problem",
                                     folder / "problem.yaml",
                                     "--reference-points",
                                     "200",
                                     "--level",
                                     "2",
                                     "--most-points",
                                     "20",
                                     "--samples",
                                     "64"};
  run_alone(arguments);
  write("hold", "");
  arguments.insert(arguments.end(), {"--journal", folder / "runs"});
  set_up(arguments);
  const std::vector<Member> first = pods.launch(2);
  pods.start(first);
  const std::vector<Member> second = pods.launch(2);
  const auto grown = pods.change({.add = second});
  ASSERT_EQ(grown.outcome, empi::ChangeOutcome::Committed) << grown.reason;
  const pid_t lost = pods.ranks(second[0].uid).at(0), leaving = pods.ranks(second[1].uid).at(0);
  for (const pid_t rank : {lost, leaving})
    pods.wait_until("a rank that has joined runs the model", [&] { return !processes(rank).empty(); });
  pods.signal(second[0].uid, SIGKILL);
  pods.say_lost({second[0].uid});
  expect_members(3);
  const auto shrunk = pods.change({.remove = {second[1].uid}});
  ASSERT_EQ(shrunk.outcome, empi::ChangeOutcome::Committed) << shrunk.reason;
  for (const pid_t rank : {lost, leaving})
    pods.wait_until("what a rank has started ends with it", [&] { return processes(rank).empty(); });
  EXPECT_FALSE(fs::exists(folder / "resized/phases.csv")) << "the first phase was over before all that";
  fs::remove(folder / "hold");
  for (const Member& m : first) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << pods.all_logs();
  EXPECT_EQ(fingerprint(folder / "resized"), fingerprint(folder / "alone"));
  pods.wait_until("nothing that was started is left", [&] { return processes().empty(); });
}

INSTANTIATE_TEST_SUITE_P(ByEachDoor, AModelOfOnesOwn,
                         testing::Values(Door{"python", "{python: 'model.py:f'}"},
                                         Door{"command", "{command: [sh, '{here}/run.sh']}"},
                                         Door{"umbridge", "{umbridge: {command: [sh, '{here}/server.sh']}}"}),
                         [](const auto& info) { return std::string(info.param.name); });

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
