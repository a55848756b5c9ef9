// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/completion.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emj::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Words = std::vector<std::string>;

class CompletionTest : public testing::Test {
 protected:
  empi::options::Program program() {
    using namespace empi::options;
    const Option job{"job", &text_, "its name", {.required = true}};
    return {.what = "",
            .commands = {
                {"run", "", "", {{"manifest", &text_}, {"-o,--out", &text_}, {"arguments", &list_}}},
                {"resume", "", "", {job, {"-n,--namespace", &text_}, {"--cluster", &flag_}}},
                {"completion", "", "", {{"shell", &text_, "", {.check = one_of("bash", "zsh")}}}},
                {"simulate",
                 "",
                 "",
                 {{"files", &list_}, {"--objective", &text_, "", {.check = one_of("fair", "makespan")}}}}}};
  }
  Candidates of(const Words& words) {
    return candidates(program(), words, [this](const GivenOptions& given) {
      given_ = given;
      return Words{"jacobi", "tsunami"};
    });
  }

  std::string text_;
  Words list_;
  bool flag_ = false;
  GivenOptions given_;
};

TEST_F(CompletionTest, CommandsAndOptionsAreThoseOfTheParser) {
  EXPECT_THAT(of({""}).words, ElementsAre("completion", "resume", "run", "simulate"));
  EXPECT_THAT(of({"r"}).words, ElementsAre("resume", "run"));
  EXPECT_THAT(of({"run", "--"}).words, ElementsAre("--help", "--out"));
  EXPECT_THAT(of({"frobnicate", ""}).words, IsEmpty());
  EXPECT_THAT(of({}).words, IsEmpty());
}

TEST_F(CompletionTest, FilesAndFixedWords) {
  EXPECT_TRUE(of({"run", ""}).files);
  EXPECT_TRUE(of({"run", "-o", ""}).files);
  EXPECT_TRUE(of({"run", "a.yaml", "--", ""}).files);
  EXPECT_THAT(of({"completion", "b"}).words, ElementsAre("bash"));
  EXPECT_THAT(of({"simulate", "t", "--objective", ""}).words, ElementsAre("fair", "makespan"));
  EXPECT_THAT(of({"simulate", "t", "--objective", "=", "m"}).words, ElementsAre("makespan"));
}

TEST_F(CompletionTest, JobsAreAskedForWhereTheLineSays) {
  EXPECT_THAT(of({"resume", "t"}).words, ElementsAre("tsunami"));
  EXPECT_THAT(given_, IsEmpty());
  EXPECT_THAT(of({"resume", "-n", "team", "--cluster", ""}).words, ElementsAre("jacobi", "tsunami"));
  EXPECT_THAT(given_, ElementsAre(std::pair("cluster", ""), std::pair("namespace", "team")));
  of({"resume", "--namespace=other", ""});
  EXPECT_THAT(given_, ElementsAre(std::pair("namespace", "other")));
  EXPECT_THAT(of({"resume", "jacobi", ""}).words, IsEmpty()) << "only one";
  EXPECT_THAT(of({"resume", "-n", ""}).words, IsEmpty()) << "namespaces are not known";
}

TEST_F(CompletionTest, TextEndsWithTheDirectiveOfKubectl) {
  EXPECT_EQ(candidates_text(of({"r"})), "resume\nrun\n:4\n");
  EXPECT_EQ(candidates_text(of({"run", ""})), ":0\n");
}

}  // namespace
}  // namespace emj::cli
