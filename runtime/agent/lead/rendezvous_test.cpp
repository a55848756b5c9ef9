// SPDX-License-Identifier: Apache-2.0
// Collectives and the publish/lookup store of the lead.
#include "runtime/agent/lead/rendezvous.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/protocol/world_keys.hpp"

namespace empi::agent {
namespace {

using namespace std::chrono_literals;

class RendezvousTest : public ::testing::Test {
 protected:
  NamespaceTable spaces;
  Rendezvous rendezvous{spaces};
  std::vector<ProcId> world = {{"n", kAllRanks}};
  const Rendezvous::TimePoint never = Rendezvous::TimePoint::max();

  void SetUp() override {
    std::vector<Member> members = {{"a", "pa", "a:1", 2, "", 0}, {"b", "pb", "b:1", 1, "", 0}};
    spaces.add(lay_out("n", members));
    std::vector<Member> newcomers = {{"c", "pc", "c:1", 1, "", 0}};
    spaces.add(lay_out("m", newcomers));
  }
  static Published datum(const std::string& key, bool once = false) {
    return {key, {"n", 0}, "v:" + key, once};
  }
};

TEST_F(RendezvousTest, ACollectiveEndsWhenEveryPodHasContributed) {
  EXPECT_TRUE(rendezvous.contribute("fence", world, {"a", 1}, "A").empty());
  const RendezvousReplies done = rendezvous.contribute("fence", world, {"b", 7}, "B");
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].to.uid, "a");
  EXPECT_EQ(done[0].to.id, 1u);
  EXPECT_EQ(done[1].to.id, 7u);
  for (const RendezvousReply& r : done) EXPECT_EQ(r.blob, "AB");
  EXPECT_EQ(rendezvous.pending(), 0u);
}

TEST_F(RendezvousTest, TheOrderOfTheParticipantsDoesNotMatter) {
  EXPECT_TRUE(rendezvous.contribute("connect", {{"n", 0}, {"m", 0}}, {"a", 1}, "").empty());
  EXPECT_EQ(rendezvous.contribute("connect", {{"m", 0}, {"n", 0}}, {"c", 1}, "").size(), 2u);
}

TEST_F(RendezvousTest, KindsAreKeptApartAndOnlyPodsWithListedRanksTakePart) {
  EXPECT_TRUE(rendezvous.contribute("connect", world, {"a", 1}, "").empty());
  EXPECT_TRUE(rendezvous.contribute("disconnect", world, {"b", 1}, "").empty());
  EXPECT_EQ(rendezvous.contribute("fence", {{"n", 2}}, {"b", 2}, "").size(), 1u);
}

TEST_F(RendezvousTest, ARankThatHasExitedIsNotWaitedFor) {
  EXPECT_TRUE(rendezvous.contribute("fence", world, {"a", 1}, "A").empty());
  ASSERT_TRUE(spaces.rank_exited({"n", 2}));
  EXPECT_EQ(rendezvous.rank_gone({"n", 2}).size(), 1u);
}

TEST_F(RendezvousTest, ARankThatIsNamedTwiceEndsOnce) {
  EXPECT_TRUE(rendezvous.contribute("fence", {{"n", kAllRanks}, {"n", 2}}, {"a", 1}, "A").empty());
  ASSERT_TRUE(spaces.rank_exited({"n", 2}));
  EXPECT_FALSE(spaces.rank_exited({"n", 2}));
  EXPECT_FALSE(spaces.rank_exited({"n", 3})) << "there is none";
  EXPECT_EQ(rendezvous.rank_gone({"n", 2}).size(), 1u);
}

TEST_F(RendezvousTest, APodThatIsGoneIsNotWaitedForByAnyOfTheSame) {
  for (const std::uint64_t id : {1, 2, 3})
    EXPECT_TRUE(rendezvous.contribute("fence", world, {"a", id}, "A").empty());
  spaces.pod_gone("b");
  EXPECT_EQ(rendezvous.recheck().size(), 3u);
  EXPECT_EQ(rendezvous.pending(), 0u);
}

