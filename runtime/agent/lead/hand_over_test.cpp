// SPDX-License-Identifier: Apache-2.0
// What a lead that leaves owes to those who have asked it for something.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/agent/lead/lead.hpp"

namespace empi::agent {
namespace {

using namespace std::chrono_literals;

// Three pods with a rank each, whose agents and ranks do what the lead wants; the first leaves.
class LeavingLead : public ::testing::Test {
 protected:
  const std::vector<Member> pods = {{"u0", "pod-0", "pod-0:1", 1, "", 0},
                                    {"u1", "pod-1", "pod-1:1", 1, "", 0},
                                    {"u2", "pod-2", "pod-2:1", 1, "", 0}};
  const Moment now{};
  Lead lead{{"u0", "job"}};
  std::vector<std::pair<std::string, Reply>> replies;  // and to whom
  bool forgets = false;                                // is asked to, and has not answered
  std::optional<HandOver> handed_over;
  Step forget;

  void SetUp() override {
    lead.start({Fence{1}, pods}, now);
    run();
    for (const Member& member : lead.membership().members) report(RankReport::Kind::Hello, member, "");
    ChangeRequest leave;
    leave.id = "c";
    leave.fence = Fence{1};
    leave.epoch = Epoch{1};
    leave.remove = {"u0"};
    leave.deadline_ms = 10'000;
    ASSERT_EQ(lead.begin_change(leave, now).status, 200);
    run();
    lead.tick(now);
    run();
    ASSERT_TRUE(forgets);
  }
  void report(RankReport::Kind kind, const Member& member, const std::string& change) {
    RankReport report;
    report.kind = kind;
    report.proc = {member.nspace, member.first_rank};
    report.change = change;
    lead.on(RankReported{report, {report.proc}}, member.uid, now);
  }
  void report_all(RankReport::Kind kind) {
    for (const Member& member : members_) report(kind, member, "c");
  }
  void run() {
    if (members_.empty()) members_ = lead.membership().members;
    for (auto actions = lead.take_actions(); !actions.empty(); actions = lead.take_actions())
      for (const LeadAction& action : actions)
        if (const auto* sent = std::get_if<SendMessage>(&action))
          for (const std::string& uid : sent->uids) obey(uid, sent->message);
  }
  void obey(const std::string& uid, const Message& message) {
    if (const auto* reply = std::get_if<Reply>(&message)) replies.push_back({uid, *reply});
    if (const auto* all = std::get_if<HandOver>(&message)) handed_over = *all;
    const auto* step = std::get_if<Step>(&message);
    if (!step) return;
    if (step->kind == StepKind::Forget) {
      forgets = true;
      forget = *step;
      return;
    }
    lead.on(StepDone{step->change, step->number, {}}, uid, now);
    if (uid != "u0") return;
    if (step->kind == StepKind::Build) report_all(RankReport::Kind::Built);
    if (step->kind == StepKind::Confirm)
      for (const auto kind : {RankReport::Kind::Agreed, RankReport::Kind::Past}) report_all(kind);
    if (step->kind == StepKind::Release) {
      report(RankReport::Kind::Finalized, members_.front(), "c");
      const ProcId proc{members_.front().nspace, members_.front().first_rank};
      lead.on(RankExited{proc, 0, 0, true, true, {}}, "u0", now);
    }
  }
  void do_forget() {
    for (const std::string uid : {"u1", "u2"}) lead.on(StepDone{forget.change, forget.number, {}}, uid, now);
    run();
  }
  RankRuns stayers() const { return ranks_of({members_[1], members_[2]}); }

