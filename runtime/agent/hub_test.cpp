// Collectives and the publish/lookup store of the lead.
#include "runtime/agent/hub.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace empi::agent {
namespace {

using namespace std::chrono_literals;

class HubTest : public ::testing::Test {
 protected:
  NamespaceTable spaces;
  Hub hub{spaces};
  std::vector<ProcId> world = {{"n", kAllRanks}};
  const Hub::TimePoint never = Hub::TimePoint::max();

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

TEST_F(HubTest, ACollectiveEndsWhenEveryPodHasContributed) {
  EXPECT_TRUE(hub.contribute("fence", world, {"a", 1}, "A").empty());
  const HubReplies done = hub.contribute("fence", world, {"b", 7}, "B");
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].to.uid, "a");
  EXPECT_EQ(done[0].to.id, 1u);
  EXPECT_EQ(done[1].to.id, 7u);
  for (const HubReply& r : done) EXPECT_EQ(r.blob, "AB");
  EXPECT_EQ(hub.pending(), 0u);
}

TEST_F(HubTest, TheOrderOfTheParticipantsDoesNotMatter) {
  EXPECT_TRUE(hub.contribute("connect", {{"n", 0}, {"m", 0}}, {"a", 1}, "").empty());
  EXPECT_EQ(hub.contribute("connect", {{"m", 0}, {"n", 0}}, {"c", 1}, "").size(), 2u);
}

TEST_F(HubTest, KindsAreKeptApartAndOnlyPodsWithListedRanksTakePart) {
  EXPECT_TRUE(hub.contribute("connect", world, {"a", 1}, "").empty());
  EXPECT_TRUE(hub.contribute("disconnect", world, {"b", 1}, "").empty());
  EXPECT_EQ(hub.contribute("fence", {{"n", 2}}, {"b", 2}, "").size(), 1u);
}

TEST_F(HubTest, ARankThatHasExitedIsNotWaitedFor) {
  EXPECT_TRUE(hub.contribute("fence", world, {"a", 1}, "A").empty());
  spaces.rank_exited({"n", 2});
  EXPECT_EQ(hub.recheck().size(), 1u);
}

TEST_F(HubTest, APodStaysParticipantWhileOneOfItsRanksLives) {
  EXPECT_TRUE(hub.contribute("fence", world, {"b", 1}, "").empty());
  spaces.rank_exited({"n", 0});
  EXPECT_TRUE(hub.recheck().empty());
  spaces.rank_exited({"n", 1});
  EXPECT_EQ(hub.recheck().size(), 1u);
}

TEST_F(HubTest, ARepeatedContributionCountsOnce) {
  EXPECT_TRUE(hub.contribute("fence", world, {"a", 1}, "A").empty());
  EXPECT_TRUE(hub.contribute("fence", world, {"a", 1}, "A").empty());
  EXPECT_EQ(hub.contribute("fence", world, {"b", 1}, "B").size(), 2u);
  EXPECT_EQ(hub.pending(), 0u);
}

TEST_F(HubTest, LookupWaitsForAllKeys) {
  EXPECT_TRUE(hub.lookup({"x", "y"}, true, never, {"b", 1}).empty());
  EXPECT_EQ(hub.publish({datum("x")}, {"a", 1}).size(), 1u) << "only the publisher is answered";
  const HubReplies r = hub.publish({datum("y")}, {"a", 2});
  ASSERT_EQ(r.size(), 2u);
  EXPECT_EQ(r[1].found.size(), 2u);
  EXPECT_EQ(r[1].found[0].value, "v:x");
}

TEST_F(HubTest, LookupWithoutWaitAnswersAtOnce) {
  EXPECT_EQ(hub.lookup({"x"}, false, never, {"a", 1})[0].status, kPmixNotFound);
  hub.publish({datum("x")}, {"a", 2});
  EXPECT_EQ(hub.lookup({"x", "z"}, false, never, {"a", 3})[0].found.size(), 1u);
}

TEST_F(HubTest, FirstReadIsReadOnce) {
  hub.publish({datum("x", true)}, {"a", 1});
  EXPECT_EQ(hub.lookup({"x"}, true, never, {"b", 1}).size(), 1u);
  EXPECT_TRUE(hub.lookup({"x"}, true, never, {"b", 2}).empty());
}

TEST_F(HubTest, LookupsExpire) {
  const auto now = Hub::TimePoint{} + 10s;
  hub.lookup({"x"}, true, now + 1s, {"a", 1});
  EXPECT_TRUE(hub.expire(now).empty());
  EXPECT_EQ(hub.expire(now + 1s)[0].status, kPmixTimeout);
}

TEST_F(HubTest, OnlyTheOwnerUnpublishes) {
  hub.publish({datum("x")}, {"a", 1});
  hub.unpublish({"x"}, {"n", 1}, {"a", 2});
  EXPECT_EQ(hub.lookup({"x"}, false, never, {"a", 3})[0].status, kPmixSuccess);
  hub.unpublish({"x"}, {"n", 0}, {"a", 4});
  EXPECT_EQ(hub.lookup({"x"}, false, never, {"a", 5})[0].status, kPmixNotFound);
}

TEST_F(HubTest, AChangeThatHasEndedFailsWhatWaitsAndWhatComesLate) {
  hub.lookup({"port.7.:accept"}, true, never, {"a", 1});
  hub.lookup({"other"}, true, never, {"a", 2});
  hub.publish({datum("port.7.:connect")}, {"c", 1});
  hub.contribute("connect", {{"n", 0}, {"m", 0}}, {"a", 3}, "");
  const HubReplies failed = hub.end_change("port.7.", "m");
  ASSERT_EQ(failed.size(), 2u);
  for (const HubReply& r : failed) EXPECT_NE(r.status, kPmixSuccess);
  EXPECT_NE(hub.lookup({"port.7.:x"}, true, never, {"a", 4}).at(0).status, kPmixSuccess);
  EXPECT_NE(hub.publish({datum("port.7.:x")}, {"a", 5}).at(0).status, kPmixSuccess);
  EXPECT_NE(hub.contribute("connect", {{"m", kAllRanks}}, {"c", 6}, "").at(0).status, kPmixSuccess);
  EXPECT_EQ(hub.publish({datum("port.77.")}, {"a", 6}).at(0).status, kPmixSuccess) << "another change's port";
  EXPECT_EQ(hub.pending(), 1u) << "what is not of the change goes on waiting";
}

TEST_F(HubTest, TheNextLeadKnowsDataAndTombstones) {
  hub.publish({datum("x")}, {"a", 1});
  hub.end_change("port.7.", "dead");
  Hub next(spaces);
  next.take_over(hub.hand_over());
  EXPECT_EQ(next.lookup({"x"}, false, never, {"a", 2})[0].found.at(0).value, "v:x");
  EXPECT_NE(next.lookup({"port.7.:accept"}, true, never, {"a", 3}).at(0).status, kPmixSuccess);
  EXPECT_NE(next.contribute("fence", {{"dead", 0}}, {"a", 4}, "").at(0).status, kPmixSuccess);
}

}  // namespace
}  // namespace empi::agent
