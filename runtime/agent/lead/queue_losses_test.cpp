// SPDX-License-Identifier: Apache-2.0
// Where the queue of tasks is, by what the lead has heard, and what the loss of who keeps or mirrors it
// costs.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "runtime/agent/lead/testing/queue_fixture.hpp"

namespace empi::agent {
namespace {

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

// Who kept the queue has passed it on and left, and nobody has said to have it: it was passed to the pod
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
  EXPECT_NE(lead.verdict()->reason.find("no rank has said that it keeps it"), std::string::npos)
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

}  // namespace
}  // namespace empi::agent
