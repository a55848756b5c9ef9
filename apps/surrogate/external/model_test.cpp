// SPDX-License-Identifier: Apache-2.0
// Promise: whatever a program of the user's does, a forward run ends with its outputs to the bit or with one
// line that says why not, and nothing that was started is left.
#include "apps/surrogate/external/model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "apps/io/file_error.hpp"
#include "apps/io/test_files.hpp"
#include "apps/surrogate/app/testing/run_through.hpp"
#include "apps/surrogate/external/problem_file.hpp"
#include "runtime/base/testing/places.hpp"

namespace surrogate {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::vector<double> kThree = {0.1, 1.0 / 3, -2.5e-300};

class Models : public testing::Test {
 protected:
  std::vector<double> run(const External& external, std::size_t outputs = 3,
                          const std::vector<double>& parameters = kThree) {
    std::vector<double> y(outputs, -1);
    make_model(external)(parameters, y);
    return y;
  }
  std::string refusal(const External& external, std::size_t outputs = 3) {
    return io::test::file_error_of([&] { run(external, outputs); });
  }
  // A shell script that is run for each forward run.
  External command(const std::string& script, ModelOptions options = {}) {
    return {Command{{"sh", folder.write("script", script)}}, options};
  }
  External python(const std::string& text, ModelOptions options = {}) {
    return {PythonFunction{folder.write("model.py", text), "f"}, options};
  }
  External umbridge(const std::string& trouble, ModelOptions options = {}) {
    return {UmBridge{.address = "",
                     .words = {"python3",
                               empi::testing::of_checkout("apps/surrogate/external/testing/umbridge_stub.py"),
                               trouble, folder.path("once")},
                     .name = "forward",
                     .configuration = R"({"more": 0.25})",
                     .start_seconds = 60},
            options};
  }
  std::string content(const std::string& name) {
    std::ifstream in(folder.path(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string path(const std::string& name) const { return folder.path(name); }

  const io::test::ScratchFolder folder;
};

TEST_F(Models, ACommandGetsEachBitAndGivesEachBack) {
  EXPECT_EQ(run(command("cat parameters.txt >outputs.txt")), kThree);
}

TEST_F(Models, ACommandIsNoRankAndLeavesNothing) {
  setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  setenv("PMIX_RANK", "1", 1);
  setenv("EMPI_NOT_FOR_IT", "1", 1);
  run(command("env >" + path("seen") + "; pwd >" + path("where") + "; cp parameters.txt outputs.txt"));
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "EMPI_NOT_FOR_IT"}) unsetenv(name);
  EXPECT_THAT(content("seen"), AllOf(HasSubstr("PATH="), Not(HasSubstr("OMPI_")), Not(HasSubstr("PMIX_")),
                                     Not(HasSubstr("EMPI_"))));
  std::string where = content("where");
  ASSERT_FALSE(where.empty());
  where.pop_back();
  EXPECT_FALSE(std::filesystem::exists(where)) << where;
}

TEST_F(Models, ACommandThatFailsIsTriedAgain) {
  EXPECT_EQ(run(command("[ -e " + path("once") + " ] || { touch " + path("once") +
                        "; exit 3; }; cp parameters.txt outputs.txt")),
            kThree);
  EXPECT_THAT(refusal(command("exit 3", {.attempts = 2})),
              AllOf(HasSubstr("forward model: a run with (0.1"),
                    HasSubstr("failed 2 times, at last: sh: exit status 3")));
  EXPECT_THAT(refusal(command("kill -SEGV $$", {.attempts = 1})), HasSubstr("signal 11"));
}

std::vector<pid_t> pids_in(const std::string& file) {
  std::ifstream in(file);
  return {std::istream_iterator<pid_t>(in), {}};
}

// A process that was killed takes a moment to die, and whoever adopts an orphan to bury it.
void expect_end_of(pid_t pid) {
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);;) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string all;
    std::getline(stat, all);  // nothing where it ends meanwhile; an istreambuf_iterator would throw
    if (all.empty() || all.find(") Z ") != std::string::npos) return;
    if (std::chrono::steady_clock::now() > end) return ADD_FAILURE() << "after a minute: " << all;
    std::this_thread::yield();
  }
}

