// SPDX-License-Identifier: Apache-2.0
// What a pod says, by what it has heard.
#include "runtime/agent/pod/pod.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace empi::agent {
namespace {

// Remembers what the pod does. Ranks obey.
class Edges : public PodEdges {
 public:
  std::vector<std::pair<std::string, Message>> sent;  // to whom, what
  std::vector<std::pair<ProcId, RankOrder::Kind>> ordered;
  std::set<std::string> known, dismissed;
  std::set<ProcId> deaf;
  std::map<ProcId, int> killed;  // by which signal
  std::deque<std::function<void()>> posted;
  std::optional<JobOutcome> outcome;
  RunningTime running{0};

  void run() {
    while (!posted.empty()) {
      const auto what = std::move(posted.front());
      posted.pop_front();
      what();
    }
  }
  template <class Kind>
  std::vector<Kind> sent_to(const std::string& uid) const {
    std::vector<Kind> all;
    for (const auto& [to, message] : sent)
      if (const auto* one = std::get_if<Kind>(&message); one && to == uid) all.push_back(*one);
    return all;
  }

  Moment moment() override { return {.clock = {}, .running = running}; }
  void post(std::function<void()> what) override { posted.push_back(std::move(what)); }
  void after(std::chrono::milliseconds, std::function<void()> what) override { post(std::move(what)); }
  bool knows(const std::string& uid) override { return known.contains(uid); }
  void admit(const std::string& uid, const std::string&) override { known.insert(uid); }
  void send(const std::vector<std::string>& uids, const Message& message) override {
    for (const std::string& uid : uids) sent.emplace_back(uid, message);
  }
  void part(const std::string& uid) override { known.erase(uid); }
  void dismiss(const std::string& uid) override {
    known.erase(uid);
    dismissed.insert(uid);
  }
  void drop(const std::string& uid) override { known.erase(uid); }
  void launch(const ProcId&, bool) override {}
  void kill(const ProcId& proc, int signal) override { killed[proc] = signal; }
  void kill_all() override {}
  std::string order(const ProcId& proc, const RankOrder& order) override {
    if (deaf.contains(proc)) return "it is deaf";
    ordered.emplace_back(proc, order.kind);
    return "";
  }
  void hear_ranks() override {}
  std::uint64_t highest_probe(const std::vector<ProcId>&, ProbeMode) override { return 0; }
  std::vector<ProbeMark> probe_marks(const std::vector<ProcId>&, ProbeMode) override { return {}; }
  bool arm(const std::vector<ProcId>&, const Step&, ProbeMode) override { return true; }
  void confirm(const std::vector<ProcId>&, std::uint64_t) override {}
  void disarm(const std::vector<ProcId>&) override {}
  void set_changing(const std::vector<ProcId>&, bool) override {}
  void add_namespace(const Namespace&) override {}
  void remove_namespace(const std::string&) override {}
  void notify(const RankEvent&) override {}
  void notify_dead(const ProcId&) override {}
  void connection_data(const ProcId&, Blob) override {}
  void ended(const JobOutcome& how) override { outcome = how; }
};

// Pod u1 of a job of three pods with two ranks each, whose lead is u0; its ranks are past MPI_Init.
class APod : public ::testing::Test {
 protected:
  Membership members{Epoch{1},
                     {{"u0", "pod-0", "pod-0:1", 2, "", 0},
                      {"u1", "pod-1", "pod-1:1", 2, "", 0},
                      {"u2", "pod-2", "pod-2:1", 2, "", 0}}};
  Edges edges;
  Pod pod{{.uid = "u1", .name = "pod-1", .job = "job", .slots = 2}, edges};

