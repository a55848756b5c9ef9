// SPDX-License-Identifier: Apache-2.0
// Programs that go on from copies of their data: which losses are borne, what everybody is told, and what
// ends it.
#include <gtest/gtest.h>
#include <signal.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/agent/lead/lead.hpp"

namespace empi::agent {
namespace {

using std::chrono::seconds;

// Four pods of two ranks.
class Recovery : public ::testing::Test {
 protected:
  Moment now;
  Lead lead{{"uid-0", "job"}};
  std::vector<Member> members;
  std::optional<Dropped> told;  // who is left
  std::optional<HandOver> handed_over;
  int replies = 0;

  void SetUp() override {
    StartRequest request{Fence{1}, {}};
    for (int i = 0; i < 4; ++i) {
      const std::string n = std::to_string(i);
      request.members.push_back({"uid-" + n, "pod-" + n, "pod-" + n + ":1", 2, "", 0});
    }
    lead.start(request, now);
    obey();
    members = lead.membership().members;
    for (std::size_t i = 0; i < members.size(); ++i) report(i, RankReport::Kind::Hello);
    for (std::size_t i = 0; i < members.size(); ++i) report(i, RankReport::Kind::Recoverable);
  }
  void obey() {
    for (bool more = true; more;) {
      const auto actions = lead.take_actions();
      more = !actions.empty();
      for (const LeadAction& action : actions) {
        const auto* sent = std::get_if<SendMessage>(&action);
        const auto* step = sent ? std::get_if<Step>(&sent->message) : nullptr;
        if (const auto* said = sent ? std::get_if<Dropped>(&sent->message) : nullptr;
            said && !said->recovery.empty())
          told = *said;
        if (const auto* all = sent ? std::get_if<HandOver>(&sent->message) : nullptr) handed_over = *all;
        if (sent && std::holds_alternative<Reply>(sent->message)) ++replies;
        for (const std::string& uid : step ? sent->uids : std::vector<std::string>{})
          lead.on(StepDone{step->change, step->number, {}}, uid, now);
      }
    }
  }
  void report(std::size_t i, RankReport::Kind kind, const std::string& name = "", std::int64_t iteration = 0,
              const std::string& error = "") {
    RankReport report;
    report.kind = kind;
    report.address = name;
    report.iteration = iteration;
    report.ok = error.empty();
    report.error = error;
    report.change = "c";
    const auto ranks = ranks_of(members[i]);
    report.proc = ranks.front();
    lead.on(RankReported{report, {ranks.begin(), ranks.end()}}, members[i].uid, now);
    obey();
  }
  void report_all(std::size_t i, RankReport::Kind kind) {
    for (const ProcId& proc : ranks_of(members[i])) {
      RankReport report;
      report.kind = kind;
      report.change = "c";
      report.proc = proc;
      report.ok = true;
      lead.on(RankReported{report, {proc}}, members[i].uid, now);
    }
    obey();
  }
  void is_killed(std::size_t i, int signal = SIGKILL) {
    lead.on(RankExited{ranks_of(members[i]).front(), 0, signal, false, true, {"last words"}}, members[i].uid,
            now);
    obey();
  }
  void recover(const std::vector<std::size_t>& pods, std::int64_t iteration) {
    const std::string name = told->recovery;
    for (const std::size_t i : pods) report(i, RankReport::Kind::Recovered, name, iteration);
  }
  MembershipView view() const {
    MembershipView view;
    lead.describe(view);
    return view;
  }
  ChangeRequest growth() const {
    ChangeRequest grow;
    grow.id = "c";
    grow.fence = Fence{1};
    grow.epoch = lead.membership().epoch;
    grow.add = {{"uid-9", "pod-9", "pod-9:1", 2, "", 0}};
    grow.deadline_ms = 10'000;
    return grow;
  }
};

TEST_F(Recovery, ThePodOfARankThatWasKilledIsDroppedAndTheOthersAreToldWhoIsLeft) {
  EXPECT_TRUE(view().survives_loss);
  is_killed(2);
  ASSERT_FALSE(lead.verdict());
  ASSERT_TRUE(told);
  EXPECT_EQ(told->uid, "uid-2");
  EXPECT_EQ(told->membership.members.size(), 3u);
  EXPECT_EQ(lead.membership().epoch.value, 2);
  EXPECT_NE(view().recovering.find("was killed by signal 9"), std::string::npos) << view().recovering;
  recover({0, 1}, 40);
  EXPECT_NE(view().recovering, "");
  recover({3}, 40);
  EXPECT_EQ(view().recovering, "");
  EXPECT_EQ(lead.known_changes().back().origin, ChangeOrigin::LostMember);
}

TEST_F(Recovery, NoChangeBeginsBeforeAllHaveTheirData) {
  is_killed(2);
  const ApiAnswer refused = lead.begin_change(growth(), now);
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(refused.body.find("recovering"), std::string::npos) << refused.body;
  recover({0, 1, 3}, 40);
  EXPECT_EQ(lead.begin_change(growth(), now).status, 200);
}

TEST_F(Recovery, AFurtherLossBeginsItAnew) {
  is_killed(2);
  const std::string first = told->recovery;
  recover({0}, 40);
  lead.pod_lost("uid-1", "its agent was not heard of for 10 s", now);
  obey();
  EXPECT_NE(told->recovery, first);
  EXPECT_EQ(told->membership.members.size(), 2u);
  report(3, RankReport::Kind::Recovered, first, 40);  // late
  EXPECT_NE(view().recovering, "");
  recover({0, 3}, 40);
  EXPECT_EQ(view().recovering, "");
}

TEST_F(Recovery, WhatCannotGoOnEndsTheJobInWords) {
  is_killed(2);
  report(1, RankReport::Kind::Recovered, told->recovery, 0, "no copy is left of what rank 4 had");
  ASSERT_TRUE(lead.verdict());
  EXPECT_NE(lead.verdict()->reason.find("no copy is left of what rank 4 had"), std::string::npos)
      << lead.verdict()->reason;
}

TEST_F(Recovery, ARankThatNeverComesBackEndsItWithinABound) {
  is_killed(2);
  lead.tick(now);
  recover({0, 1}, 40);
  now.clock += seconds(301);
  lead.tick(now);
  ASSERT_TRUE(lead.verdict());
  EXPECT_NE(lead.verdict()->reason.find("rank 4 (pod pod-3) has not within 300 s"), std::string::npos)
      << lead.verdict()->reason;
}

TEST_F(Recovery, ACrashIsTheProgramsOwn) {
  is_killed(2, SIGSEGV);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->result, JobResult::Failed);
}

TEST_F(Recovery, TheThirdLossAfterOneIterationIsTheProgramsOwn) {
  is_killed(3);
  recover({0, 1, 2}, 40);
  is_killed(2);
  recover({0, 1}, 40);
  ASSERT_FALSE(lead.verdict());
  is_killed(1);
  recover({0}, 40);
  ASSERT_TRUE(lead.verdict());
  EXPECT_NE(lead.verdict()->reason.find("3 times after iteration 40"), std::string::npos)
      << lead.verdict()->reason;
}

TEST_F(Recovery, LossesAtDifferentIterationsDoNotCountTogether) {
  is_killed(3);
  recover({0, 1, 2}, 40);
  is_killed(2);
  recover({0, 1}, 60);
  is_killed(1);
  recover({0}, 80);
  EXPECT_FALSE(lead.verdict());
}

// Its pod goes, as any other would, and the next one leads.
TEST_F(Recovery, ARankInThePodOfTheLeadIsBorneAndAnotherLeads) {
  is_killed(0);
  ASSERT_FALSE(lead.verdict());
  ASSERT_TRUE(told);
  EXPECT_EQ(told->uid, "uid-0");
  ASSERT_TRUE(handed_over);
  EXPECT_EQ(handed_over->record.membership().lead().uid, "uid-1");
  EXPECT_EQ(handed_over->state.recovery, told->recovery);
  lead.on(HandedOver{}, "uid-1", now);
  for (const char* uid : {"uid-1", "uid-2", "uid-3"}) lead.on(LeadKnown{}, uid, now);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->result, JobResult::Failed);
  EXPECT_NE(lead.verdict()->reason.find("was killed by signal 9"), std::string::npos);
}

