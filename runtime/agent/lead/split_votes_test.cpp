// SPDX-License-Identifier: Apache-2.0
// A rank is lost while all vote on a change, and the others are of two minds: some are in the next world,
// some are not. What the lead hears first decides; whoever it was told otherwise, the job goes on from its
// copies.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/agent/lead/lead.hpp"

namespace empi::agent {
namespace {

using ReportKind = RankReport::Kind;

// Four pods of one rank in the window of a change: uid-3 leaves, uid-9 joins.
class SplitVote : public ::testing::Test {
 protected:
  Moment now;
  Lead lead{{"uid-0", "job"}};
  std::optional<Dropped> told;  // who is left
  std::vector<std::pair<StepKind, std::string>> steps;
  std::vector<std::string> dismissed;

  void SetUp() override {
    StartRequest request{Fence{1}, {}};
    for (const char* n : {"0", "1", "2", "3"})
      request.members.push_back({std::string("uid-") + n, std::string("pod-") + n, "a:1", 1, "", 0});
    lead.start(request, now);
    obey();
    for (const ReportKind kind : {ReportKind::Hello, ReportKind::Recoverable})
      for (const Member& member : lead.membership().members) report(member.uid, kind);
    ChangeRequest change;
    change.id = "c";
    change.fence = Fence{1};
    change.epoch = lead.membership().epoch;
    change.add = {{"uid-9", "pod-9", "a:9", 1, "", 0}};
    change.remove = {"uid-3"};
    change.deadline_ms = 10'000;
    ASSERT_EQ(lead.begin_change(change, now).status, 200);
    obey();
    report("uid-9", ReportKind::Hello);
    for (const char* uid : {"uid-0", "uid-1", "uid-2", "uid-3", "uid-9"}) report(uid, ReportKind::Built);
    report("uid-9", ReportKind::AtBegin);
    ASSERT_EQ(lead.state(), ChangeState::Window);
  }
  static ProcId rank(const std::string& uid) {
    return uid == "uid-9" ? ProcId{"job.2", 0}
                          : ProcId{"job.1", static_cast<std::uint32_t>(uid.back() - '0')};
  }
  void obey() {
    for (auto actions = lead.take_actions(); !actions.empty(); actions = lead.take_actions())
      for (const LeadAction& action : actions) {
        const auto* sent = std::get_if<SendMessage>(&action);
        if (!sent) continue;
        if (const auto* said = std::get_if<Dropped>(&sent->message); said && !said->recovery.empty())
          told = *said;
        if (std::holds_alternative<End>(sent->message))
          dismissed.insert(dismissed.end(), sent->uids.begin(), sent->uids.end());
        const auto* step = std::get_if<Step>(&sent->message);
        for (const std::string& uid : step ? sent->uids : std::vector<std::string>{}) {
          steps.emplace_back(step->kind, uid);
          lead.on(StepDone{step->change, step->number, {}}, uid, now);
        }
      }
  }
  void report(const std::string& uid, ReportKind kind, bool ok = true) {
    RankReport report;
    report.kind = kind;
    report.proc = rank(uid);
    report.change = "c";
    report.ok = ok;
    report.error = ok ? "" : "how the ranks have voted cannot be learned";
    lead.on(RankReported{report, {report.proc}}, uid, now);
    obey();
  }
  void votes(const std::string& uid, bool yes) {
    report(uid, ReportKind::Agreed, yes);
    if (yes) report(uid, ReportKind::Past);
  }
  void ends(const std::string& uid, int signal, bool may_exit) {
    lead.on(RankExited{rank(uid), 0, signal, may_exit, true, {}}, uid, now);
    obey();
  }
  bool was_asked(StepKind kind, const std::string& uid) const {
    return std::ranges::count(steps, std::pair(kind, uid)) > 0;
  }
  void expect_left(const std::vector<std::string>& uids, const std::string& gone) {
    ASSERT_FALSE(lead.verdict()) << lead.verdict()->reason;
    EXPECT_EQ(lead.state(), ChangeState::Stable);
    std::vector<std::string> left;
    for (const Member& member : lead.membership().members) left.push_back(member.uid);
    EXPECT_EQ(left, uids);
    ASSERT_TRUE(told) << "nobody is told to go back to the copies";
    EXPECT_EQ(told->membership, lead.membership());
    EXPECT_GT(std::ranges::count(dismissed, gone), 0) << gone << " was not sent home";
  }
};

TEST_F(SplitVote, AYesThatIsHeardFirstCommits) {
  votes("uid-0", true);
  votes("uid-2", false);
  votes("uid-9", true);
  votes("uid-3", false);
  ends("uid-1", SIGKILL, false);
  ASSERT_TRUE(was_asked(StepKind::Release, "uid-3")) << "it would wait for ever for whom it is to go on with";
  ends("uid-3", 0, true);
  expect_left({"uid-0", "uid-2", "uid-9"}, "uid-1");
}

// It was called off by one that had learned of the loss: it ends.
TEST_F(SplitVote, AJoinerThatWasToldNoIsDropped) {
  votes("uid-0", true);
  votes("uid-9", false);
  votes("uid-2", false);
  ends("uid-1", SIGKILL, false);
  ends("uid-9", 0, false);
  votes("uid-3", true);
  ends("uid-3", 0, true);
  expect_left({"uid-0", "uid-2"}, "uid-9");
}

// Its no alone decides nothing: others may be on their way to the window (seed 14 of the votes' histories).
TEST_F(SplitVote, AJoinerThatWasToldNoAndIsHeardFirstIsDropped) {
  votes("uid-9", false);
  EXPECT_EQ(lead.state(), ChangeState::Window);
  votes("uid-0", true);
  votes("uid-2", false);
  ends("uid-9", 0, false);
  ends("uid-1", SIGKILL, false);
  votes("uid-3", true);
  ends("uid-3", 0, true);
  expect_left({"uid-0", "uid-2"}, "uid-9");
}

TEST_F(SplitVote, ANoThatIsHeardFirstCallsTheChangeBack) {
  ends("uid-1", SIGKILL, false);
  votes("uid-2", false);
  EXPECT_EQ(lead.state(), ChangeState::RollingBack);
  votes("uid-0", true);
  votes("uid-9", true);
  votes("uid-3", false);
  expect_left({"uid-0", "uid-2", "uid-3"}, "uid-9");
}

// It has given all it had away, and its program has ended.
TEST_F(SplitVote, ALeaverThatWasToldYesIsDroppedWhereTheOthersStay) {
  ends("uid-1", SIGKILL, false);
  votes("uid-2", false);
  votes("uid-3", true);
  report("uid-3", ReportKind::Finalizing);
  votes("uid-0", true);
  expect_left({"uid-0", "uid-2"}, "uid-3");
}

TEST_F(SplitVote, AJoinerThatIsKilledAfterItsVoteIsDropped) {
  ends("uid-9", SIGKILL, false);
  for (const char* uid : {"uid-0", "uid-1", "uid-2", "uid-3"}) votes(uid, true);
  ends("uid-3", 0, true);
  expect_left({"uid-0", "uid-1", "uid-2"}, "uid-9");
}

TEST_F(SplitVote, AJoinerThatIsKilledBeforeItsVoteIsMissedByNobody) {
  ends("uid-9", SIGKILL, false);
  for (const char* uid : {"uid-0", "uid-1", "uid-2", "uid-3"}) votes(uid, false);
  EXPECT_EQ(lead.state(), ChangeState::Stable);
  EXPECT_FALSE(lead.verdict());
  EXPECT_FALSE(told);
  EXPECT_EQ(lead.membership().members.size(), 4U);
}

// The change waited for votes for ever (seed 32091906 of the loops' histories).
TEST_F(SplitVote, WhereNobodyIsLeftToVoteTheJobEnds) {
  for (const char* uid : {"uid-1", "uid-2", "uid-3"}) {
    lead.pod_lost(uid, "the test says so", now);
    EXPECT_FALSE(lead.verdict());
  }
  ends("uid-0", SIGKILL, false);
  ASSERT_TRUE(lead.verdict());
  EXPECT_NE(lead.verdict()->reason.find("nobody is left to vote"), std::string::npos)
      << lead.verdict()->reason;
}

}  // namespace
}  // namespace empi::agent