  void SetUp() override {
    const Namespace space = lay_out("job.1", members.members);
    JobRecord record{Fence{1}, Epoch{1}, "u0", 2, kLeaverGrace, ProbeMode::All, {"u0", "u1", "u2"}, {space}};
    pod.receive(Step{.kind = StepKind::Prepare, .number = 1, .record = record}, "u0");
    pod.receive(Step{.kind = StepKind::Launch, .number = 2, .space = "job.1"}, "u0");
    for (const ProcId& proc : ranks()) {
      pod.rank_connected(proc);
      report(RankReport::Kind::Hello, proc);
    }
    ASSERT_EQ(edges.sent_to<StepDone>("u0").size(), 2u);
    edges.sent.clear();
  }
  std::vector<ProcId> ranks() const { return ranks_of(members.members[1]); }
  void report(RankReport::Kind kind, const ProcId& proc, const std::string& change = "") {
    RankReport report;
    report.kind = kind;
    report.proc = proc;
    report.change = change;
    pod.rank_reported(report);
  }
  // The lead leaves, and this pod is the next.
  void hand_over() {
    next = next_membership(members, {}, {"u0"});
    HandOver all;
    all.record = JobRecord{Fence{1},     next.epoch,     "u0",         2,
                           kLeaverGrace, ProbeMode::All, {"u1", "u2"}, {lay_out("job.1", members.members)}};
    pod.receive(all, "u0");
  }
  void come_to_lead() { pod.receive(NewLead{"u1", next}, "u0"); }
  Membership next;
};

// Nobody plans a leave for one that cannot go on without its pods, and a namespace waited for it.
TEST(ARigidPod, PassesOnThatItIsAskedToTerminate) {
  for (const bool restartable : {false, true}) {
    Edges edges;
    Pod pod{{.uid = "u0", .name = "pod-0", .job = "job", .malleable = false, .restartable = restartable},
            edges};
    ASSERT_EQ(pod.start({Fence{1}, {{"u0", "pod-0", "pod-0:1", 1, "", 0}}}).status, 200);
    edges.run();
    pod.terminate();
    const std::map<ProcId, int> told{{{"job.1", 0}, SIGTERM}};
    EXPECT_EQ(edges.killed, restartable ? decltype(told)() : told);
  }
}

// As an ordinary pod it had given the other one up, which is the lead's to judge. It could send it nothing as
// the next lead: its requests hung (seeds 61453 and 201400 of the simulated histories).
TEST_F(APod, ReachesEveryMemberWhenItComesToLead) {
  edges.known = {"u0"};
  hand_over();
  edges.known.erase("u2");
  come_to_lead();
  EXPECT_EQ(edges.sent_to<NewLead>("u2").size(), 1u);
}

// The lead before had dropped it, and was lost before it could say so (seed 51075836 of loops).
TEST_F(APod, WaitsForNoAnswerOfOneThatTheNextLeadDoesNotKnow) {
  int answer = kPmixSuccess;
  pod.connection_data({"job.1", 4}, [&](int status, const std::string&) { answer = status; });
  edges.run();
  ASSERT_EQ(edges.sent_to<Modex>("u2").size(), 1u);
  pod.receive(NewLead{"u0", next_membership(members, {}, {"u2"})}, "u0");
  EXPECT_EQ(answer, kPmixError);
}

// One whose answers were lost was heard each time that it said the same again, and declared lost (seed
// 1037905).
TEST_F(APod, HearsWhoRepeatsHimself) {
  using namespace std::chrono_literals;
  hand_over();
  come_to_lead();
  edges.running = 9s;
  pod.heard("u2");
  edges.running = 18s;
  pod.second();
  EXPECT_FALSE(pod.over());
  edges.running = 20s;
  pod.second();
  EXPECT_TRUE(pod.over());
}

// The old lead and the new one both tell who leads. A request that comes twice under one number may come when
// the new lead has answered it: it would count as somebody's part of the next collective.
TEST_F(APod, AsksANewLeadOnceForWhatItWaitsFor) {
  pod.request(Collective{0, "fence", {ProcId{"job.1", kAllRanks}}, ""}, "", [](const Reply&) {});
  ASSERT_EQ(edges.sent_to<Collective>("u0").size(), 1u);
  const Membership next = next_membership(members, {}, {"u0"});
  pod.receive(NewLead{"u2", next}, "u2");
  pod.receive(NewLead{"u2", next}, "u0");
  EXPECT_EQ(edges.sent_to<Collective>("u2").size(), 1u);
  EXPECT_EQ(edges.sent_to<LeadKnown>("u0").size(), 1u);
  EXPECT_EQ(edges.sent_to<LeadKnown>("u2").size(), 1u);
}

TEST_F(APod, RepeatsItsWholeStateWithEachBeat) {
  pod.rank_ended(ranks()[0], 3, 0, {"last words"});
  ASSERT_EQ(edges.sent_to<RankExited>("u0").size(), 1u);
  EXPECT_EQ(edges.sent_to<RankExited>("u0")[0].tail.size(), 1u);
  edges.sent.clear();
  for (int i = 0; i < 2; ++i) pod.second();
  const std::vector<Beat> beats = edges.sent_to<Beat>("u0");
  ASSERT_EQ(beats.size(), 2u);
  for (const Beat& beat : beats) {
    EXPECT_EQ(beat.hello, ranks());
    EXPECT_EQ(beat.connected, 1);
    ASSERT_EQ(beat.ended.size(), 1u);
    EXPECT_EQ(beat.ended[0].code, 3);
    EXPECT_TRUE(beat.ended[0].tail.empty());
    EXPECT_FALSE(beat.ended[0].may_exit);
  }
}

// Fetch is answered when every rank has said that it can build, or at once when one cannot be asked.
TEST_F(APod, SaysWhichRankCannotBeAsked) {
  PlannedChange plan{.id = "c", .next = Epoch{2}, .port = "", .add = {}, .remove = {"u2"}};
  const JobRecord record{Fence{1}, Epoch{1}, "u0", 2, kLeaverGrace, ProbeMode::All, {}, {}};
  for (const bool deaf : {false, true}) {
    if (deaf) edges.deaf = {ranks()[1]};
    pod.receive(Step{.kind = StepKind::Prepare, .number = 3, .change = "c", .record = record, .plan = plan},
                "u0");
    edges.sent.clear();
    pod.receive(Step{.kind = StepKind::Fetch, .number = 4, .change = "c"}, "u0");
    if (!deaf) {
      report(RankReport::Kind::Ready, ranks()[0], "c");
      EXPECT_TRUE(edges.sent_to<StepDone>("u0").empty());
      report(RankReport::Kind::Ready, ranks()[1], "c");
    }
    const std::vector<StepDone> done = edges.sent_to<StepDone>("u0");
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].answer.ok, !deaf);
    EXPECT_EQ(done[0].answer.error, deaf ? "rank job.1/3 was not told to prepare: it is deaf" : "");
  }
}