// Another lead could have been named meanwhile: whoever drops a pod that has merely fallen silent has been
// told to.
TEST_F(Recovery, AMemberThatFallsSilentIsDroppedByAControllersWordOnly) {
  now.running += seconds(11);
  for (const char* uid : {"uid-1", "uid-3"}) lead.heard(uid, now);
  lead.second(now);
  obey();
  EXPECT_EQ(view().silent, std::vector<std::string>{"uid-2"});
  EXPECT_FALSE(told);
  lead.lose({Fence{2}, "uid-0", {"uid-2"}, "pod pod-2 is gone"}, now);
  obey();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->uid, "uid-2");
  EXPECT_TRUE(view().silent.empty());
  lead.lose({Fence{2}, "uid-0", {"uid-2"}, "pod pod-2 is gone"}, now);
  EXPECT_EQ(lead.membership().members.size(), 3u);
}

TEST_F(Recovery, ASilentMemberThatIsHeardAgainIsNoneOfTheSilent) {
  now.running += seconds(11);
  lead.second(now);
  EXPECT_EQ(view().silent.size(), 3u);
  lead.heard("uid-2", now);
  EXPECT_EQ(view().silent, (std::vector<std::string>{"uid-1", "uid-3"}));
}

// It had been called silent until 5 s later, and was dropped in that time (seed 100890 of the loops'
// histories).
TEST_F(Recovery, ASilentMemberThatIsReachedAgainIsNoneOfTheSilent) {
  lead.pod_silent("uid-2", "its agent cannot be reached", now);
  EXPECT_EQ(view().silent, std::vector<std::string>{"uid-2"});
  lead.reached("uid-2");
  EXPECT_TRUE(view().silent.empty());
  // That it takes what we say, and says nothing, does not help.
  now.running += seconds(11);
  lead.second(now);
  lead.reached("uid-2");
  EXPECT_EQ(view().silent.size(), 3u);
}

