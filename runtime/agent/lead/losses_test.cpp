// SPDX-License-Identifier: Apache-2.0
// Losses of a master-worker program, and ends of its ranks, by what the lead has heard.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/agent/lead/lead.hpp"

namespace empi::agent {
namespace {

// Three pods with a rank each, whose agents do what the lead wants; the first is the lead's, and keeps the
// queue.
class Losses : public ::testing::Test {
 protected:
  const Moment now{};
  Lead lead{{"uid-0", "job"}};
  std::vector<Member> members;
  std::optional<HandOver> handed_over;
  std::map<std::string, std::set<ProcId>> told_lost;  // by whom was told
  std::map<std::string, std::string> told_next;       // who takes the queue over
  std::string attached_to;                            // by the last Attach

  void SetUp() override {
    lead.start({Fence{1},
                {{"uid-0", "pod-0", "pod-0:1", 1, "", 0},
                 {"uid-1", "pod-1", "pod-1:1", 1, "", 0},
                 {"uid-2", "pod-2", "pod-2:1", 1, "", 0}}},
               now);
    obey();
    members = lead.membership().members;
    for (std::size_t i = 0; i < members.size(); ++i) report(i, RankReport::Kind::Hello);
    report(0, RankReport::Kind::Queue);
  }
  void obey() {
    for (auto actions = lead.take_actions(); !actions.empty(); actions = lead.take_actions())
      for (const LeadAction& action : actions) {
        const auto* sent = std::get_if<SendMessage>(&action);
        const auto* step = sent ? std::get_if<Step>(&sent->message) : nullptr;
        if (const auto* all = sent ? std::get_if<HandOver>(&sent->message) : nullptr) handed_over = *all;
        if (const auto* said = sent ? std::get_if<Dropped>(&sent->message) : nullptr)
          for (const std::string& uid : sent->uids) {
            told_lost[uid].insert(said->procs.begin(), said->procs.end());
            if (!said->queue_to.empty()) told_next[uid] = said->queue_to;
          }
        if (step && step->kind == StepKind::Attach) attached_to = step->address;
        for (const std::string& uid : step ? sent->uids : std::vector<std::string>{})
          lead.on(StepDone{step->change, step->number, {}}, uid, now);
      }
  }
  ProcId rank(std::size_t i) const { return {members[i].nspace, members[i].first_rank}; }
  RankReport report_of(std::size_t i, RankReport::Kind kind) const {
    RankReport report;
    report.kind = kind;
    report.proc = rank(i);
    report.tasks = true;
    report.change = kind == RankReport::Kind::Agreed ? "c" : "";
    report.address = kind == RankReport::Kind::Queue ? members[i].address + "/queue" : "";
    return report;
  }
  ProcId joiner(int rank) const { return {"job.2", static_cast<std::uint32_t>(rank)}; }
  void say(RankReport::Kind kind, const ProcId& proc, const std::string& uid) {
    RankReport report = report_of(0, kind);
    report.proc = proc;
    report.change = kind == RankReport::Kind::Built ? "c" : "";
    lead.on(RankReported{report, {proc}}, uid, now);
    obey();
  }
  void report(std::size_t i, RankReport::Kind kind) {
    lead.on(RankReported{report_of(i, kind), {rank(i)}}, members[i].uid, now);
    obey();
  }
  void keeps_queue(std::size_t i, std::optional<std::size_t> mirror) {
    RankReport report = report_of(i, RankReport::Kind::Queue);
    if (mirror) report.mirror = name_of(rank(*mirror));
    lead.on(RankReported{report, {rank(i)}}, members[i].uid, now);
    obey();
  }
  std::optional<LeadNews> news() {
    lead.second(now);
    std::optional<LeadNews> found;
    for (const LeadAction& action : lead.take_actions())
      if (const auto* sent = std::get_if<SendMessage>(&action))
        if (const auto* beat = std::get_if<Beat>(&sent->message)) found = beat->news;
    return found;
  }
  void ends(std::size_t i, int code, int signal, bool finalised) {
    lead.on(RankExited{rank(i), code, signal, finalised, true, {"last words"}}, members[i].uid, now);
    obey();
  }
  void begin(std::vector<std::string> remove, std::vector<Member> add) {
    ChangeRequest change;
    change.id = "c";
    change.fence = Fence{1};
    change.epoch = lead.membership().epoch;
    change.remove = std::move(remove);
    change.add = std::move(add);
    change.deadline_ms = 10'000;
    ASSERT_EQ(lead.begin_change(change, now).status, 200);
    obey();
  }
  // Pods are to go, and their ranks have been told to; others have come.
  void begin_leave(std::vector<std::string> uids = {"uid-1", "uid-2"}, const std::vector<Member>& add = {}) {
    begin(std::move(uids), add);
    for (const RankReport::Kind kind : {RankReport::Kind::Hello, RankReport::Kind::Built})
      for (const Member& member : add)
        for (int r = 0; r < member.slots; ++r) say(kind, joiner(r), member.uid);
    ASSERT_EQ(lead.state(), ChangeState::Window);
  }
};

// Where the queue is on another pod, or mirrored there; not while it goes from one to another.
TEST_F(Losses, MembersAreToldWhereTheQueueIsForTheCaseThatTheLeadIsLost) {
  keeps_queue(0, std::nullopt);
  EXPECT_FALSE(news()) << "it is in the lead's pod alone";
  keeps_queue(0, 2);
  auto told = news();
  ASSERT_TRUE(told && told->queue);
  EXPECT_EQ(told->queue->keeper, rank(0));
  EXPECT_EQ(told->queue->mirror, rank(2));
  EXPECT_EQ(told->queue->address, members[0].address + "/queue");
  keeps_queue(1, std::nullopt);
  EXPECT_TRUE(news()) << "it is elsewhere";
  begin_leave({"uid-1"});
  EXPECT_FALSE(news());
}

// The lead of an inverse problem was cut off while two pods joined, and its members ended with it: they had
// been told to forget (bench chaos).
TEST_F(Losses, MembersAreToldSoWhileOthersLeave) {
  keeps_queue(0, 2);
  begin_leave({"uid-1"});
  EXPECT_TRUE(news());
}
TEST_F(Losses, MembersAreToldSoWhileOthersJoin) {
  keeps_queue(0, 2);
  begin({}, {{"uid-3", "pod-3", "pod-3:1", 1, "", 0}});
  EXPECT_TRUE(news());
}

TEST_F(Losses, ThatNobodyMirroredTheQueueIsSaid) {
  keeps_queue(1, std::nullopt);
  ends(1, 0, SIGKILL, false);
  ASSERT_TRUE(lead.verdict());
  EXPECT_NE(lead.verdict()->reason.find("kept the queue of tasks, and nobody else had a copy"),
            std::string::npos)
      << lead.verdict()->reason;
}
TEST_F(Losses, ThatNobodyMirroredTheQueueIsSaidOfItsPod) {
  keeps_queue(1, std::nullopt);
  lead.pod_lost("uid-1", "pod-1 was killed", now);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->reason,
            "pod pod-1 is lost: pod-1 was killed; it kept the queue of tasks, and nobody else had a copy");
}

// Another lead could have been named meanwhile.
TEST_F(Losses, OnceMembersWereToldSoNobodyIsDroppedForSilenceAlone) {
  keeps_queue(0, 2);
  lead.second(now);
  obey();
  lead.pod_silent("uid-1", "it was not heard of", now);
  EXPECT_EQ(lead.membership().members.size(), 3U);
  lead.lose({Fence{2}, "uid-0", {"uid-1"}, "it is gone"}, now);
  obey();
  EXPECT_FALSE(lead.verdict());
  EXPECT_EQ(lead.membership().members.size(), 2U);
}

// The queue of tasks went from a rank to another. The pod of the first, which does not learn of it, repeats
// in each beat what its rank has said last: joiners were sent to a queue that had gone.
TEST_F(Losses, WhoKeptTheQueueBeforeDoesNotKeepItAgain) {
  for (const std::size_t i : {1, 2}) report(i, RankReport::Kind::Queue);
  lead.on(Beat{.queue = report_of(1, RankReport::Kind::Queue)}, "uid-1", now);
  lead.pod_lost("uid-1", "the test says so", now);
  EXPECT_FALSE(lead.verdict()) << lead.verdict()->reason;
  lead.pod_lost("uid-2", "the test says so", now);
  EXPECT_TRUE(lead.verdict());
}

// Who mirrored it took it over and handed it on as it left: its word came after that of the next one, which
// says so in each beat.
TEST_F(Losses, WhoHasLeftTheQueueIsNotBelievedForLonger) {
  begin_leave({"uid-1"}, {{"uid-3", "pod-3", "pod-3:1", 1, "", 0}});
  report(2, RankReport::Kind::Queue);
  report(1, RankReport::Kind::Queue);
  report(1, RankReport::Kind::Agreed);
  lead.on(Beat{.queue = report_of(2, RankReport::Kind::Queue)}, "uid-2", now);
  ends(1, 0, 0, true);
  lead.pod_lost("uid-3", "the test says so", now);
  EXPECT_FALSE(lead.verdict()) << lead.verdict()->reason;
}

// Where the queue is, is lost: that a rank had it once which has ended meanwhile did not save the job.
TEST_F(Losses, WhoHasEndedDoesNotKeepTheQueueAgain) {
  report(1, RankReport::Kind::Queue);
  for (const std::size_t i : {0, 1}) ends(i, 0, 0, true);
  lead.on(Beat{.queue = report_of(0, RankReport::Kind::Queue)}, "uid-0", now);
  lead.pod_lost("uid-1", "the test says so", now);
  EXPECT_TRUE(lead.verdict());
}

// A leaver had passed it to a pod that was lost by then, and was not gone yet: the job went on without a
// queue.
TEST_F(Losses, WhoHasLeftTheQueueDoesNotKeepItAgain) {
  report(1, RankReport::Kind::Queue);
  begin_leave({"uid-1"});
  lead.pod_lost("uid-2", "the test says so", now);
  report(2, RankReport::Kind::Queue);
  report(1, RankReport::Kind::Agreed);
  lead.on(Beat{.queue = report_of(1, RankReport::Kind::Queue)}, "uid-1", now);
  EXPECT_FALSE(lead.verdict());
  ends(1, 0, 0, true);
  EXPECT_TRUE(lead.verdict());
}

// It made a new epoch by what was passed on to it, took the word that it leads for old news, and never led.
TEST_F(Losses, TheNextLeadDropsNobodyBeforeItLeads) {
  begin_leave({"uid-0"});
  report(1, RankReport::Kind::Queue);
  report(0, RankReport::Kind::Agreed);
  ends(0, 0, 0, true);
  ASSERT_TRUE(handed_over);
  Lead next({"uid-1", "job"});
  next.take_over(*handed_over, now);
  next.on(RankExited{rank(2), 0, SIGKILL, false, true, {}}, "uid-2", now);
  EXPECT_EQ(next.membership().members.size(), 2u);
  next.begin_to_lead(now);
  EXPECT_EQ(next.membership().members.size(), 1u);
}

// The other leaver has its last task in hand still: how long that takes must not decide about the job.
TEST_F(Losses, WhatALeaverReturnsCountsUntilItHasLeftTheQueue) {
  begin_leave();
  report(1, RankReport::Kind::Agreed);
  ends(1, 7, 0, true);
  EXPECT_FALSE(lead.verdict());
  report(2, RankReport::Kind::Agreed);
  ends(2, 7, 0, true);
  EXPECT_EQ(lead.state(), ChangeState::Stable);
  ends(0, 0, 0, true);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->result, JobResult::Succeeded) << lead.verdict()->reason;
}