TEST_F(RendezvousTest, APodThatIsGoneIsNotWaitedFor) {
  EXPECT_TRUE(rendezvous.contribute("fence", world, {"a", 1}, "A").empty());
  EXPECT_TRUE(rendezvous.contribute("connect", {{"n", 0}, {"m", 0}}, {"a", 2}, "").empty());
  spaces.pod_gone("b");
  EXPECT_EQ(rendezvous.recheck().size(), 1u);
  spaces.pod_gone("c");
  EXPECT_EQ(rendezvous.contribute("connect", {{"n", 0}, {"m", 0}}, {"a", 2}, "").size(), 1u)
      << "whoever notices first";
}

TEST_F(RendezvousTest, ThoseWhoAreAheadWaitForTheOthersTwice) {
  EXPECT_TRUE(rendezvous.contribute("fence", world, {"a", 1}, "A").empty());
  EXPECT_TRUE(rendezvous.contribute("fence", world, {"a", 2}, "A2").empty());
  EXPECT_EQ(rendezvous.contribute("fence", world, {"b", 1}, "B").at(0).blob, "AB");
  EXPECT_EQ(rendezvous.contribute("fence", world, {"b", 2}, "B2").at(0).blob, "A2B2");
  EXPECT_EQ(rendezvous.pending(), 0u);
}

TEST_F(RendezvousTest, APodStaysParticipantWhileOneOfItsRanksLives) {
  EXPECT_TRUE(rendezvous.contribute("fence", world, {"b", 1}, "").empty());
  spaces.rank_exited({"n", 0});
  EXPECT_TRUE(rendezvous.rank_gone({"n", 0}).empty());
  spaces.rank_exited({"n", 1});
  EXPECT_EQ(rendezvous.rank_gone({"n", 1}).size(), 1u);
}

TEST_F(RendezvousTest, ARepeatedContributionCountsOnce) {
  EXPECT_TRUE(rendezvous.contribute("fence", world, {"a", 1}, "A").empty());
  EXPECT_TRUE(rendezvous.contribute("fence", world, {"a", 1}, "A").empty());
  EXPECT_EQ(rendezvous.contribute("fence", world, {"b", 1}, "B").size(), 2u);
  EXPECT_EQ(rendezvous.pending(), 0u);
}

TEST_F(RendezvousTest, LookupWaitsForAllKeys) {
  EXPECT_TRUE(rendezvous.lookup({"x", "y"}, true, never, {"b", 1}).empty());
  EXPECT_EQ(rendezvous.publish({datum("x")}, {"a", 1}).size(), 1u) << "only the publisher is answered";
  const RendezvousReplies r = rendezvous.publish({datum("y")}, {"a", 2});
  ASSERT_EQ(r.size(), 2u);
  EXPECT_EQ(r[1].found.size(), 2u);
  EXPECT_EQ(r[1].found[0].value, "v:x");
}

TEST_F(RendezvousTest, LookupWithoutWaitAnswersAtOnce) {
  EXPECT_EQ(rendezvous.lookup({"x"}, false, never, {"a", 1})[0].status, kPmixNotFound);
  rendezvous.publish({datum("x")}, {"a", 2});
  EXPECT_EQ(rendezvous.lookup({"x", "z"}, false, never, {"a", 3})[0].found.size(), 1u);
}

TEST_F(RendezvousTest, FirstReadIsReadOnce) {
  rendezvous.publish({datum("x", true)}, {"a", 1});
  EXPECT_EQ(rendezvous.lookup({"x"}, true, never, {"b", 1}).size(), 1u);
  EXPECT_TRUE(rendezvous.lookup({"x"}, true, never, {"b", 2}).empty());
}

TEST_F(RendezvousTest, LookupsExpire) {
  const auto now = Rendezvous::TimePoint{} + 10s;
  rendezvous.lookup({"x"}, true, now + 1s, {"a", 1});
  EXPECT_TRUE(rendezvous.expire(now).empty());
  EXPECT_EQ(rendezvous.expire(now + 1s)[0].status, kPmixTimeout);
}

