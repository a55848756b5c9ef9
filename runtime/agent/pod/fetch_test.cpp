// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/pod/fetch.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <set>

namespace empi::agent {
namespace {

class FetchTest : public ::testing::Test {
 protected:
  std::deque<std::pair<std::string, Fetch::Answered>> open;
  std::optional<std::string> result;

  static std::vector<Member> pods(int count) {
    std::vector<Member> members;
    for (int i = 0; i < count; ++i) members.push_back({"u" + std::to_string(i), "", "", 1, "", 0});
    return members;
  }
  void begin(int count, std::size_t first = 0) {
    Fetch::begin(
        pods(count), first,
        [this](const Member& pod, Fetch::Answered answered) {
          open.emplace_back(pod.uid, std::move(answered));
        },
        [this](const std::string& error) {
          EXPECT_FALSE(result) << "once";
          result = error;
        });
  }
  std::string answer(const std::string& error = "") {
    const auto [uid, answered] = open.front();
    open.pop_front();
    answered(error);
    return uid;
  }
};

TEST_F(FetchTest, AFewPodsAreAskedAtATimeAndEachOnce) {
  begin(100);
  std::set<std::string> asked;
  while (!open.empty()) {
    EXPECT_LE(open.size(), Fetch::kAtOnce);
    EXPECT_FALSE(result);
    EXPECT_TRUE(asked.insert(answer()).second);
  }
  EXPECT_EQ(asked.size(), 100u);
  EXPECT_EQ(result, "");
}

TEST_F(FetchTest, NobodyIsAskedByAllFirst) {
  begin(3, 4);
  EXPECT_EQ(answer(), "u1");
  EXPECT_EQ(answer(), "u2");
  EXPECT_EQ(answer(), "u0");
}

TEST_F(FetchTest, AnErrorIsSaidWhenAllHaveAnswered) {
  begin(2);
  answer("it is gone");
  EXPECT_FALSE(result);
  answer();
  EXPECT_EQ(result, "it is gone");
}

TEST_F(FetchTest, WhereNobodyIsToBeAskedItIsDone) {
  begin(0);
  EXPECT_EQ(result, "");
}

// Where nothing can be sent the answer comes within the question.
TEST_F(FetchTest, AnswersMayComeAtOnce) {
  int asked = 0;
  Fetch::begin(
      pods(1000), 0,
      [&](const Member&, const Fetch::Answered& answered) {
        ++asked;
        answered("");
      },
      [&](const std::string& error) { result = error; });
  EXPECT_EQ(asked, 1000);
  EXPECT_EQ(result, "");
}

}  // namespace
}  // namespace empi::agent