TEST_F(Models, ACommandThatHangsIsEndedWithAllThatItStarted) {
  std::vector<pid_t> pids;
  // A busy machine may not have begun the command by then: more time, until it has.
  for (double timeout = 0.3; pids.size() < 2 && timeout < 100; timeout *= 4) {
    EXPECT_THAT(
        refusal(command("echo $$ >" + path("pids") + "; sleep 1000 & echo $! >>" + path("pids") + "; wait",
                        {.timeout_seconds = timeout, .attempts = 1})),
        HasSubstr("no end in time"));
    pids = pids_in(path("pids"));
    for (const pid_t pid : pids) expect_end_of(pid);
  }
  EXPECT_EQ(pids.size(), 2u);
}

// Red: it waits for the timeout, a minute.
TEST_F(Models, ACommandIsOverWhenItsProgramIs) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(run(command("sleep 1000 & echo $! >" + path("pids") + "; cp parameters.txt outputs.txt",
                        {.timeout_seconds = 60, .attempts = 1})),
            kThree);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40))
      << "it waited for the sleeper";
  const std::vector<pid_t> pids = pids_in(path("pids"));
  ASSERT_EQ(pids.size(), 1u);
  expect_end_of(pids[0]);
}

// More than a pipe holds, and one line of more than a line may have.
TEST_F(Models, ACommandMayPrintWhatItLikes) {
  EXPECT_EQ(run(command("head -c 80000000 /dev/zero; cp parameters.txt outputs.txt",
                        {.timeout_seconds = 60, .attempts = 1})),
            kThree);
}

TEST_F(Models, ACommandsOutputsAreReadCarefully) {
  const ModelOptions once{.attempts = 1};
  EXPECT_THAT(refusal(command("true", once)), HasSubstr("outputs.txt"));
  EXPECT_THAT(refusal(command("echo 1 2 >outputs.txt", once)), HasSubstr("output 3"));
  EXPECT_THAT(refusal(command("echo 1 2 nan >outputs.txt", once)),
              AllOf(HasSubstr("output 3"), HasSubstr("'nan'")));
  EXPECT_THAT(refusal(command("echo 1 2 3 4 >outputs.txt")),
              HasSubstr("more than the 3 outputs that the problem file says"));
  EXPECT_THAT(refusal({Command{{"/no/such/program"}}, once}),
              HasSubstr("cannot start /no/such/program: No such file"));
}

TEST_F(Models, APythonFunctionGetsEachBitAndMayPrint) {
  EXPECT_EQ(run(python("import sys\ndef f(p):\n  print('now')\n  return [p[0], p[1], p[2]]\n")), kThree);
}

TEST_F(Models, APythonFunctionThatRaisesIsNamed) {
  const ModelOptions once{.attempts = 1};
  EXPECT_THAT(refusal(python("def f(p):\n  raise ValueError('not today')\n", once)),
              AllOf(HasSubstr("model.py:f"), HasSubstr("ValueError: not today")));
  EXPECT_THAT(refusal(python("def f(p):\n  return [1, 2, float('nan')]\n", once)),
              HasSubstr("output 3 is not finite"));
  EXPECT_THAT(refusal(python("def f(p):\n  return [1, 2]\n")),
              HasSubstr("gives 2 outputs, and the problem file says 3"));
  EXPECT_THAT(refusal(python("def g(p):\n  pass\n", once)), HasSubstr("has ended, see above: exit status 1"));
  EXPECT_THAT(refusal(python("import time\ndef f(p):\n  time.sleep(1000)\n",
                             {.timeout_seconds = 0.3, .attempts = 1})),
              HasSubstr("has not answered in time"));
}

