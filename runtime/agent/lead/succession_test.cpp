// SPDX-License-Identifier: Apache-2.0
// A lead that is lost is a lost member: the one that a controller has named ends the change that was in hand,
// drops who is dead, and goes on; there are never two.
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/agent/lead/testing/named_lead.hpp"

namespace empi::agent {
namespace {

using ReportKind = RankReport::Kind;

TEST_F(NamedLead, AsksAllWhatTheyKnowAndThenDropsTheOneBefore) {
  name();
  EXPECT_EQ(sent_to<TakeOver>("u2").size(), 1u);
  EXPECT_EQ(sent_to<TakeOver>("u0").size(), 1u) << "cut off and not dead, it has to hear of it";
  EXPECT_TRUE(sent_to<Dropped>("u2").empty());
  follows("u2");
  EXPECT_TRUE(sent_to<Dropped>("u2").empty()) << "u3 may know of another membership";
  follows("u3");
  ASSERT_EQ(sent_to<Dropped>("u2").size(), 1u);
  const Dropped dropped = sent_to<Dropped>("u2").front();
  EXPECT_EQ(dropped.uid, "u0");
  EXPECT_NE(dropped.recovery, "");
  EXPECT_EQ(members(), kLeft);
  EXPECT_EQ(lead.fence(), Fence{8});
  EXPECT_EQ(lead.known_changes().back().origin, ChangeOrigin::LostMember);
  EXPECT_NE(lead.known_changes().back().reason.find("pod pod-0 is gone"), std::string::npos);
  EXPECT_FALSE(lead.verdict());
}

// It took from those that it asked, with each beat, what they needed to be named themselves (seed 20003389 of
// the loops' histories).
TEST_F(NamedLead, MayBeLostWhileItAsks) {
  name();
  sent.clear();
  lead.second(now);
  take();
  const std::vector<Beat> beats = sent_to<Beat>("u2");
  ASSERT_EQ(beats.size(), 1u);
  ASSERT_TRUE(beats[0].news);
  EXPECT_EQ(beats[0].news->resumed_at, 40);
  EXPECT_EQ(beats[0].news->resumed_times, 2);
}

// Who was named by a lower one, and dropped, is followed by nobody who has heard this.
TEST_F(NamedLead, SaysByWhichWordItDrops) {
  name();
  follows("u2");
  follows("u3");
  const std::vector<Dropped> dropped = sent_to<Dropped>("u2");
  ASSERT_FALSE(dropped.empty());
  EXPECT_EQ(dropped.back().fence, Fence{8});
}

// The lead before may have begun one that nobody has heard of.
TEST_F(NamedLead, DoesNotUseTheEpochThatTheOneBeforeMayHaveBegun) {
  name();
  follows("u2");
  follows("u3");
  EXPECT_EQ(lead.membership().epoch, Epoch{7});
}

TEST_F(NamedLead, TakesTheNewestMembershipThatAnybodyKnows) {
  name();
  Membership newer = next_membership(own.membership, {}, {"u3"});
  follows("u2", {}, newer);
  follows("u3");
  EXPECT_EQ(members(), (std::vector<std::string>{"u1", "u2"}));
  EXPECT_EQ(lead.membership().epoch, Epoch{8});
}

// The word of it had not come to us. We waited for it, and it was nobody's member to be called lost (seed
// 3197 of the loops' histories).
TEST_F(NamedLead, DoesNotWaitForOneThatTheLeadBeforeHadDropped) {
  name();
  follows("u2", {}, next_membership(own.membership, {}, {"u3"}));
  EXPECT_EQ(members(), (std::vector<std::string>{"u1", "u2"}));
  const std::vector<Dropped> told = sent_to<Dropped>("u1");
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].uid, "u3") << "our ranks have not heard either";
  EXPECT_EQ(told[1].uid, "u0");
}

// It dropped itself, and led on; nobody was the lead then (seed 5637).
TEST_F(NamedLead, HandsOverWhereARankOfItsOwnWasLostBeforeItLed) {
  name();
  lead.on(RankExited{{"job.1", 1}, 0, SIGKILL, false, true, {"last words"}}, "u1", now);
  follows("u2");
  follows("u3");
  EXPECT_EQ(members(), (std::vector<std::string>{"u2", "u3"}));
  ASSERT_EQ(sent_to<HandOver>("u2").size(), 1u);
  EXPECT_EQ(uids_of(sent_to<HandOver>("u2")[0].record.membership().members), members());
}