TEST_F(RendezvousTest, OnlyTheOwnerUnpublishes) {
  rendezvous.publish({datum("x")}, {"a", 1});
  rendezvous.unpublish({"x"}, {"n", 1}, {"a", 2});
  EXPECT_EQ(rendezvous.lookup({"x"}, false, never, {"a", 3})[0].status, kPmixSuccess);
  rendezvous.unpublish({"x"}, {"n", 0}, {"a", 4});
  EXPECT_EQ(rendezvous.lookup({"x"}, false, never, {"a", 5})[0].status, kPmixNotFound);
}

TEST_F(RendezvousTest, AChangeThatHasEndedFailsWhatWaitsAndWhatComesLate) {
  rendezvous.lookup({"port.7.:accept"}, true, never, {"a", 1});
  rendezvous.lookup({"other"}, true, never, {"a", 2});
  rendezvous.publish({datum("port.7.:connect")}, {"c", 1});
  rendezvous.contribute("connect", {{"n", 0}, {"m", 0}}, {"a", 3}, "");
  const RendezvousReplies failed = rendezvous.end_change("port.7.", "m");
  ASSERT_EQ(failed.size(), 2u);
  for (const RendezvousReply& r : failed) EXPECT_NE(r.status, kPmixSuccess);
  EXPECT_NE(rendezvous.lookup({"port.7.:x"}, true, never, {"a", 4}).at(0).status, kPmixSuccess);
  EXPECT_NE(rendezvous.publish({datum("port.7.:x")}, {"a", 5}).at(0).status, kPmixSuccess);
  EXPECT_NE(rendezvous.contribute("connect", {{"m", kAllRanks}}, {"c", 6}, "").at(0).status, kPmixSuccess);
  EXPECT_EQ(rendezvous.publish({datum("port.77.")}, {"a", 6}).at(0).status, kPmixSuccess)
      << "another change's port";
  EXPECT_EQ(rendezvous.pending(), 1u) << "what is not of the change goes on waiting";
}

// Open MPI tells only the root of a call that it has failed, and the other ranks of its side never come back.
TEST_F(RendezvousTest, WhoHasMetForAWorldThatIsGivenUpEndsThatTogether) {
  const auto published = [](const std::string& key, const ProcId& by) {
    return Published{key, by, "v:" + key, true};
  };
  const ProcId upper{"n", 0}, lower{"n", 2}, other{"m", 0};
  rendezvous.publish({published("w.0.1.:accept", upper)}, {"a", 1});
  rendezvous.lookup({"w.0.1.:connect"}, true, never, {"a", 2});
  EXPECT_EQ(rendezvous.publish({published("w.0.1.:connect", lower)}, {"b", 1}).size(), 2u) << "they have met";
  rendezvous.publish({published("w.2.1.:connect", other)}, {"c", 1});
  rendezvous.lookup({"w.2.1.:accept"}, true, never, {"c", 2});
  ASSERT_EQ(rendezvous.give_up_world("w.", {}).size(), 1u);
  EXPECT_EQ(rendezvous.give_up_world("w.", {}).size(), 0u) << "every rank says so";
  EXPECT_NE(rendezvous.publish({published("w.2.1.:accept", upper)}, {"a", 3}).at(0).status, kPmixSuccess);
  // The one that has not read yet, and what follows in the same call.
  EXPECT_EQ(rendezvous.lookup({"w.0.1.:accept"}, true, never, {"b", 2}).at(0).found.at(0).value,
            "v:w.0.1.:accept");
  EXPECT_EQ(rendezvous.publish({published("w.0.1.:nextcid:send:0", lower)}, {"b", 3}).at(0).status,
            kPmixSuccess);
  EXPECT_TRUE(rendezvous.lookup({"w.0.1.:nextcid:recv:0"}, true, never, {"b", 4}).empty());
  // Unless the other one dies.
  ASSERT_TRUE(spaces.rank_exited(upper));
  const RendezvousReplies failed = rendezvous.rank_gone(upper);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].to.uid, "b");
  EXPECT_NE(failed[0].status, kPmixSuccess);
  EXPECT_NE(rendezvous.publish({published("w.0.1.:nextcid:send:1", lower)}, {"b", 5}).at(0).status,
            kPmixSuccess);
  EXPECT_EQ(rendezvous.pending(), 0u);
}