TEST_F(Recovery, ALeadThatIsToldNothingOfSilentMembersEndsInTheEnd) {
  for (int i = 0; i < 80 && !lead.verdict(); ++i) {
    now.running += seconds(1);
    for (const char* uid : {"uid-1", "uid-3"}) lead.heard(uid, now);
    lead.second(now);
    obey();
  }
  ASSERT_TRUE(lead.verdict());
  EXPECT_FALSE(told);
  EXPECT_NE(lead.verdict()->reason.find("no controller has said"), std::string::npos)
      << lead.verdict()->reason;
}

// Every beat of the lead has what the next one needs, as long as there may be one.
TEST_F(Recovery, MembersAreToldWhatTheNextLeadNeeds) {
  lead.second(now);
  const auto beat = [&] {
    std::optional<Beat> found;
    for (const LeadAction& action : lead.take_actions())
      if (const auto* sent = std::get_if<SendMessage>(&action))
        if (const auto* one = std::get_if<Beat>(&sent->message)) found = *one;
    return found;
  };
  auto said = beat();
  ASSERT_TRUE(said && said->news);
  EXPECT_EQ(said->news->next_space, 2);
  report(1, RankReport::Kind::Finalizing);
  lead.second(now);
  said = beat();
  ASSERT_TRUE(said);
  EXPECT_FALSE(said->news) << "a program that ends cannot go on";
}

TEST_F(Recovery, OnceARankFinalisesALossEndsTheJob) {
  report(1, RankReport::Kind::Finalizing);
  EXPECT_FALSE(view().survives_loss);
  is_killed(2);
  EXPECT_TRUE(lead.verdict());
}