// A rank that passes a revocation on to one that is lost, and that it has never sent anything before, asks
// its agent for the data of that one, and crashes without (quirk modex-refused; seen with 16 ranks).
TEST_F(APod, DeclaresItsRanksRecoverableWhenItHasTheConnectionDataOfAllPods) {
  edges.known = {"u0", "u2"};
  for (const ProcId& proc : ranks()) report(RankReport::Kind::Recoverable, proc);
  EXPECT_TRUE(edges.sent_to<RankReported>("u0").empty());
  for (const Member& other : {members.members[0], members.members[2]}) {
    const auto asked = edges.sent_to<ModexOfPod>(other.uid);
    ASSERT_EQ(asked.size(), 1u) << other.uid;
    Reply reply{.id = asked[0].id};
    for (const ProcId& proc : ranks_of(other)) reply.blobs.push_back({proc.rank, "of " + other.uid});
    pod.receive(reply, other.uid);
  }
  edges.run();
  const auto said = edges.sent_to<RankReported>("u0");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].report.kind, RankReport::Kind::Recoverable);
  std::string data;
  pod.connection_data(ranks_of(members.members[2]).back(),
                      [&](int, const std::string& blob) { data = blob; });
  EXPECT_EQ(data, "of u2");
}

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

// Whatever the program: of a lead that is no member, and to whom nothing is sent, nobody says that it cannot
// be reached.
TEST_F(APod, EndsWhenItHasNotHeardOfALeadThatItDoesNotReach) {
  using namespace std::chrono_literals;
  pod.receive(NewLead{"u9", members}, "u0");
  edges.running = 59s;
  pod.tick();
  EXPECT_FALSE(edges.outcome);
  edges.running = 61s;
  pod.tick();
  EXPECT_TRUE(edges.outcome);
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

TEST_F(APod, EndsWithItsLeadAndNotWithAnotherPod) {
  pod.unreachable("u2", Standing::Silent, true, "no answer");
  EXPECT_FALSE(edges.outcome);
  EXPECT_FALSE(edges.known.contains("u2"));
  pod.unreachable("u0", Standing::Silent, true, "no answer");
  ASSERT_TRUE(edges.outcome);
  EXPECT_EQ(edges.outcome->reason, "lost the lead (pod u0): its agent cannot be reached (no answer)");
}

}  // namespace
}  // namespace empi::agent