 private:
  std::vector<Member> members_;
};

// Once a member may take another for its lead it asks that again, and whoever has been answered does not. So
// no answer may be under way then: what is given before Forget has arrived when that is answered, and nothing
// is given after it. Of a fence one pod was left waiting for ever.
TEST_F(LeavingLead, NothingIsAnsweredThatMayArriveAfterTheHandOver) {
  lead.on(Collective{7, "fence", stayers(), ""}, "u1", now);
  lead.on(Collective{8, "fence", stayers(), ""}, "u2", now);
  lead.on(Publish{9, {{"key", ProcId{"job.1", 1}, "value"}}}, "u1", now);
  run();
  EXPECT_TRUE(replies.empty()) << replies.size() << " answers";
  do_forget();
  EXPECT_TRUE(handed_over);
}

// Until it is told it does not lead, and takes this one for its lead: the answer to the hand-over came after
// 5 s, the word that it leads was behind it, and the job had no lead any more.
TEST_F(LeavingLead, StaysUntilTheNextLeadKnowsThatItLeads) {
  do_forget();
  lead.on(HandedOver{}, "u1", now);
  lead.on(LeadKnown{}, "u2", now);
  const auto after = [](std::chrono::seconds time) { return Moment{ChangeDriver::TimePoint{} + time, time}; };
  lead.tick(after(9s));
  EXPECT_FALSE(lead.verdict());
  lead.on(LeadKnown{}, "u1", after(9s));
  EXPECT_TRUE(lead.verdict());
}

TEST_F(LeavingLead, DoesNotWaitLongForOtherMembers) {
  do_forget();
  lead.on(HandedOver{}, "u1", now);
  lead.on(LeadKnown{}, "u1", now);
  lead.tick({ChangeDriver::TimePoint{} + kFormerLeadStays, kFormerLeadStays});
  EXPECT_TRUE(lead.verdict());
}

// It beats, so that it is not silent, and cannot read what it was handed, or lost it: what others said to
// this one was passed on to it for ever.
TEST_F(LeavingLead, ANextLeadThatDoesNotTakeOverIsLost) {
  do_forget();
  ASSERT_TRUE(handed_over);
  std::chrono::seconds time{0};
  const auto bound = kWaitsForWord * LeadIdentity{}.partition;
  for (; time <= bound + 2s && !lead.verdict(); ++time) {
    const Moment then{ChangeDriver::TimePoint{} + time, time};
    for (const std::string uid : {"u1", "u2"}) lead.heard(uid, then);
    lead.second(then);
    run();
    EXPECT_TRUE(time > bound || !lead.verdict()) << "after " << time.count() << " s";
  }
  ASSERT_TRUE(lead.verdict());
  EXPECT_NE(lead.verdict()->reason.find("pod-1 is lost: it has not taken the lead over"), std::string::npos)
      << lead.verdict()->reason;
}

// A next lead that is silent may lead all the same, and only this pod not hear it.
TEST_F(LeavingLead, DoesNotJudgeWhomItHasHandedOverTo) {
  do_forget();
  lead.on(HandedOver{}, "u1", now);
  lead.take_actions();
  lead.pod_lost("u2", "the test says so", now);
  EXPECT_FALSE(lead.verdict());
  lead.pod_lost("u1", "the test says so", now);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->result, JobResult::Stopped);
  for (const LeadAction& action : lead.take_actions()) {
    const auto* sent = std::get_if<SendMessage>(&action);
    EXPECT_FALSE(sent && std::holds_alternative<End>(sent->message));
  }
}

// Two pods that decide at a time made two lists of members.
TEST_F(LeavingLead, LeavesLossesToTheNextLeadFromTheHandOverOn) {
  do_forget();
  lead.pod_lost("u2", "the test says so", now);
  EXPECT_FALSE(lead.verdict());
  lead.pod_lost("u1", "the test says so", now);
  ASSERT_TRUE(lead.verdict());
  EXPECT_NE(lead.verdict()->reason.find("pod-1"), std::string::npos) << lead.verdict()->reason;
}

// All had ended by what was passed on to it. It told them so, not the former lead, which found the members
// silent and told another story to those that had not heard.
TEST_F(LeavingLead, TheNextLeadConcludesNothingBeforeItLeads) {
  do_forget();
  ASSERT_TRUE(handed_over);
  Lead next({"u1", "job"});
  next.take_over(*handed_over, now);
  for (const Member& member : next.membership().members)
    next.on(RankExited{{member.nspace, member.first_rank}, 7, 0, true, true, {}}, member.uid, now);
  EXPECT_FALSE(next.verdict());
  next.begin_to_lead(now);
  ASSERT_TRUE(next.verdict());
  EXPECT_EQ(next.verdict()->exit_code, 7);
}

// Those of the pods that have left, too: a fence of their namespace was waiting for them.
TEST_F(LeavingLead, TheNextLeadKnowsWhichRanksHaveEnded) {
  do_forget();
  ASSERT_TRUE(handed_over);
  Lead next({"u1", "job"});
  next.take_over(*handed_over, now);
  next.begin_to_lead(now);
  next.take_actions();
  for (const std::string uid : {"u1", "u2"})
    next.on(Collective{1, "fence", {ProcId{"job.1", kAllRanks}}, ""}, uid, now);
  std::size_t answers = 0;
  for (const LeadAction& action : next.take_actions())
    if (const auto* sent = std::get_if<SendMessage>(&action))
      answers += std::holds_alternative<Reply>(sent->message);
  EXPECT_EQ(answers, 2u);
}

}  // namespace
}  // namespace empi::agent