// Before the window the change is called back, and the member is dropped when that is over.
TEST_F(Recovery, ALossInAChangeEndsTheChangeAndThenTheMembership) {
  ASSERT_EQ(lead.begin_change(growth(), now).status, 200);
  obey();
  ASSERT_EQ(lead.state(), ChangeState::Preparing);
  is_killed(2);
  ASSERT_FALSE(lead.verdict()) << lead.verdict()->reason;
  EXPECT_EQ(lead.state(), ChangeState::Stable);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->membership.members.size(), 3u);
  const auto changes = lead.known_changes();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].outcome, ChangeOutcome::RolledBack);
  EXPECT_EQ(changes[0].ended_by, ChangeEvent::MemberDown);
}

// Until then not every pod can tell its ranks of the one that is lost.
TEST(RecoveryRefused, WhereNotAllRanksHaveSaidSoALossEndsIt) {
  Moment now;
  Lead lead{{"uid-0", "job"}};
  lead.start({Fence{1}, {{"uid-0", "pod-0", "pod-0:1", 1, "", 0}, {"uid-1", "pod-1", "pod-1:1", 1, "", 0}}},
             now);
  RankReport report;
  report.kind = RankReport::Kind::Recoverable;
  report.proc = ranks_of(lead.membership().members[1]).front();
  lead.on(RankReported{report, {report.proc}}, "uid-1", now);
  MembershipView view;
  lead.describe(view);
  EXPECT_FALSE(view.survives_loss);
  lead.on(RankExited{report.proc, 0, SIGKILL, false, true, {}}, "uid-1", now);
  EXPECT_TRUE(lead.verdict());
}

TEST(RecoveryRefused, WhereTheJobSaysFailALossEndsIt) {
  Moment now;
  Lead lead{{"uid-0", "job"}};
  StartRequest request{Fence{1},
                       {{"uid-0", "pod-0", "pod-0:1", 1, "", 0}, {"uid-1", "pod-1", "pod-1:1", 1, "", 0}}};
  request.recover = false;
  lead.start(request, now);
  RankReport report;
  report.kind = RankReport::Kind::Recoverable;
  for (const Member& member : lead.membership().members) {
    report.proc = ranks_of(member).front();
    lead.on(RankReported{report, {report.proc}}, member.uid, now);
  }
  lead.on(RankExited{report.proc, 0, SIGKILL, false, true, {}}, "uid-1", now);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->result, JobResult::Failed);
}

// A rank of a pod that leaves is killed: the others of that pod take part in nothing any more, and have not
// ended when it goes. Whoever waited for them waited for ever (seeds 500288 and 34018565 of the loops'
// histories).
TEST_F(Recovery, NobodyWaitsForRanksOfAPodThatHasLeft) {
  ChangeRequest shrink = growth();
  shrink.add.clear();
  shrink.remove = {"uid-3"};
  ASSERT_EQ(lead.begin_change(shrink, now).status, 200);
  obey();
  for (const RankReport::Kind kind : {RankReport::Kind::Built, RankReport::Kind::Agreed})
    for (std::size_t i = 0; i < members.size(); ++i) report_all(i, kind);
  ASSERT_EQ(lead.state(), ChangeState::Draining);
  is_killed(3);
  for (std::uint64_t i = 0; i < 3; ++i)
    lead.on(Collective{i, "fence", {ProcId{"job.1", kAllRanks}}, ""}, members[i].uid, now);
  obey();
  EXPECT_EQ(replies, 0);
  for (std::size_t i = 0; i < 3; ++i) report_all(i, RankReport::Kind::Past);
  EXPECT_EQ(lead.membership().members.size(), 3U);
  EXPECT_EQ(lead.state(), ChangeState::Stable);
  EXPECT_EQ(replies, 3);
}

}  // namespace
}  // namespace empi::agent