TEST_F(NamedLead, DoesNotWaitForOneThatIsLostMeanwhile) {
  name();
  follows("u2");
  lead.lose({Fence{9}, "u1", {"u0", "u3"}, "pod pod-3 is gone"}, now);
  take();
  EXPECT_EQ(members(), (std::vector<std::string>{"u1", "u2"}));
  EXPECT_FALSE(lead.verdict());
}

// As the lead before had counted.
TEST_F(NamedLead, CountsTheLossesAtOneIterationOn) {
  name();
  follows("u2");
  follows("u3");
  const std::string recovery = sent_to<Dropped>("u2").front().recovery;
  for (const Member& member : lead.membership().members) {
    RankReport done;
    done.kind = ReportKind::Recovered;
    done.address = recovery;
    done.iteration = 40;
    done.proc = ranks_of(member).front();
    lead.on(RankReported{done, {done.proc}}, member.uid, now);
  }
  ASSERT_TRUE(lead.verdict());
  EXPECT_NE(lead.verdict()->reason.find("3 times after iteration 40"), std::string::npos)
      << lead.verdict()->reason;
}

TEST_F(NamedLead, GoesOnWithNamespacesThatWereNotUsed) {
  name();
  follows("u2");
  follows("u3");
  EXPECT_EQ(sent_to<Dropped>("u3").size(), 1u);
  lead.second(now);
  take();
  ASSERT_FALSE(sent_to<Beat>("u2").empty());
  ASSERT_TRUE(sent_to<Beat>("u2").back().news);
  EXPECT_EQ(sent_to<Beat>("u2").back().news->next_space, 5)
      << "the one before may have begun a change that nobody has heard of";
}

// --- A change was in hand.

TEST_F(NamedLead, CallsAChangeBackThatIsNotInItsWindow) {
  for (const ChangeState state : {ChangeState::Preparing, ChangeState::Building, ChangeState::Ready}) {
    SCOPED_TRACE(to_string(state));
    Lead fresh{{"u1", "job"}};
    SetUp();
    plan_growth(state);
    fresh.succeed(own, {Fence{8}, "u1", {"u0"}, "pod pod-0 is gone"}, now);
    std::vector<StepKind> kinds;
    bool dropped = false;
    for (const char* uid : {"u2", "u3"}) fresh.on(TakenOver{Fence{8}, own.membership, {}}, uid, now);
    for (int turn = 0; turn < 5; ++turn) {
      for (const LeadAction& action : fresh.take_actions()) {
        const auto* one = std::get_if<SendMessage>(&action);
        if (!one) continue;
        if (std::get_if<Dropped>(&one->message)) dropped = true;
        const auto* step = std::get_if<Step>(&one->message);
        if (!step) continue;
        kinds.push_back(step->kind);
        for (const std::string& uid : one->uids)
          if (uid != "u0" && uid != "u9") fresh.on(StepDone{step->change, step->number, {}}, uid, now);
        if (step->kind == StepKind::GiveUp)
          for (const char* uid : {"u1", "u2", "u3"}) {
            const RankReport off = report(uid, ReportKind::Built, false);
            fresh.on(RankReported{off, {off.proc}}, uid, now);
          }
      }
    }
    EXPECT_EQ(kinds, (std::vector{StepKind::GiveUp, StepKind::Forget}));
    EXPECT_TRUE(dropped);
    EXPECT_EQ(uids_of(fresh.membership().members), kLeft);
    ASSERT_EQ(fresh.known_changes().size(), 2u);
    EXPECT_EQ(fresh.known_changes()[0].outcome, ChangeOutcome::RolledBack);
  }
}

