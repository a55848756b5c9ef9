// SPDX-License-Identifier: Apache-2.0
// Of a master-worker program the lead is lost as of a loop (succession_test.cpp): nobody else stops, whoever
// mirrors the queue takes it over where the lead's pod had it, and a change in hand is undone or brought to
// its end.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/agent/lead/testing/named_lead.hpp"

namespace empi::agent {
namespace {

using ReportKind = RankReport::Kind;

// The queue is at u0 and mirrored at u2, or at another pod.
class NamedLeadOfTasks : public NamedLead {
 protected:
  void SetUp() override {
    NamedLead::SetUp();
    own.news.queue = {rank(0), rank(2), "pod-0:1/key"};
  }
  ProcId rank(std::size_t i) const { return ranks_of(own.membership.members[i]).front(); }
  void plan_leave(std::vector<std::string> remove) {
    PlannedChange planned{"c", Epoch{6}, "", {}, std::move(remove), true};
    own.plan.emplace(planned, own.membership);
    own.followed = ChangeState::Preparing;
  }
  void takes_queue_over(const std::string& uid) {
    RankReport keeps = report(uid, ReportKind::Queue);
    keeps.address = "pod:1/key";
    lead.on(RankReported{keeps, {keeps.proc}}, uid, now);
    take();
  }
  std::optional<Dropped> dropped(const std::string& uid) const {
    for (const Dropped& one : sent_to<Dropped>(uid))
      if (one.uid == "u0") return one;
    return std::nullopt;
  }
};

TEST_F(NamedLeadOfTasks, HasTheMirrorTakeTheQueueOver) {
  name();
  for (const char* uid : {"u2", "u3"}) follows(uid);
  ASSERT_FALSE(lead.verdict()) << lead.verdict()->reason;
  const auto said = dropped("u2");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->queue_to, name_of(rank(2)));
  EXPECT_EQ(said->procs, std::vector<ProcId>{rank(0)});
  EXPECT_EQ(said->recovery, "") << "nobody else stops";
  EXPECT_EQ(lead.membership().members.size(), 3U);
}

TEST_F(NamedLeadOfTasks, LeavesAQueueOnAnotherPodWhereItIs) {
  own.news.queue = {rank(3), std::nullopt, "pod-3:1/key"};
  name();
  for (const char* uid : {"u2", "u3"}) follows(uid);
  ASSERT_FALSE(lead.verdict()) << lead.verdict()->reason;
  ASSERT_TRUE(dropped("u2"));
  EXPECT_EQ(dropped("u2")->queue_to, "");
}

TEST_F(NamedLeadOfTasks, EndsTheJobWhereTheMirrorIsGoneToo) {
  name({"u0", "u2"});
  follows("u3");
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->result, JobResult::Failed);
}

TEST_F(NamedLeadOfTasks, SendsJoinersHomeOfAChangeThatWasNotCertain) {
  plan_growth(ChangeState::Building);
  name();
  for (const char* uid : {"u2", "u3"}) follows(uid);
  ASSERT_FALSE(lead.verdict()) << lead.verdict()->reason;
  EXPECT_EQ(lead.state(), ChangeState::Stable);
  EXPECT_EQ(lead.known_changes().front().outcome, ChangeOutcome::RolledBack);
  EXPECT_FALSE(sent_to<End>("u9").empty());
  EXPECT_EQ(sent_to<Dropped>("u2").front().queue_to, name_of(rank(2)));
}

// Nobody but the lead that is lost knew whether they had left already.
TEST_F(NamedLeadOfTasks, AsksLeaversAgainToGo) {
  plan_leave({"u3"});
  name();
  for (const char* uid : {"u2", "u3"}) follows(uid);
  ASSERT_FALSE(lead.verdict()) << lead.verdict()->reason;
  ASSERT_FALSE(sent_to<Dropped>("u3").empty());
  EXPECT_EQ(sent_to<Dropped>("u3").back().queue_to, name_of(rank(2)));
  EXPECT_EQ(lead.state(), ChangeState::Building);
  takes_queue_over("u2");
  ASSERT_EQ(lead.state(), ChangeState::Window);
  EXPECT_EQ(steps_of("u3").back(), StepKind::Depart);
  say("u3", ReportKind::Agreed);
  EXPECT_EQ(lead.state(), ChangeState::Draining);
  lead.on(RankExited{rank(3), 0, 0, true, true, {}}, "u3", now);
  take();
  EXPECT_EQ(lead.state(), ChangeState::Stable);
  EXPECT_EQ(members(), (std::vector<std::string>{"u1", "u2"}));
  EXPECT_FALSE(lead.verdict());
}
TEST_F(NamedLeadOfTasks, HearsWhoHasLeft) {
  plan_leave({"u3"});
  name();
  follows("u2");
  follows("u3", {report("u3", ReportKind::Agreed), report("u3", ReportKind::Past)});
  takes_queue_over("u2");
  ASSERT_FALSE(lead.verdict()) << lead.verdict()->reason;
  EXPECT_EQ(lead.state(), ChangeState::Draining);
}
TEST_F(NamedLeadOfTasks, ALeadThatWasToLeaveHasLeft) {
  own.news.queue = {rank(3), std::nullopt, "pod-3:1/key"};
  plan_leave({"u0"});
  name();
  for (const char* uid : {"u2", "u3"}) follows(uid);
  ASSERT_FALSE(lead.verdict()) << lead.verdict()->reason;
  EXPECT_EQ(lead.state(), ChangeState::Stable);
  EXPECT_EQ(members(), kLeft);
}

TEST_F(NamedLeadOfTasks, EndsTheJobWhereTheQueueMayHaveBeenOnItsWay) {
  plan_leave({"u0", "u3"});
  name();
  for (const char* uid : {"u2", "u3"}) follows(uid);
  ASSERT_TRUE(lead.verdict());
  EXPECT_NE(lead.verdict()->reason.find("may have been on its way"), std::string::npos)
      << lead.verdict()->reason;
}
TEST_F(NamedLeadOfTasks, EndsTheJobWherePodsWereComingAndGoing) {
  PlannedChange planned{"c", Epoch{6}, "", {{"u9", "pod-9", "a:9", 1, "", 0}}, {"u3"}, true};
  own.spaces.push_back(lay_out("job.3", planned.add));
  own.plan.emplace(planned, own.membership);
  own.followed = ChangeState::Building;
  name();
  for (const char* uid : {"u2", "u3"}) follows(uid);
  EXPECT_TRUE(lead.verdict());
}

// It was the first report of another address that told the next change where the queue is: none comes where
// the queue stays.
TEST_F(NamedLeadOfTasks, TellsJoinersOfTheNextChangeWhereTheQueueIs) {
  own.news.queue = {rank(3), rank(1), "pod-3:1/key"};
  name();
  for (const char* uid : {"u2", "u3"}) follows(uid);
  ChangeRequest growth;
  growth.id = "d";
  growth.fence = Fence{8};
  growth.epoch = lead.membership().epoch;
  growth.add = {{"u8", "pod-8", "a:8", 1, "", 0}};
  growth.deadline_ms = 10'000;
  ASSERT_EQ(lead.begin_change(growth, now).status, 200);
  take();
  RankReport hello;
  hello.kind = ReportKind::Hello;
  hello.proc = {sent_to<Step>("u8").back().space, 0};
  lead.on(RankReported{hello, {hello.proc}}, "u8", now);
  take();
  ASSERT_EQ(steps_of("u8").back(), StepKind::Attach);
  EXPECT_EQ(sent_to<Step>("u8").back().address, "pod-3:1/key");
}

}  // namespace
}  // namespace empi::agent