// Its program ended while it was being asked to leave: the code that it returned was nobody's, and the job a
// success.
TEST_F(Losses, WhatALeaverReturnsCountsWhereTheProgramEndsFirst) {
  begin_leave({"uid-1"});
  report(1, RankReport::Kind::Finalizing);
  report(1, RankReport::Kind::Finalized);
  for (const std::size_t i : {0, 2}) ends(i, 0, 0, true);
  EXPECT_FALSE(lead.verdict());
  ends(1, 7, 0, true);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->exit_code, 7) << lead.verdict()->reason;
}

TEST_F(Losses, ALeaverThatCrashesOnceItHasLeftTheQueueFailsNothing) {
  begin_leave();
  report(1, RankReport::Kind::Agreed);
  ends(1, 0, SIGSEGV, false);
  EXPECT_FALSE(lead.verdict());
  report(2, RankReport::Kind::Agreed);
  lead.on(RankAborted{rank(2), 3, "on purpose", {}}, "uid-2", now);
  EXPECT_FALSE(lead.verdict());
}

TEST_F(Losses, ALeaverThatCrashesInItsLastTaskFailsTheJob) {
  begin_leave();
  ends(1, 0, SIGSEGV, false);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->reason, "rank 1 (pod pod-1) was killed by signal 11");
}

