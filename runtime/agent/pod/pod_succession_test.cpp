// SPDX-License-Identifier: Apache-2.0
// A pod whose lead is lost (decision R20): who leads next, and whom it follows.
#include "runtime/agent/pod/testing/a_pod.hpp"
#include "runtime/protocol/world_keys.hpp"

namespace empi::agent {
namespace {

// Of a job that goes on without it, as its lead has said with each beat (R20).
class APodOfARecoverableJob : public APod {
 protected:
  void SetUp() override {
    APod::SetUp();
    edges.known = {"u0", "u2"};
    pod.receive(Beat{.news = LeadNews{2, 40, 1, {}}}, "u0");
  }
  ApiAnswer name(const std::string& who = "u1", std::vector<std::string> dead = {"u0"}, int fence = 3) {
    return pod.name_lead({Fence{fence}, who, std::move(dead), "pod pod-0 is gone"});
  }
};

TEST_F(APodOfARecoverableJob, WaitsForAControllersWordWhenItsLeadIsLost) {
  using namespace std::chrono_literals;
  pod.unreachable("u0", Standing::Silent, true, "no answer");
  ASSERT_FALSE(edges.outcome);
  edges.running = 25s;
  EXPECT_EQ(pod.view().lead_silent_seconds, 25);
  EXPECT_TRUE(pod.view().survives_lead_loss);
  pod.tick();
  EXPECT_FALSE(edges.outcome);
  edges.running = 61s;
  pod.tick();
  ASSERT_TRUE(edges.outcome);
  EXPECT_NE(edges.outcome->reason.find("no controller has named another"), std::string::npos)
      << edges.outcome->reason;
}

TEST_F(APodOfARecoverableJob, LeadsWhenItIsNamed) {
  EXPECT_EQ(name().status, 200);
  EXPECT_TRUE(pod.is_lead());
  ASSERT_EQ(edges.sent_to<TakeOver>("u2").size(), 1u);
  EXPECT_EQ(name().status, 200) << "the controller repeats itself";
  EXPECT_EQ(edges.sent_to<TakeOver>("u2").size(), 1u);
  pod.receive(TakenOver{Fence{3}, members, {}}, "u2");
  edges.run();
  EXPECT_EQ(pod.membership().members.size(), 2u);
  EXPECT_EQ(pod.membership().lead().uid, "u1");
  std::set<RankOrder::Kind> orders;
  for (const auto& [proc, kind] : edges.ordered) orders.insert(kind);
  EXPECT_TRUE(orders.contains(RankOrder::Kind::Recover)) << "its own ranks are told, too";
}

// The job is over for its controller, who cannot tell the lead so.
TEST_F(APodOfARecoverableJob, EndsWhenItIsToldToThoughAnotherOneLeads) {
  EXPECT_EQ(pod.stop({Fence{1}, "enough"}).status, 409) << "the lead is to be told";
  EXPECT_EQ(pod.stop({Fence{0}, "enough", true}).status, 409) << "of a controller that is not it any more";
  edges.run();
  EXPECT_FALSE(edges.outcome);
  EXPECT_EQ(pod.stop({Fence{1}, "enough", true}).status, 200);
  edges.run();
  ASSERT_TRUE(edges.outcome);
  EXPECT_EQ(edges.outcome->result, JobResult::Stopped);
  EXPECT_EQ(edges.outcome->reason, "enough");
}

// As an ordinary pod it had given the other one up: it was never asked what it knows (seed 9148 of the loops'
// histories).
TEST_F(APodOfARecoverableJob, ReachesEveryMemberWhenItIsNamed) {
  edges.known = {"u0"};
  ASSERT_EQ(name().status, 200);
  EXPECT_TRUE(edges.known.contains("u2"));
  EXPECT_EQ(edges.sent_to<TakeOver>("u2").size(), 1u);
}

// That of the change in hand is not used again: some may know it, as that of other ranks (seed 1265).
TEST_F(APodOfARecoverableJob, KnowsTheNamespacesOfAChangeThatItHasHeardOf) {
  PlannedChange plan{.id = "c", .next = Epoch{2}, .port = "", .add = {}, .remove = {"u2"}};
  const JobRecord record{Fence{1}, Epoch{1}, "u0", 6, kLeaverGrace, ProbeMode::All, {}, {}};
  pod.receive(Step{.kind = StepKind::Prepare, .number = 3, .change = "c", .record = record, .plan = plan},
              "u0");
  ASSERT_EQ(name().status, 200);
  pod.receive(TakenOver{Fence{3}, members, {}}, "u2");
  edges.run();
  pod.second();
  ASSERT_FALSE(edges.sent_to<Beat>("u2").empty());
  ASSERT_TRUE(edges.sent_to<Beat>("u2").back().news);
  EXPECT_GT(edges.sent_to<Beat>("u2").back().news->next_space, 6);
}

// The lead before may have answered us and not others, who ask the next one.
TEST_F(APodOfARecoverableJob, TellsANewLeadHowItWasAnsweredAndThenWhatItWaitsFor) {
  const Collective fence{0, "fence", {{"job.1", kAllRanks}}, "ours"};
  pod.request(fence, "", [](const Reply&) {});
  pod.receive(Reply{.id = edges.sent_to<Collective>("u0").back().id, .blob = "of all"}, "u0");
  pod.request(fence, "", [](const Reply&) {});
  pod.receive(TakeOver{Fence{5}, {"u0"}, "", "why"}, "u2");
  const std::vector<Collective> told = edges.sent_to<Collective>("u2");
  ASSERT_EQ(told.size(), 2u);
  EXPECT_TRUE(told[0].answered);
  EXPECT_EQ(told[0].round, 0u);
  EXPECT_EQ(told[0].blob, "of all");
  EXPECT_FALSE(told[1].answered);
  EXPECT_EQ(told[1].round, 1u);
  EXPECT_EQ(told[1].blob, "ours");
}

// Who had heard so has begun, and waits for those that asked the next lead and would never come.
TEST_F(APodOfARecoverableJob, TellsANewLeadThatAllHadComeToAWorld) {
  const std::string key = world_port("w") + std::string(kAllHaveCome);
  for (int rank = 0; rank < 2; ++rank) {
    pod.request(Lookup{0, {key}, true, 0}, "", [](const Reply&) {});
    pod.receive(
        Reply{.id = edges.sent_to<Lookup>("u0").back().id, .found = {{key, {"job.1", 0}, "yes", false}}},
        "u0");
  }
  pod.receive(TakeOver{Fence{5}, {"u0"}, "", "why"}, "u2");
  const std::vector<Publish> told = edges.sent_to<Publish>("u2");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].data.at(0).key, key);
  EXPECT_EQ(told[0].data.at(0).value, "yes");
  EXPECT_TRUE(std::holds_alternative<TakenOver>(edges.sent.back().second))
      << "before anybody gives it up there";
}