TEST_F(Models, APythonProcessThatDiesIsStartedAnew) {
  EXPECT_EQ(run(python("import os\ndef f(p):\n  if not os.path.exists('" + path("once") + "'):\n    open('" +
                       path("once") + "', 'w').close()\n    os._exit(1)\n  return p\n")),
            kThree);
}

TEST_F(Models, AnUmBridgeServerIsStartedAndAsked) {
  EXPECT_THAT(run(umbridge("none"), 3, {1, 2, 3}), ElementsAre(3, 2, 3.25));
}

TEST_F(Models, AnUmBridgeServerThatDiesInARunIsStartedAnew) {
  EXPECT_THAT(run(umbridge("dies"), 3, {1, 2, 3}), ElementsAre(3, 2, 3.25));
}

TEST_F(Models, WhatAnUmBridgeServerRefusesIsSaid) {
  const ModelOptions once{.attempts = 1};
  EXPECT_THAT(refusal(umbridge("refuses", once)),
              HasSubstr("/Evaluate: status 400, InvalidInput: not today"));
  EXPECT_THAT(refusal(umbridge("garbage", once)), HasSubstr("/Evaluate: status 200"));
  EXPECT_THAT(refusal(umbridge("hangs", {.timeout_seconds = 2, .attempts = 1})), HasSubstr("/Evaluate"));
  EXPECT_THAT(refusal(umbridge("sizes")),
              HasSubstr("the model 'forward' has 5 parameters, and the problem file 3"));
  EXPECT_THAT(refusal(umbridge("version")), HasSubstr("protocol version 2.0, not 1.0"));
  EXPECT_THAT(refusal({UmBridge{.address = "http://127.0.0.1:1", .start_seconds = 0.1}, once}),
              HasSubstr("there is no UM-Bridge server at http://127.0.0.1:1"));
  EXPECT_THAT(refusal({UmBridge{.address = "", .words = {"false"}}, once}),
              HasSubstr("false has ended before it listened"));
}

// Promise: whoever keeps runs of one model (a journal, a surrogate, a checkpoint) never takes another's for
// them.
TEST(Identity, IsOfAllThatAnOutputMayDependOn) {
  const UmBridge coarse{.address = "http://coarse:4242"};
  const std::string one = identity({coarse, {}});
  EXPECT_EQ(identity({coarse, {.timeout_seconds = 1, .attempts = 7}}), one);
  EXPECT_NE(identity({UmBridge{.address = "http://fine:4242"}, {}}), one);
  EXPECT_NE(identity({UmBridge{.address = coarse.address, .name = "other"}, {}}), one);
  EXPECT_NE(identity({UmBridge{.address = coarse.address, .configuration = R"({"level": 1})"}, {}}), one);
  const External started{UmBridge{.words = {"server"}}, {}};
  EXPECT_NE(identity(started), one);
  EXPECT_NE(identity({UmBridge{.words = {"server", "fine"}}, {}}), identity(started));
}

// The same inverse problem, its forward model once here and once in Python: the same bits.
TEST_F(Models, AProgramOfItsOwnIsAsGoodAsAFunction) {
  const auto solve = [](Problem problem) {
    Settings settings;
    settings.reference_points = 20;
    settings.most_points = 60;
    settings.ensembles = 2;
    settings.samples = 100;
    Inversion inversion(std::move(problem), settings);
    test::run_through(inversion);
    return inversion.fingerprint();
  };
  ExternalProblem theirs = read_problem(empi::testing::of_checkout("apps/surrogate/example/oscillator.yaml"));
  Problem ours = theirs.problem;
  theirs.problem.model = make_model(theirs.external);
  ours.model = [](std::span<const double> p, std::span<double> y) {
    for (std::size_t k = 0; k < y.size(); ++k) {
      const double t = 0.25 * static_cast<double>(k + 1);
      y[k] = p[0] * std::exp(-p[2] * t) * std::cos(p[1] * t);
    }
  };
  EXPECT_EQ(solve(theirs.problem), solve(ours));
}

}  // namespace
}  // namespace surrogate