// It was killed while a leaver had its last task in hand, in the pod that had taken the queue over and cannot
// be dropped: it never counted as ended, and the job went on for ever.
TEST_F(Losses, AJoinerThatIsKilledBeforeTheCommitCountsAsEnded) {
  report(1, RankReport::Kind::Queue);
  begin_leave({"uid-1"}, {{"uid-3", "pod-3", "pod-3:1", 2, "", 0}});
  say(RankReport::Kind::Queue, joiner(0), "uid-3");
  lead.on(RankExited{joiner(1), 0, SIGKILL, false, true, {}}, "uid-3", now);
  report(1, RankReport::Kind::Agreed);
  ends(1, 0, 0, true);
  ASSERT_EQ(lead.state(), ChangeState::Stable);
  EXPECT_EQ(told_lost["uid-2"], std::set{joiner(1)});
  for (const std::size_t i : {0, 2}) ends(i, 0, 0, true);
  EXPECT_FALSE(lead.verdict());
  lead.on(RankExited{joiner(0), 0, 0, true, true, {}}, "uid-3", now);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->result, JobResult::Succeeded) << lead.verdict()->reason;
}

// From the window on it works like a member, and nothing calls it back: when it crashes, it would again.
TEST_F(Losses, AJoinerThatCrashesBeforeTheCommitIsAMemberThatCrashes) {
  begin_leave({"uid-1"}, {{"uid-3", "pod-3", "pod-3:1", 2, "", 0}});
  lead.on(RankExited{joiner(1), 0, SIGSEGV, false, true, {"last words"}}, "uid-3", now);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->reason, "joining rank job.2/1 (pod pod-3) was killed by signal 11");
}

