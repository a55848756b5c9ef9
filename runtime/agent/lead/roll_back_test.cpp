// SPDX-License-Identifier: Apache-2.0
// What a lead owes to those who were to join by a change that is rolled back.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/agent/lead/lead.hpp"

namespace empi::agent {
namespace {

// Two pods with a rank each build the next world with u9, whose rank is killed. Agents answer; of the old
// ranks nobody has dropped the attempt yet (quirk cid-retries: that takes 10 s).
class RollingBack : public ::testing::Test {
 protected:
  Moment now;
  Lead lead{{"u0", "job"}};
  std::vector<std::pair<std::string, End>> ends;  // to whom
  std::vector<std::string> parted;

  void SetUp() override {
    lead.start({Fence{1}, {{"u0", "pod-0", "pod-0:1", 1, "", 0}, {"u1", "pod-1", "pod-1:1", 1, "", 0}}}, now);
    obey();
    for (const Member& member : lead.membership().members) report(RankReport::Kind::Hello, member.uid, true);
    ChangeRequest grow;
    grow.id = "c";
    grow.fence = Fence{1};
    grow.epoch = Epoch{1};
    grow.add = {{"u9", "pod-9", "pod-9:1", 1, "", 0}};
    grow.deadline_ms = 10'000;
    ASSERT_EQ(lead.begin_change(grow, now).status, 200);
    obey();
    report(RankReport::Kind::Hello, "u9", true);
    ASSERT_EQ(lead.state(), ChangeState::Building);
    lead.on(RankExited{{"job.2", 0}, 0, SIGKILL, false, true, {}}, "u9", now);
    obey();
    ASSERT_EQ(lead.state(), ChangeState::RollingBack);
  }
  void report(RankReport::Kind kind, const std::string& uid, bool ok) {
    RankReport report;
    report.kind = kind;
    report.proc = uid == "u9" ? ProcId{"job.2", 0} : ProcId{"job.1", uid == "u0" ? 0U : 1U};
    report.change = "c";
    report.ok = ok;
    lead.on(RankReported{report, {report.proc}}, uid, now);
    obey();
  }
  void obey() {
    for (auto actions = lead.take_actions(); !actions.empty(); actions = lead.take_actions())
      for (const LeadAction& action : actions) {
        if (const auto* parting = std::get_if<PartFromPod>(&action)) parted.push_back(parting->uid);
        const auto* sent = std::get_if<SendMessage>(&action);
        for (const std::string& uid : sent ? sent->uids : std::vector<std::string>{}) {
          if (const auto* end = std::get_if<End>(&sent->message)) ends.emplace_back(uid, *end);
          const auto* step = std::get_if<Step>(&sent->message);
          if (step) lead.on(StepDone{step->change, step->number, {}}, uid, now);
        }
      }
  }
};

// Its ranks are killed at once, so nothing is left for its agent to wait for. It stayed until the old ranks
// were done: 10 s where helper threads did not come back, up to 30.
TEST_F(RollingBack, WhoWasToJoinIsSentHomeAtOnce) {
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].first, "u9");
  EXPECT_EQ(ends[0].second.outcome.result, JobResult::Stopped);
  EXPECT_NE(ends[0].second.outcome.reason.find("change c was rolled back: "), std::string::npos)
      << ends[0].second.outcome.reason;
  EXPECT_EQ(parted, std::vector<std::string>{"u9"});
}

TEST_F(RollingBack, IsOverWhenTheOldRanksHaveDroppedTheAttempt) {
  for (const char* uid : {"u0", "u1"}) {
    EXPECT_EQ(lead.state(), ChangeState::RollingBack) << "one change at a time";
    report(RankReport::Kind::Built, uid, false);
  }
  EXPECT_EQ(lead.state(), ChangeState::Stable);
  EXPECT_EQ(lead.known_changes().back().outcome, ChangeOutcome::RolledBack);
  EXPECT_EQ(ends.size(), 1u) << "once";
}

}  // namespace
}  // namespace empi::agent
