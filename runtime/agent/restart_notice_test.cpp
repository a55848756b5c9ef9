// SPDX-License-Identifier: Apache-2.0
// How a restartable program is told to end.

#include "runtime/agent/restart_notice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "runtime/profile/testing/synthetic_page.hpp"

namespace empi::agent {
namespace {

using profile::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(RestartNotice, IsReadFromWhatTheControllerHasWritten) {
  EXPECT_FALSE(restart_notice_from("").given());
  EXPECT_EQ(restart_notice_from(R"({"signal":"USR2"})").signal, SIGUSR2);
  EXPECT_EQ(restart_notice_from(R"({"file":"/work/stop"})").file, "/work/stop");
  EXPECT_THAT(restart_notice_from(R"({"command":["touch","a b"]})").command, ElementsAre("touch", "a b"));
}

TEST(RestartNotice, ThatIsWrongIsRefusedWithWhatWasExpected) {
  const auto refused = [](const std::string& text, const std::string& why) {
    EXPECT_THAT([&] { restart_notice_from(text); }, ThrowsMessage<std::invalid_argument>(HasSubstr(why)));
  };
  refused("{", "expected {");
  refused("[]", "expected");
  refused("{}", "one of signal, file and command");
  refused(R"({"signal":7})", "expected {");
  refused(R"({"signal":"KILL"})", "expected USR1");
  refused(R"({"signal":"USR1","file":"/stop"})", "one of signal, file and command");
}

TEST(RestartNotice, BySignalGoesToTheRanks) {
  std::vector<int> sent;
  give(restart_notice_from(R"({"signal":"HUP"})"), [&](int signal) { sent.push_back(signal); });
  EXPECT_THAT(sent, ElementsAre(SIGHUP));
}

TEST(RestartNotice, ByAFileIsThereUntilItIsWithdrawn) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "stop";
  const RestartNotice notice = restart_notice_from(R"({"file":")" + path.string() + R"("})");
  const auto nobody = [](int) { FAIL() << "no signal was asked for"; };
  withdraw(notice);
  give(notice, nobody);
  give(notice, nobody);
  EXPECT_TRUE(std::filesystem::exists(path));
  withdraw(notice);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THROW(
      give(restart_notice_from(R"({"file":")" + (folder.path() / "no/such").string() + R"("})"), nobody),
      std::system_error);
}

TEST(RestartNotice, ByACommandRunsIt) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "ran";
  give(restart_notice_from(R"({"command":["sh","-c","echo told >)" + path.string() + R"("]})"),
       [](int) { FAIL() << "no signal was asked for"; });
  ASSERT_GT(wait(nullptr), 0);
  std::string word;
  std::ifstream(path) >> word;
  EXPECT_EQ(word, "told");
  EXPECT_THROW(give(restart_notice_from(R"({"command":["/no/such/program"]})"), [](int) {}),
               std::system_error);
}

}  // namespace
}  // namespace empi::agent