// It had rolled the change back and dropped a member, of which we had heard neither. We waited for that
// member (seed 32082576).
TEST_F(NamedLead, ANewerMembershipTellsThatAChangeIsOver) {
  plan_growth(ChangeState::RollingBack);
  name();
  follows("u2", {}, next_membership(own.membership, {}, {"u3"}));
  ASSERT_FALSE(steps_of("u2").empty());
  EXPECT_EQ(steps_of("u2").front(), StepKind::GiveUp) << "nobody is to know of it any more";
  for (const char* uid : {"u1", "u2"}) say(uid, ReportKind::Built, false);
  EXPECT_EQ(lead.state(), ChangeState::Stable);
  EXPECT_EQ(members(), (std::vector<std::string>{"u1", "u2"}));
  EXPECT_FALSE(lead.verdict());
}

// Of a window it may tell either.
TEST_F(NamedLead, ANewerMembershipTellsHowAVoteHasEnded) {
  for (const bool committed : {true, false}) {
    SCOPED_TRACE(committed);
    SetUp();
    plan_growth(ChangeState::Window);
    Lead fresh{{"u1", "job"}};
    fresh.succeed(own, {Fence{8}, "u1", {"u0"}, "pod pod-0 is gone"}, now);
    const Membership newer =
        committed ? own.plan->next_members() : next_membership(own.membership, {}, {"u3"});
    for (const char* uid : {"u2", "u3"}) fresh.on(TakenOver{Fence{8}, newer, {}}, uid, now);
    EXPECT_EQ(fresh.state(), committed ? ChangeState::Committed : ChangeState::RollingBack);
  }
}

// Who has armed waits for the confirmation: without it its rank would end the job.
TEST_F(NamedLead, ConfirmsTheWindowAgainAndHasItsRanksVoteNo) {
  plan_growth(ChangeState::Window);
  name();
  follows("u2");
  follows("u3");
  ASSERT_GE(steps_of("u2").size(), 2u);
  EXPECT_EQ(steps_of("u2")[0], StepKind::Confirm);
  EXPECT_EQ(sent_to<Step>("u2")[0].iteration, 17u);
  EXPECT_EQ(steps_of("u2")[1], StepKind::Interrupt);
  for (const char* uid : {"u1", "u2", "u3"}) say(uid, ReportKind::Agreed, false);
  EXPECT_EQ(members(), kLeft);
  EXPECT_FALSE(lead.verdict());
}

// They had voted before their lead was lost, and said so to nobody else.
TEST_F(NamedLead, CommitsWhatItsRanksHadAgreedUpon) {
  plan_growth(ChangeState::Window);
  own.reports = {report("u1", ReportKind::Agreed)};
  name();
  follows("u2", {report("u2", ReportKind::Agreed), report("u2", ReportKind::Past)});
  follows("u3", {report("u3", ReportKind::Agreed)});
  EXPECT_EQ(lead.state(), ChangeState::Committed) << "u9, which has joined by it, is there to answer";
  for (const Step& step : sent_to<Step>("u9"))
    if (step.kind == StepKind::Commit) lead.on(StepDone{step.change, step.number, {}}, "u9", now);
  for (const char* uid : {"u1", "u3", "u9"}) say(uid, ReportKind::Past);
  for (const Step& step : sent_to<Step>("u9"))
    if (step.kind == StepKind::Forget) lead.on(StepDone{step.change, step.number, {}}, "u9", now);
  take();
  EXPECT_EQ(members(), (std::vector<std::string>{"u1", "u2", "u3", "u9"}));
  EXPECT_FALSE(lead.verdict());
}

// Not all may have heard of the commit.
TEST_F(NamedLead, SpreadsACommitThatTheOneBeforeHadBegunToSpread) {
  plan_growth(ChangeState::Draining);
  name();
  follows("u2", {report("u2", ReportKind::Past)}, own.plan->old);
  follows("u3", {report("u3", ReportKind::Past)}, own.plan->old);
  // The newcomer is a member by now: it is asked, too.
  follows("u9", {report("u9", ReportKind::Past)});
  EXPECT_EQ(steps_of("u2").front(), StepKind::Commit);
  EXPECT_FALSE(lead.verdict());
}

TEST_F(NamedLead, EndsAProgramThatWasEnding) {
  plan_growth(ChangeState::Preparing);
  RankReport ends = report("u2", ReportKind::Finalizing);
  ends.change = "";
  name();
  follows("u2", {ends});
  follows("u3");
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->result, JobResult::Failed);
}

}  // namespace
}  // namespace empi::agent