TEST_F(APodOfARecoverableJob, IsNamedInVainWhereItCannotLead) {
  EXPECT_EQ(name("u2").status, 409) << "another pod was meant";
  EXPECT_EQ(name("u1", {"u2"}).status, 409) << "its lead is not lost";
  EXPECT_EQ(name("u1", {"u0"}, 0).status, 409) << "a controller of the past";
  pod.receive(Beat{}, "u0");
  EXPECT_EQ(name("u1", {"u0"}, 4).status, 409) << "a program that cannot go on without its lead";
  EXPECT_FALSE(pod.is_lead());
}

// The lead before has dropped u9, and could not say so to us (seed 51238318 of the loops' histories).
TEST_F(APodOfARecoverableJob, LeadsWhereThoseBeforeItWereDroppedAndItHasNotHeardSo) {
  Membership known = members;
  known.epoch = Epoch{2};
  known.members.insert(known.members.begin() + 1, {"u9", "pod-9", "pod-9:1", 2, "", 0});
  pod.receive(NewLead{"u0", known}, "u0");
  EXPECT_EQ(name().status, 409) << "u9 is left";
  LeadRequest word{Fence{4}, "u1", {"u0"}, "pod pod-0 is gone", Epoch{2}, {"u0", "u1", "u2"}};
  EXPECT_EQ(pod.name_lead(word).status, 409) << "whom they have dropped by then is not known";
  word.epoch = Epoch{3};
  EXPECT_EQ(pod.name_lead(word).status, 200);
  EXPECT_TRUE(pod.is_lead());
  pod.receive(TakenOver{Fence{4}, known, {}}, "u2");
  edges.run();
  EXPECT_EQ(pod.membership().members.size(), 2u) << "nobody waits for u9";
}