TEST_F(Losses, AJoinerThatAbortsBeforeTheCommitIsAMemberThatAborts) {
  begin_leave({"uid-1"}, {{"uid-3", "pod-3", "pod-3:1", 2, "", 0}});
  lead.on(RankAborted{joiner(1), 3, "on purpose", {}}, "uid-3", now);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->exit_code, 3);
}

// Its connections may say nothing: who hands the queue over to it, or waits for it to come along, waited
// until the change was over, and the change waited for him.
TEST_F(Losses, WhoIsLostDuringAChangeIsSaidAtOnce) {
  begin_leave({"uid-0"}, {{"uid-3", "pod-3", "pod-3:1", 2, "", 0}});
  lead.pod_lost("uid-1", "the test says so", now);
  obey();
  EXPECT_EQ(lead.state(), ChangeState::Window);
  EXPECT_EQ(told_lost["uid-0"], std::set{rank(1)});
  lead.pod_lost("uid-3", "the test says so", now);
  obey();
  EXPECT_EQ(told_lost["uid-0"], (std::set{rank(1), joiner(0), joiner(1)}));
}

// Who kept the queue has passed it on and left, and nobody has said that he has it: it was passed to the pod
// that is lost. The workers of a queue whose machine has gone hear nothing of it.
TEST_F(Losses, APodThatMayHaveTakenTheQueueCannotBeLost) {
  report(1, RankReport::Kind::Queue);
  begin_leave({"uid-1"});
  report(1, RankReport::Kind::Agreed);
  lead.pod_lost("uid-2", "the test says so", now);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->reason,
            "pod pod-2 is lost: the test says so; the queue of tasks was on its way, perhaps to it");
}