TEST_F(RendezvousTest, WhoIsOutOfAWorldIsNotWaitedForThere) {
  const ProcId upper{"n", 0}, lower{"n", 2};
  rendezvous.publish({{"w.0.1.:accept", upper, "v", true}}, {"a", 1});
  rendezvous.publish({{"w.0.1.:connect", lower, "v", true}}, {"b", 1});
  rendezvous.lookup({"w.0.1.:nextcid:recv:0"}, true, never, {"b", 2});
  EXPECT_TRUE(rendezvous.give_up_world("w.", {}).empty());
  const RendezvousReplies failed = rendezvous.give_up_world("w.", upper);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_NE(failed[0].status, kPmixSuccess);
}

// From that word on some have begun: whoever asks finds it, and before it nobody does.
TEST_F(RendezvousTest, ThatAllHaveComeToAWorldIsFoundAlsoWhenItIsGivenUp) {
  const std::string world = world_port("w"), all = world + std::string(kAllHaveCome);
  EXPECT_TRUE(rendezvous.lookup({all}, true, never, {"a", 1}).empty());
  ASSERT_EQ(rendezvous.publish({datum(all)}, {"b", 2}).size(), 2u) << "and the one who waits is told";
  rendezvous.give_up_world(world, std::nullopt);
  const RendezvousReplies late = rendezvous.lookup({all}, true, never, {"b", 3});
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].status, kPmixSuccess);

  const std::string other = world_port("x"), none = other + std::string(kAllHaveCome);
  EXPECT_TRUE(rendezvous.lookup({none}, true, never, {"a", 4}).empty());
  const RendezvousReplies refused = rendezvous.give_up_world(other, std::nullopt);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].status, kPmixNotFound);
  EXPECT_EQ(rendezvous.publish({datum(none)}, {"b", 5})[0].status, kPmixError);
}

TEST_F(RendezvousTest, TheNextLeadKnowsDataAndTombstones) {
  rendezvous.publish({datum("x")}, {"a", 1});
  rendezvous.end_change("port.7.", "dead");
  Rendezvous next(spaces);
  next.take_over(rendezvous.hand_over());
  EXPECT_EQ(next.lookup({"x"}, false, never, {"a", 2})[0].found.at(0).value, "v:x");
  EXPECT_NE(next.lookup({"port.7.:accept"}, true, never, {"a", 3}).at(0).status, kPmixSuccess);
  EXPECT_NE(next.contribute("fence", {{"dead", 0}}, {"a", 4}, "").at(0).status, kPmixSuccess);
}

// A lead was lost when it had told one pod and not the other, which asked the next lead, and got the first
// one's part of the next round for it.
TEST_F(RendezvousTest, WhatALostLeadHadAnsweredIsAnsweredToTheOthers) {
  EXPECT_TRUE(rendezvous.contribute("fence", world, {"b", 3}, "B", 5).empty());
  const RendezvousReplies done = rendezvous.answered("fence", world, 5, "AB");
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].to.uid, "b");
  EXPECT_EQ(done[0].to.id, 3u);
  EXPECT_EQ(done[0].blob, "AB");
  EXPECT_EQ(rendezvous.pending(), 0u);
  EXPECT_TRUE(rendezvous.contribute("fence", world, {"a", 9}, "A2", 6).empty());
  EXPECT_EQ(rendezvous.contribute("fence", world, {"b", 4}, "B2", 6).size(), 2u);
}

TEST_F(RendezvousTest, AndToWhoAsksLater) {
  EXPECT_TRUE(rendezvous.answered("fence", world, 5, "AB").empty());
  EXPECT_EQ(rendezvous.contribute("fence", world, {"b", 3}, "B", 5).at(0).blob, "AB");
  EXPECT_TRUE(rendezvous.contribute("fence", world, {"b", 4}, "B2", 6).empty());
}

}  // namespace
}  // namespace empi::agent