// Nor could the one that was named then say that it leads.
TEST_F(APodOfARecoverableJob, LeadsWhereTheOneThatItFollowsWasDroppedAndItHasNotHeardSo) {
  const LeadRequest of_before{Fence{4}, "u1", {"u2"}, "pod pod-2 is gone", Epoch{1}, {"u1", "u2"}};
  EXPECT_EQ(pod.name_lead(of_before).status, 409) << "its lead may be well";
  const LeadRequest word{Fence{4}, "u1", {"u2"}, "pod pod-2 is gone", Epoch{2}, {"u2", "u1"}};
  EXPECT_EQ(pod.name_lead(word).status, 200);
  EXPECT_TRUE(pod.is_lead());
  pod.receive(TakenOver{Fence{4}, members, {}}, "u0");
  edges.run();
  EXPECT_EQ(pod.membership().members.size(), 1u) << "nobody waits for u0";
}

TEST_F(APodOfARecoverableJob, FollowsTheHighestFenceAndSaysWhatItsRanksHaveSaid) {
  PlannedChange plan{.id = "c", .next = Epoch{2}, .port = "", .add = {}, .remove = {"u2"}};
  const JobRecord record{Fence{1}, Epoch{1}, "u0", 2, kLeaverGrace, ProbeMode::All, {}, {}};
  pod.receive(Step{.kind = StepKind::Prepare, .number = 3, .change = "c", .record = record, .plan = plan},
              "u0");
  report(RankReport::Kind::Built, ranks()[0], "c");
  pod.receive(TakeOver{Fence{5}, {"u0"}, "c", "why"}, "u2");
  ASSERT_EQ(edges.sent_to<TakenOver>("u2").size(), 1u);
  ASSERT_EQ(edges.sent_to<TakenOver>("u2")[0].reports.size(), 1u);
  EXPECT_EQ(edges.sent_to<TakenOver>("u2")[0].reports[0].kind, RankReport::Kind::Built);
  EXPECT_TRUE(pod.plan());
  edges.sent.clear();
  pod.receive(TakeOver{Fence{4}, {"u0", "u2"}, "c", "late"}, "u9");
  pod.receive(Step{.kind = StepKind::GiveUp, .number = 9, .change = "c"}, "u0");
  EXPECT_TRUE(edges.sent.empty()) << "nobody listens to a lead of before";
  pod.second();
  EXPECT_EQ(edges.sent_to<Beat>("u2").size(), 1u);
}

// It has lost a rank, and its pod goes: until another one leads it is to be told things.
TEST_F(APodOfARecoverableJob, StillAnswersALeadThatHasDroppedItself) {
  pod.receive(Dropped{"u0", ranks_of(members.members[0]), next_membership(members, {}, {"u0"}), "recover-2"},
              "u0");
  EXPECT_TRUE(edges.known.contains("u0"));
}

// It had missed the end of the change, or the lead before its beginning.
TEST_F(APodOfARecoverableJob, ForgetsAChangeThatTheNextLeadDoesNotKnow) {
  PlannedChange plan{.id = "c", .next = Epoch{2}, .port = "", .add = {}, .remove = {"u2"}};
  const JobRecord record{Fence{1}, Epoch{1}, "u0", 2, kLeaverGrace, ProbeMode::All, {}, {}};
  pod.receive(Step{.kind = StepKind::Prepare, .number = 3, .change = "c", .record = record, .plan = plan},
              "u0");
  pod.receive(TakeOver{Fence{5}, {"u0"}, "", "why"}, "u2");
  EXPECT_FALSE(pod.plan());
}

TEST_F(APodOfARecoverableJob, WaitsForNothingOfAChangeThatItForgets) {
  PlannedChange plan{.id = "c", .next = Epoch{2}, .port = "empi.2.", .add = {}, .remove = {"u2"}};
  const JobRecord record{Fence{1}, Epoch{1}, "u0", 2, kLeaverGrace, ProbeMode::All, {}, {}};
  pod.receive(Step{.kind = StepKind::Prepare, .number = 3, .change = "c", .record = record, .plan = plan},
              "u0");
  int status = kPmixSuccess;
  pod.request(Lookup{0, {"empi.2.root"}, true, 0}, "", [&](const Reply& reply) { status = reply.status; });
  pod.receive(TakeOver{Fence{5}, {"u0"}, "", "why"}, "u2");
  EXPECT_NE(status, kPmixSuccess);
}