// It had been given it a moment before, and the leaver that mirrored the queue waited for somebody to come
// with it (seed 37071854 of the histories).
TEST_F(Losses, WhereNobodySaysThatHeKeepsTheQueueTheJobEnds) {
  keeps_queue(1, 2);
  begin_leave({"uid-1", "uid-2"});
  ends(0, 0, SIGKILL, false);
  EXPECT_FALSE(lead.verdict());
  report(1, RankReport::Kind::Agreed);
  for (const int second : {0, 59}) {
    Moment later = now;
    later.running += std::chrono::seconds(second);
    lead.tick(later);
    EXPECT_FALSE(lead.verdict());
  }
  Moment late = now;
  late.running += std::chrono::seconds(61);
  lead.tick(late);
  ASSERT_TRUE(lead.verdict());
  EXPECT_NE(lead.verdict()->reason.find("nobody has said that he keeps it"), std::string::npos)
      << lead.verdict()->reason;
}

TEST_F(Losses, APodThatMayHaveTakenTheQueueCannotBeLostLater) {
  report(1, RankReport::Kind::Queue);
  begin_leave({"uid-1"});
  report(1, RankReport::Kind::Agreed);
  ends(1, 0, 0, true);
  ASSERT_EQ(lead.state(), ChangeState::Stable);
  lead.pod_lost("uid-2", "the test says so", now);
  EXPECT_TRUE(lead.verdict());
}

// Neither can a rank in a pod whose agent lives: the job went on without a queue.
TEST_F(Losses, ARankThatMayHaveTakenTheQueueCannotBeLost) {
  report(1, RankReport::Kind::Queue);
  begin_leave({"uid-1"});
  report(1, RankReport::Kind::Agreed);
  ends(2, 0, SIGKILL, false);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->reason, "rank 1 (pod pod-2) was killed by signal 9");
}

// The queue has come to its end with the program.
TEST_F(Losses, WhereTheQueueHasEndedPodsCanBeLost) {
  report(1, RankReport::Kind::Queue);
  ends(1, 0, 0, true);
  lead.pod_lost("uid-2", "the test says so", now);
  EXPECT_FALSE(lead.verdict());
}

// The lead's pod stays, as it does when it loses another rank of such a program.
TEST_F(Losses, WhoMirrorsTheQueueIsToldToTakeItOver) {
  keeps_queue(0, 1);
  ends(0, 0, SIGKILL, false);
  EXPECT_FALSE(lead.verdict()) << lead.verdict()->reason;
  EXPECT_EQ(told_next["uid-1"], name_of(rank(1)));
  EXPECT_EQ(told_next["uid-2"], name_of(rank(1)));
  EXPECT_EQ(told_lost["uid-1"], std::set{rank(0)});
  keeps_queue(1, std::nullopt);
  for (const std::size_t i : {1, 2}) ends(i, 0, 0, true);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->result, JobResult::Succeeded) << lead.verdict()->reason;
}

TEST_F(Losses, ThePodOfAQueueThatIsMirroredIsDropped) {
  keeps_queue(1, 2);
  lead.pod_lost("uid-1", "the test says so", now);
  obey();
  EXPECT_FALSE(lead.verdict()) << lead.verdict()->reason;
  EXPECT_EQ(told_next["uid-2"], name_of(rank(2)));
  EXPECT_EQ(lead.membership().members.size(), 2u);
}

TEST_F(Losses, UntilTheQueueIsMirroredAgainItCannotBeLostAgain) {
  keeps_queue(1, 2);
  lead.pod_lost("uid-1", "the test says so", now);
  lead.pod_lost("uid-2", "the test says so", now);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(lead.verdict()->reason,
            "pod pod-2 is lost: the test says so; it kept the queue of tasks, and nobody else had a copy");
}

TEST_F(Losses, TheQueueIsLostTwice) {
  keeps_queue(0, 1);
  ends(0, 0, SIGKILL, false);
  keeps_queue(1, 2);
  ends(1, 0, SIGKILL, false);
  EXPECT_FALSE(lead.verdict()) << lead.verdict()->reason;
  EXPECT_EQ(told_next["uid-2"], name_of(rank(2)));
}

