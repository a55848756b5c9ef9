// SPDX-License-Identifier: Apache-2.0
// What is kept of what a watch tells, beside what writes have answered.

#include "operator/kube/informer.hpp"

#include <future>

#include "operator/kube/testing/watching.hpp"

namespace emj::kube {
namespace {

using namespace testing;

using Kept = Watching;

TEST_F(Kept, ItemsAreReducedBeforeTheyAreKept) {
  json fat = object("a", 5);
  fat["spec"] = "large";
  script.lists = {listed(10, {fat})};
  fat["metadata"]["resourceVersion"] = "11";
  script.watches = {open_stream(line("MODIFIED", fat))};
  start({.reduce = [](json& value) { value.erase("spec"); }});
  EXPECT_EQ(changes_until("+a! =a "), "+a! =a ");
  EXPECT_FALSE(informer->get({"a", "a"})->contains("spec"));
}

TEST_F(Kept, AnOutdatedCacheIsReadLiveWhenNoEventComes) {
  script.lists = {listed(10, {object("a", 5), object("b", 6)})};
  script.watches = {open_stream("")};
  script.reads = {{"a", object("a", 8).dump()}};
  start();
  EXPECT_EQ(changes_until("+a! +b! "), "+a! +b! ");
  informer->outdated("job", object("a", 5));  // a write from this version was refused
  informer->deleted("job", {"a", "b"}, "uid-b");
  EXPECT_FALSE(informer->settled("job"));
  clock.advance(Seconds(20));
  EXPECT_TRUE(informer->settled("job"));
  EXPECT_EQ(changes_until("+a! +b! =a -b "), "+a! +b! =a -b ");
  EXPECT_EQ(resource_version_of(*informer->get({"a", "a"})), "8");
  EXPECT_EQ(informer->get({"a", "b"}), nullptr);
  informer->outdated("job", object("a", 5));  // the cache has newer than that
  EXPECT_TRUE(informer->settled("job"));
}

TEST_F(Kept, AnOwnWritesAnswerIsThereAtOnce) {
  const json created = object("p", 11);
  script.lists = {listed(10, {})};
  script.watches = {open_stream(line("ADDED", created) + line("ADDED", object("q", 12)))};
  start();
  EXPECT_TRUE(informer->wait_synced(Seconds(20)));
  informer->wrote("job", created);
  EXPECT_NE(informer->get({"a", "p"}), nullptr);
  EXPECT_TRUE(informer->settled("job"));
  EXPECT_EQ(changes_until("+p +q "), "+p +q ") << "told once, whoever came first";
}

TEST_F(Kept, WhatAnAnswerDoesNotShowIsAwaited) {
  script.lists = {listed(10, {object("p", 9)})};
  std::promise<void> gate;
  const auto opened = gate.get_future().share();
  json later = object("p", 11);
  later["status"] = object("p", 9)["status"];  // another version of the same
  script.watches = {[=](Exchange& exchange) {
    exchange.begin_chunks();
    opened.wait_for(Seconds(20));
    exchange.chunk(line("MODIFIED", later));
    exchange.wait_end();
  }};
  start();
  EXPECT_TRUE(informer->wait_synced(Seconds(20)));
  informer->wrote_beside("job", later);
  EXPECT_FALSE(informer->settled("job"));
  EXPECT_EQ(resource_version_of(*informer->get({"a", "p"})), "9");
  gate.set_value();
  EXPECT_EQ(changes_until("+p! =p "), "+p! =p ") << "no news, but somebody waits for it";
  EXPECT_TRUE(informer->settled("job"));
}

}  // namespace
}  // namespace emj::kube