// The lead handed over, the next one was lost, and another one named before we heard that it had led: we
// followed one that nobody listens to, for ever (seed 20003389 of the loops' histories).
TEST_F(APodOfARecoverableJob, FollowsNobodyWhoWasLostAlready) {
  pod.receive(TakeOver{Fence{5}, {"u0"}, "", "why"}, "u2");
  edges.known.insert("u3");
  pod.receive(NewLead{"u0", members}, "u3");
  EXPECT_EQ(edges.sent_to<LeadKnown>("u3").size(), 1u) << "it waits for that";
  edges.sent.clear();
  pod.second();
  EXPECT_EQ(edges.sent_to<Beat>("u2").size(), 1u);
}

// One was named and could not say so; the lead before came back, and was told to go on without it. Its word
// came when it was a stranger, who was followed and not even listened to: nobody ended us when it was gone
// (seed 20020580).
TEST_F(APodOfARecoverableJob, DoesNotFollowWhoWasDroppedByALaterWord) {
  edges.known = {"u0", "u2"};
  pod.receive(
      Dropped{"u2", ranks_of(members.members[2]), next_membership(members, {}, {"u2"}), "", "", Fence{4}},
      "u0");
  pod.receive(TakeOver{Fence{3}, {"u0"}, "", "late"}, "u2");
  EXPECT_TRUE(edges.sent_to<TakenOver>("u2").empty());
  EXPECT_TRUE(edges.dismissed.contains("u2")) << "it leads still, and is to hear that it does not";
  EXPECT_FALSE(edges.dismissed.contains("u0"));
  edges.sent.clear();
  pod.second();
  EXPECT_EQ(edges.sent_to<Beat>("u0").size(), 1u);
}

// K7': who was cut off, and leads still, ends its ranks.
TEST_F(APodOfARecoverableJob, EndsAsALeadThatSeesAHigherFence) {
  ASSERT_EQ(name().status, 200);
  pod.receive(TakeOver{Fence{2}, {"u1"}, "", "late"}, "u2");
  ASSERT_FALSE(edges.outcome);
  pod.receive(TakeOver{Fence{4}, {"u0", "u1"}, "", "pod-1 has not answered"}, "u2");
  ASSERT_TRUE(edges.outcome);
  EXPECT_EQ(edges.outcome->result, JobResult::Failed);
  EXPECT_NE(edges.outcome->reason.find("pod u2 leads the job"), std::string::npos);
}

TEST_F(APodOfARecoverableJob, EndsAsALeadThatAMemberHasDismissed) {
  ASSERT_EQ(name().status, 200);
  pod.unreachable("u2", Standing::Dismissed, true, "pod u1 is no member of the job any more");
  ASSERT_TRUE(edges.outcome);
  EXPECT_NE(edges.outcome->reason.find("leads the job no more"), std::string::npos);
}

// One that leaves by the change in hand, and had not heard of the commit, was named. The lead before took it
// for a pod that is lost, and said so (seed 105556 of the loops' histories).
TEST_F(APodOfARecoverableJob, EndsAsALeadThatALeaverHasDismissed) {
  ASSERT_EQ(name().status, 200);
  PlannedChange plan{.id = "c", .next = Epoch{2}, .port = "", .add = {}, .remove = {"u2"}};
  const JobRecord record{Fence{3}, Epoch{1}, "u1", 2, kLeaverGrace, ProbeMode::All, {}, {}};
  for (const StepKind kind : {StepKind::Prepare, StepKind::Commit})
    pod.receive(Step{.kind = kind, .number = 3, .change = "c", .record = record, .plan = plan}, "u1");
  ASSERT_FALSE(pod.membership().find("u2"));
  pod.unreachable("u2", Standing::Dismissed, true, "pod u1 is no member of the job any more");
  ASSERT_TRUE(edges.outcome);
  EXPECT_NE(edges.outcome->reason.find("leads the job no more"), std::string::npos) << edges.outcome->reason;
}

}  // namespace
}  // namespace empi::agent
