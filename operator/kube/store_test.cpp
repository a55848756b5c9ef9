// SPDX-License-Identifier: Apache-2.0
// The cache, and what it is not yet trusted to know.

#include "operator/kube/store.hpp"

#include <gtest/gtest.h>

#include "operator/kube/expectations.hpp"
#include "operator/kube/testing/manual_clock.hpp"

namespace emj::kube {
namespace {

using nlohmann::json;
using Type = WatchEvent::Type;

json stored(const std::string& name, const std::string& uid, int version, const std::string& owner = "") {
  json value{
      {"metadata",
       {{"name", name}, {"namespace", "a"}, {"uid", uid}, {"resourceVersion", std::to_string(version)}}}};
  if (!owner.empty()) value["metadata"]["ownerReferences"] = {{{"uid", owner}, {"controller", true}}};
  return value;
}

std::string text(const std::vector<Change>& changes) {
  std::string line;
  for (const Change& change : changes) {
    const char* const names[] = {"+", "=", "-"};
    line += names[static_cast<int>(change.type)] + change.key.name + ":" +
            uid_of(change.after ? *change.after : *change.before) + (change.from_relist ? "! " : " ");
  }
  return line;
}

TEST(StoreTest, EventsChangeIt) {
  Store store;
  EXPECT_EQ(text(store.apply(Type::Added, stored("p", "1", 1))), "+p:1 ");
  EXPECT_EQ(text(store.apply(Type::Added, stored("p", "1", 1))), "");  // seen already
  EXPECT_EQ(text(store.apply(Type::Modified, stored("p", "1", 2))), "=p:1 ");
  const auto deleted = store.apply(Type::Deleted, stored("p", "1", 3));
  EXPECT_EQ(text(deleted), "-p:1 ");
  EXPECT_EQ(resource_version_of(*deleted[0].before), "3");  // its last state, not the cached one
  EXPECT_EQ(text(store.apply(Type::Deleted, stored("p", "1", 3))), "");
  EXPECT_EQ(store.get({"a", "p"}), nullptr);
}

// Pitfall 3: a bookmark carries a version and no object.
TEST(StoreTest, BookmarksAreNotObjects) {
  Store store;
  EXPECT_TRUE(store.apply(Type::Bookmark, stored("", "", 9)).empty());
  EXPECT_TRUE(store.apply(Type::Bookmark, stored("p", "1", 9)).empty());
  EXPECT_EQ(store.size(), 0u);
}

// Pitfall 4: what a relist does not show is gone, and the one who knew it is told.
TEST(StoreTest, ARelistSynthesisesDeletes) {
  Store store;
  store.replace({stored("a", "1", 1), stored("b", "2", 1), stored("c", "3", 1)}, "1");
  EXPECT_EQ(text(store.replace({stored("b", "2", 5), stored("c", "3", 1), stored("d", "4", 6)}, "6")),
            "-a:1! =b:2! +d:4! ");
  EXPECT_EQ(text(store.replace({}, "7")), "-b:2! -c:3! -d:4! ");
}

// What the server has answered our own writes with is there before any watch tells it.
TEST(StoreTest, AnAnswerIsThereAtOnceAndIsToldOnce) {
  Store store;
  store.replace({stored("a", "1", 3)}, "5");
  EXPECT_EQ(text(store.learn(stored("a", "1", 7))), "=a:1 ");
  EXPECT_EQ(text(store.learn(stored("b", "2", 8))), "+b:2 ");
  EXPECT_EQ(text(store.apply(Type::Modified, stored("a", "1", 6))), "") << "older than the answer";
  EXPECT_EQ(text(store.apply(Type::Modified, stored("a", "1", 7))), "");
  EXPECT_EQ(text(store.apply(Type::Added, stored("b", "2", 8))), "");
}

TEST(StoreTest, WhatIsGoneDoesNotComeBackByALateAnswer) {
  Store store;
  store.apply(Type::Added, stored("p", "1", 7));
  store.apply(Type::Deleted, stored("p", "1", 9));
  EXPECT_EQ(text(store.learn(stored("p", "1", 7))), "");
  EXPECT_EQ(store.size(), 0u);
  EXPECT_EQ(text(store.learn(stored("p", "2", 10))), "+p:2 ") << "another one of this name";
}

// A list that was made before our write does not show it, and the watch that follows will.
TEST(StoreTest, AnOlderListDoesNotTakeAwayWhatWasLearned) {
  Store store;
  store.replace({stored("a", "1", 3)}, "5");
  store.learn(stored("a", "1", 7));
  store.learn(stored("b", "2", 8));
  EXPECT_EQ(text(store.replace({stored("a", "1", 3)}, "6")), "");
  EXPECT_EQ(resource_version_of(*store.get({"a", "a"})), "7");
  EXPECT_EQ(text(store.replace({stored("a", "1", 7)}, "9")), "-b:2! ");
  store.learn(stored("c", "3", 12));
  store.apply(Type::Added, stored("c", "3", 12));
  EXPECT_EQ(text(store.replace({}, "2")), "-a:1! -c:3! ") << "a server that was set back is believed";
}

TEST(StoreTest, AnotherVersionOfTheSameIsNoNews) {
  Store store;
  store.apply(Type::Added, stored("p", "1", 1));
  const auto same = store.apply(Type::Modified, stored("p", "1", 2));
  ASSERT_EQ(same.size(), 1u);
  EXPECT_FALSE(is_news(same[0]));
  json changed = stored("p", "1", 3);
  changed["status"] = {{"phase", "Running"}};
  EXPECT_TRUE(is_news(store.apply(Type::Modified, changed)[0]));
  changed["metadata"]["resourceVersion"] = "4";
  changed["metadata"]["deletionTimestamp"] = "now";
  EXPECT_TRUE(is_news(store.apply(Type::Modified, changed)[0]));
  EXPECT_TRUE(is_news(store.apply(Type::Deleted, changed)[0]));
}

// Pitfall 12 of the cluster report: the same name is not the same pod.
TEST(StoreTest, ANamesakeIsAnotherObject) {
  Store store;
  store.replace({stored("p", "old", 1, "job")}, "1");
  EXPECT_EQ(text(store.apply(Type::Modified, stored("p", "new", 7, "job"))), "-p:old +p:new ");
  EXPECT_EQ(text(store.replace({stored("p", "newer", 9, "job")}, "9")), "-p:new! +p:newer! ");
  EXPECT_EQ(store.owned_by("job").size(), 1u);
}

// Pitfall 8: by owner uid, not by name or label.
TEST(StoreTest, TheIndexFollowsTheOwner) {
  Store store;
  store.replace(
      {stored("b", "2", 1, "x"), stored("a", "1", 1, "x"), stored("c", "3", 1, "y"), stored("d", "4", 1)},
      "1");
  ASSERT_EQ(store.owned_by("x").size(), 2u);
  EXPECT_EQ(key_of(*store.owned_by("x")[0]).name, "a");
  store.apply(Type::Modified, stored("a", "1", 2, "y"));
  store.apply(Type::Modified, stored("b", "2", 2));
  EXPECT_EQ(store.owned_by("x").size(), 0u);
  EXPECT_EQ(store.owned_by("y").size(), 2u);
  store.apply(Type::Deleted, stored("c", "3", 3));
  store.replace({}, "9");
  EXPECT_EQ(store.owned_by("y").size(), 0u);
}

// A live read may be ahead of the watch, which then tells what was before.
TEST(StoreTest, OlderNewsOfAnObjectAreDropped) {
  Store store;
  store.apply(Type::Added, stored("p", "1", 5));
  EXPECT_EQ(store.apply(Type::Modified, stored("p", "1", 9)).size(), 1u);
  EXPECT_TRUE(store.apply(Type::Modified, stored("p", "1", 7)).empty());
  EXPECT_EQ(resource_version_of(*store.get({"a", "p"})), "9");
  EXPECT_EQ(store.apply(Type::Added, stored("p", "2", 12)).size(), 2u) << "another object of this name";
  EXPECT_TRUE(store.apply(Type::Deleted, stored("p", "1", 10)).empty()) << "the one before it";
  EXPECT_EQ(uid_of(*store.get({"a", "p"})), "2");
  EXPECT_EQ(store.replace({stored("p", "2", 3)}, "3").size(), 1u)
      << "a list tells the state, whatever its version";
}

class ExpectationsTest : public ::testing::Test {
 protected:
  void apply(Type type, json value) {
    for (const Change& change : store.apply(type, std::move(value))) expectations.seen(change);
  }
  void wrote(const json& answer) {
    expectations.wrote("job", answer);
    expectations.cached(uid_of(answer), store.get(key_of(answer)));
  }
  void deleted(const std::string& name, const std::string& uid) {
    expectations.deleted("job", {"a", name}, uid);
    expectations.cached(uid, store.get({"a", name}));
  }
  testing::ManualClock clock;
  Store store;
  Expectations expectations{clock, Seconds(60)};
};

// Pitfall 7: a cache that lags behind our own creates would make us create again.
TEST_F(ExpectationsTest, ACreateIsAwaited) {
  wrote(stored("p", "1", 5));
  EXPECT_FALSE(expectations.settled("job"));
  EXPECT_TRUE(expectations.settled("other"));
  apply(Type::Added, stored("q", "2", 6));
  EXPECT_FALSE(expectations.settled("job"));
  apply(Type::Added, stored("p", "1", 5));
  EXPECT_TRUE(expectations.settled("job"));
}

TEST_F(ExpectationsTest, AnUpdateIsAwaitedUpToItsVersion) {
  apply(Type::Added, stored("p", "1", 5));
  wrote(stored("p", "1", 9));
  apply(Type::Modified, stored("p", "1", 7));
  EXPECT_FALSE(expectations.settled("job"));
  apply(Type::Modified, stored("p", "1", 11));
  EXPECT_TRUE(expectations.settled("job"));
}

TEST_F(ExpectationsTest, TheEventMayComeBeforeTheAnswer) {
  apply(Type::Added, stored("p", "1", 5));
  wrote(stored("p", "1", 5));
  EXPECT_TRUE(expectations.settled("job"));
  apply(Type::Deleted, stored("p", "1", 6));
  wrote(stored("p", "1", 5));  // a whole life before the answer
  deleted("p", "1");
  EXPECT_TRUE(expectations.settled("job"));
}

TEST_F(ExpectationsTest, ADeleteIsAwaited) {
  apply(Type::Added, stored("p", "1", 5));
  deleted("p", "1");
  EXPECT_FALSE(expectations.settled("job"));
  apply(Type::Modified, stored("p", "1", 6));  // some other change
  EXPECT_FALSE(expectations.settled("job"));
  json marked = stored("p", "1", 7);
  marked["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  apply(Type::Modified, marked);
  EXPECT_TRUE(expectations.settled("job"));
  deleted("p", "unknown");  // what the cache does not hold is gone
  EXPECT_TRUE(expectations.settled("job"));
}

TEST_F(ExpectationsTest, ADeletedPodAndItsReplacement) {
  apply(Type::Added, stored("p", "1", 5));
  deleted("p", "1");
  wrote(stored("p", "2", 8));
  apply(Type::Added, stored("p", "2", 8));  // says both
  EXPECT_TRUE(expectations.settled("job"));
}

TEST_F(ExpectationsTest, NothingIsAwaitedForEver) {
  wrote(stored("p", "1", 5));
  EXPECT_EQ(expectations.settled_by("job"), clock.now() + Seconds(60));
  clock.advance(Seconds(59));
  EXPECT_FALSE(expectations.settled("job"));
  clock.advance(Seconds(1));
  EXPECT_TRUE(expectations.settled("job"));
  EXPECT_EQ(expectations.settled_by("job"), clock.now());
}

// A write was refused because the cache lags behind: a newer version is to come.
TEST_F(ExpectationsTest, ANewerVersionIsAwaitedAfterAConflict) {
  apply(Type::Added, stored("p", "1", 5));
  const auto refused = [&] {
    expectations.outdated("job", stored("p", "1", 5));
    expectations.cached("1", store.get({"a", "p"}));
  };
  refused();
  EXPECT_FALSE(expectations.settled("job"));
  apply(Type::Modified, stored("p", "1", 6));
  EXPECT_TRUE(expectations.settled("job"));
  refused();
  EXPECT_TRUE(expectations.settled("job")) << "it has come already";
}

TEST_F(ExpectationsTest, WhatIsGivenUpIsToldOnce) {
  wrote(stored("p", "1", 5));
  deleted("q", "2");
  wrote(stored("r", "3", 6));
  apply(Type::Added, stored("r", "3", 6));
  clock.advance(Seconds(60));
  std::vector<ObjectKey> given_up;
  EXPECT_TRUE(expectations.settled("job", &given_up));
  EXPECT_EQ(given_up, (std::vector<ObjectKey>{{"a", "p"}}));
  given_up.clear();
  EXPECT_TRUE(expectations.settled("job", &given_up));
  EXPECT_TRUE(given_up.empty());
}

TEST_F(ExpectationsTest, AStatusIsNoObject) {
  wrote(json{{"kind", "Status"}, {"metadata", json::object()}});
  EXPECT_TRUE(expectations.settled("job"));
}

}  // namespace
}  // namespace emj::kube