TEST_F(Losses, AMirrorThatIsLostTooTakesNothingOver) {
  keeps_queue(0, 1);
  lead.pod_lost("uid-1", "the test says so", now);
  EXPECT_FALSE(lead.verdict());
  ends(0, 0, SIGKILL, false);
  ASSERT_TRUE(lead.verdict());
  EXPECT_EQ(
      lead.verdict()->reason,
      "rank 0 (pod pod-0) was killed by signal 9; it kept the queue of tasks, and nobody else had a copy");
}

TEST_F(Losses, AQueueThatIsMirroredNoMoreCannotBeLost) {
  keeps_queue(0, 1);
  keeps_queue(0, std::nullopt);
  ends(0, 0, SIGKILL, false);
  EXPECT_TRUE(lead.verdict());
}

// It had left, and the lead had not heard so when it named it.
TEST_F(Losses, AMirrorThatHasLeftTakesNothingOver) {
  keeps_queue(0, 1);
  begin_leave({"uid-1"});
  ends(0, 0, SIGKILL, false);
  EXPECT_FALSE(lead.verdict());
  report(1, RankReport::Kind::Agreed);
  ASSERT_TRUE(lead.verdict());
  EXPECT_NE(lead.verdict()->reason.find("which mirrored it, has left"), std::string::npos)
      << lead.verdict()->reason;
}

// The rank with the queue is to leave, and is lost before it has handed it over.
TEST_F(Losses, ALeaverWhoseQueueIsMirroredIsLost) {
  keeps_queue(1, 2);
  begin_leave({"uid-1"});
  lead.pod_lost("uid-1", "the test says so", now);
  obey();
  EXPECT_FALSE(lead.verdict()) << lead.verdict()->reason;
  EXPECT_EQ(told_next["uid-2"], name_of(rank(2)));
}

TEST_F(Losses, JoinersWaitForWhoTakesTheQueueOver) {
  keeps_queue(0, 1);
  ends(0, 0, SIGKILL, false);
  begin({}, {{"uid-3", "pod-3", "pod-3:1", 1, "", 0}});
  say(RankReport::Kind::Hello, joiner(0), "uid-3");
  EXPECT_EQ(attached_to, "") << "the queue is nowhere";
  keeps_queue(1, std::nullopt);
  EXPECT_EQ(attached_to, members[1].address + "/queue");
}

// The pod of the lead of such a program stays, also when it has lost a rank in a change: it was dropped at
// the change's end, with the queue.
TEST_F(Losses, TheLeadsPodStaysWhenItHasLostARankInAChange) {
  keeps_queue(0, 1);
  begin_leave({"uid-2"});
  ends(0, 0, SIGKILL, false);
  keeps_queue(1, std::nullopt);
  report(2, RankReport::Kind::Agreed);
  ends(2, 0, 0, true);
  EXPECT_EQ(lead.state(), ChangeState::Stable);
  EXPECT_FALSE(handed_over);
  EXPECT_EQ(lead.membership().members.size(), 2u);
}

// Each pod that stays or joins has lost a rank. The lead took what it says last for the end of a change that
// is rolled back: it forgot the joiners' namespace, the next one could not make out who the members are, and
// the job had a lead for ever that only waited for it.
TEST_F(Losses, WhereEveryOtherPodHasLostARankTheNextLeadIsToldOfAll) {
  begin_leave({"uid-0", "uid-1"}, {{"uid-3", "pod-3", "pod-3:1", 2, "", 0}});
  ends(2, 0, SIGKILL, false);
  lead.on(RankExited{joiner(0), 0, SIGKILL, false, true, {}}, "uid-3", now);
  obey();
  for (const std::size_t i : {0, 1}) report(i, RankReport::Kind::Agreed);
  for (const std::size_t i : {0, 1}) ends(i, 0, 0, true);
  ASSERT_TRUE(handed_over);
  EXPECT_EQ(uids_of(handed_over->record.membership().members), (std::vector<std::string>{"uid-2", "uid-3"}));
}

}  // namespace
}  // namespace empi::agent
