// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/import/mpirun.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emj::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Words = std::vector<std::string>;

TEST(Mpirun, IsTakenApartFromItsProgram) {
  const auto command =
      take_apart({"/usr/bin/mpirun", "--allow-run-as-root", "-np", "4", "-bind-to", "none", "-x", "DEBUG=a=b",
                  "-x", "PATH", "--mca", "btl", "^openib", "-wdir", "/work", "solve", "-n", "100"});
  EXPECT_EQ(command.problem, "");
  EXPECT_THAT(command.program, ElementsAre("solve", "-n", "100"));
  EXPECT_EQ(command.ranks, 4);
  EXPECT_EQ(command.working_directory, "/work");
  EXPECT_THAT(command.variables, ElementsAre(std::pair("DEBUG", "a=b")));
  EXPECT_THAT(command.exported, ElementsAre("PATH"));
  EXPECT_THAT(command.left_out, ElementsAre("--allow-run-as-root", "-bind-to none", "--mca btl ^openib"));
}

TEST(Mpirun, RanksPerNodeHaveManyForms) {
  for (const Words& words :
       {Words{"mpirun", "-N", "2", "p"}, Words{"mpiexec", "--npernode", "2", "p"},
        Words{"mpirun", "--map-by", "ppr:2:node:PE=4", "p"}, Words{"mpirun", "--map-by=ppr:2:node", "p"}})
    EXPECT_EQ(take_apart(words).ranks_per_node, 2) << words[1];
  EXPECT_EQ(take_apart({"mpirun", "--map-by", "slot", "p"}).ranks_per_node, std::nullopt);
  EXPECT_EQ(take_apart({"mpirun", "--map-by", "ppr:2:socket", "p"}).ranks_per_node, std::nullopt);
  EXPECT_EQ(take_apart({"mpirun", "-pernode", "p"}).ranks_per_node, 1);
}

TEST(Mpirun, WhatIsNotUnderstoodIsAProblem) {
  const auto problem = [](const Words& words) { return take_apart(words).problem; };
  EXPECT_THAT(problem({}), HasSubstr("has no command"));
  EXPECT_THAT(problem({"mpirun"}), HasSubstr("names no program"));
  EXPECT_THAT(problem({"mpirun", "-n", "2"}), HasSubstr("names no program"));
  EXPECT_THAT(problem({"mpirun", "-n"}), HasSubstr("-n has no value"));
  EXPECT_THAT(problem({"mpirun", "-n", "${NP}", "p"}), HasSubstr("-n ${NP} is no number"));
  EXPECT_THAT(problem({"mpirun", "-n", "0", "p"}), HasSubstr("is no number"));
  EXPECT_THAT(problem({"mpirun", "-n", "nan", "p"}), HasSubstr("is no number"));
  EXPECT_THAT(problem({"mpirun", "--frobnicate", "3", "p"}), HasSubstr("--frobnicate is not known"));
  EXPECT_THAT(problem({"mpirun", "-n", "1", "a", ":", "-n", "1", "b"}), HasSubstr("several programs"));
  EXPECT_THAT(problem({"deepspeed", "train.py"}), HasSubstr("it runs deepspeed"));
}

TEST(Mpirun, AShellWithOnePlainLineIsOneToo) {
  EXPECT_THAT(
      take_apart({"/bin/bash", "-c", "exec mpirun -n 2 \\\n  -x A='b c' prog \"d e\" f\\ g\n"}).program,
      ElementsAre("prog", "d e", "f g"));
  for (const char* script :
       {"cd /x && mpirun p", "mpirun -n $N p", "set -e\nmpirun p", "mpirun p | tee log", "mpirun p > log",
        "until mpirun p; do sleep 5; done", "echo hello", "mpirun 'p", "mpirun \"$P\"", "mpirun p &", ""})
    EXPECT_THAT(take_apart({"sh", "-c", script}).problem, HasSubstr("shell script")) << script;
}

TEST(ShellWords, AreSplitOnlyWhereAShellWouldDoNothingElse) {
  EXPECT_THAT(*shell_words("  a  'b $c' \"d\\\"e\" ''"), ElementsAre("a", "b $c", "d\"e", ""));
  EXPECT_THAT(*shell_words(""), IsEmpty());
  for (const char* line : {"a*", "a;b", "`a`", "$a", "~/a", "a#b", "a\\"})
    EXPECT_FALSE(shell_words(line)) << line;
}

}  // namespace
}  // namespace emj::cli
