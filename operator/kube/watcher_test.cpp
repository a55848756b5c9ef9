// SPDX-License-Identifier: Apache-2.0
// List and watch against scripted answers: pitfalls 1 to 6.

#include "operator/kube/watcher.hpp"

#include "operator/kube/testing/watching.hpp"

namespace emj::kube {
namespace {

using namespace testing;

// Pitfall 1: from the list's version, though an item has a later one.
TEST_F(Watching, ListsThenWatchesFromTheListsVersion) {
  script.lists = {listed(10, {object("a", 5), object("b", 99)})};
  script.watches = {open_stream(line("ADDED", object("c", 11)) + line("MODIFIED", object("a", 12)) +
                                line("DELETED", object("b", 13)))};
  start({.namespace_name = "a", .label_selector = "x=y"});
  EXPECT_EQ(changes_until("+a! +b! +c =a -b "), "+a! +b! +c =a -b ");
  EXPECT_TRUE(informer->synced());
  EXPECT_EQ(informer->size(), 2u);
  EXPECT_EQ(versions(false), "- ");
  EXPECT_EQ(versions(true), "10 ");
  const Request watch = server->requests().back();
  EXPECT_EQ(watch.path, "/api/v1/namespaces/a/pods");
  EXPECT_EQ(watch.query.at("labelSelector"), "x=y");
  EXPECT_EQ(watch.query.at("allowWatchBookmarks"), "true");
  const int timeout = std::stoi(watch.query.at("timeoutSeconds"));
  EXPECT_GE(timeout, 180);
  EXPECT_LE(timeout, 280);
  EXPECT_NE(watch.connection, server->requests().front().connection) << "a watch has a connection of its own";
}

// What is waited for counts from the bytes, not from when their turn came.
TEST_F(Watching, TellsWhenTheBytesOfAnEventWereRead) {
  script.lists = {listed(10, {})};
  script.watches = {[](Exchange& exchange) {
    exchange.begin_chunks();
    exchange.chunk(line("ADDED", object("a", 11)) + line("ADDED", object("b", 12)));
    exchange.wait_end();
  }};
  const Instant begin = clock.now();
  start({.reduce = [this](json&) { clock.advance(Seconds(5)); }});
  EXPECT_EQ(changes_until("+a +b "), "+a +b ");
  EXPECT_EQ(clock.now(), begin + Seconds(10));
  EXPECT_EQ(received, (std::vector<Instant>{begin, begin}));
}

// Pitfall 3: bookmarks move the version on, and nothing else.
TEST_F(Watching, GoesOnFromTheLastEventOrBookmark) {
  script.lists = {listed(10, {})};
  script.watches = {stream(line("ADDED", object("a", 11))), stream(line("BOOKMARK", object("", 40))),
                    open_stream(line("ADDED", object("b", 41)))};
  start();
  EXPECT_EQ(changes_until("+a +b "), "+a +b ");
  EXPECT_EQ(versions(true), "10 11 40 ");
  EXPECT_EQ(versions(false), "- ");
  EXPECT_EQ(informer->size(), 2u);
  EXPECT_EQ(informer->stats().bookmarks, 1u);
  EXPECT_EQ(informer->stats().failures, 0u);
}

// Pitfall 2, first kind, and 4: what went in between is noticed by comparing.
TEST_F(Watching, Http410ListsAnewFromTheLastVersion) {
  script.lists = {listed(10, {object("a", 5), object("b", 6)}),
                  listed(50, {object("b", 7), object("d", 49)})};
  script.watches = {stream(line("ADDED", object("c", 11))), status(410, gone), open_stream("")};
  start();
  EXPECT_EQ(changes_until("+a! +b! +c -a! -c! =b! +d! "), "+a! +b! +c -a! -c! =b! +d! ");
  ASSERT_TRUE(server->wait_requests(5));
  EXPECT_EQ(versions(false), "- 11 ");
  EXPECT_EQ(versions(true), "10 11 50 ");
  EXPECT_EQ(informer->stats().expired, 1u);
}

// Pitfall 2, second kind; and a list that does not have the version either is asked for the newest.
TEST_F(Watching, AnErrorEvent410ListsAnewAndThenTheNewest) {
  script.lists = {listed(10, {}), status(410, gone), listed(60, {object("z", 60)})};
  script.watches = {stream(line("ADDED", object("a", 11)) + line("ERROR", json::parse(gone))),
                    open_stream("")};
  start();
  EXPECT_EQ(changes_until("+a -a! +z! "), "+a -a! +z! ");
  ASSERT_TRUE(server->wait_requests(5));
  EXPECT_EQ(versions(false), "- 11 - ");
  EXPECT_EQ(versions(true), "10 60 ");
}

TEST_F(Watching, AVersionFromTheFutureIsGivenUp) {
  script.lists = {
      listed(10, {}),
      status(
          504,
          R"({"code": 504, "reason": "Timeout", "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}})"),
      listed(3, {object("restored", 2)})};
  script.watches = {stream(line("ADDED", object("a", 11))), status(410, gone), open_stream("")};
  start();
  EXPECT_EQ(changes_until("+a -a! +restored! "), "+a -a! +restored! ");
  EXPECT_EQ(versions(false), "- 11 - ");
}

TEST_F(Watching, Endless410IsNotATightLoop) {
  script.lists = {listed(10, {}), listed(10, {}), listed(10, {}), listed(10, {})};
  script.watches = {status(410, gone), status(410, gone), status(410, gone), open_stream("")};
  start();
  for (int i = 0; i < 2; ++i) EXPECT_GE(pass(), Millis(800));
  ASSERT_TRUE(server->wait_requests(8));
  EXPECT_EQ(versions(false), "- - - - ");
}

// A server whose cache of the resource has just begun knows no version older than itself.
TEST_F(Watching, A410JustAfterTheListListsAnewWithoutAWordOrAPause) {
  script.lists = {listed(488, {object("a", 5)}), listed(490, {object("b", 489)})};
  script.watches = {status(410, gone), open_stream(line("ADDED", object("c", 491)))};
  start();
  EXPECT_EQ(changes_until("+a! -a! +b! +c "), "+a! -a! +b! +c ");
  EXPECT_EQ(versions(false), "- - ");
  EXPECT_EQ(versions(true), "488 490 ");
  EXPECT_EQ(informer->stats().expired, 1u);
  EXPECT_EQ(informer->stats().failures, 0u);
}

// A quiet collection, on a server without bookmarks.
TEST_F(Watching, A410LongAfterAnotherIsAFirstOneAgain) {
  script.lists = {listed(10, {}), listed(20, {}), listed(30, {})};
  const auto quiet = [this](Exchange& exchange) {
    exchange.begin_chunks();
    clock.advance(Seconds(200));
    exchange.end_chunks();
  };
  script.watches = {status(410, gone), quiet, status(410, gone), open_stream(line("ADDED", object("a", 31)))};
  start();
  EXPECT_EQ(changes_until("+a "), "+a ");
  EXPECT_EQ(versions(true), "10 20 20 30 ");
  EXPECT_EQ(informer->stats().expired, 2u);
  EXPECT_EQ(informer->stats().failures, 0u);
}

// Pitfall 6.
TEST_F(Watching, AWatchThatEndsAtOnceWithoutEventsIsAFailure) {
  script.lists = {listed(10, {})};
  script.watches = {stream(""), stream(""), open_stream(line("ADDED", object("a", 11)))};
  start();
  const Millis first = pass();
  EXPECT_GE(first, Millis(800));
  EXPECT_LE(first, Millis(1600));
  EXPECT_GE(pass(), Millis(1600));
  EXPECT_EQ(changes_until("+a "), "+a ");
  EXPECT_EQ(informer->stats().failures, 2u);
  EXPECT_EQ(versions(true), "10 10 10 ");
}

// Pitfall 5: half a line at the end is a broken connection; the event comes again on the next watch.
TEST_F(Watching, HalfALineIsADisconnect) {
  const std::string second = line("ADDED", object("b", 12));
  script.lists = {listed(10, {})};
  script.watches = {stream(line("ADDED", object("a", 11)) + second.substr(0, second.size() - 1)),
                    [&](Exchange& exchange) {
                      exchange.begin_chunks();
                      exchange.chunk(second.substr(0, 20));
                      exchange.hang_up();
                    },
                    open_stream(second)};
  start();
  pass();
  pass();
  EXPECT_EQ(changes_until("+a +b "), "+a +b ");
  EXPECT_EQ(versions(true), "10 11 11 ");
  EXPECT_EQ(versions(false), "- ");
}

TEST_F(Watching, AnUnreadableEventMeansAnotherList) {
  script.lists = {listed(10, {}), listed(20, {object("x", 15)})};
  script.watches = {stream("{\"type\": \"ADDED\", \"obj\n" + line("ADDED", object("a", 11))),
                    open_stream("")};
  start();
  pass();
  EXPECT_EQ(changes_until("+x! "), "+x! ");
  EXPECT_EQ(versions(false), "- - ");
}

TEST_F(Watching, TroubleIsWaitedOut) {
  script.lists = {status(500), status(403, R"({"reason": "Forbidden", "message": "no list"})"),
                  listed(10, {object("a", 1)})};
  script.watches = {status(429, "{}", "Retry-After: 90\r\n"), open_stream("")};
  start();
  pass();
  EXPECT_GE(clock.next_wait(), Millis(1600));
  EXPECT_NE(informer->stats().last_problem.find("403 Forbidden: no list"), std::string::npos);
  EXPECT_FALSE(informer->synced());
  pass();
  EXPECT_EQ(pass(), Seconds(90));  // the server's wish, not the backoff
  EXPECT_EQ(changes_until("+a! "), "+a! ");
  ASSERT_TRUE(server->wait_requests(5));
  EXPECT_EQ(versions(true), "10 10 ");
}

TEST_F(Watching, LivenessShowsTheAgeOfTheLastWord) {
  script.lists = {listed(10, {})};
  script.watches = {open_stream(line("BOOKMARK", object("", 12)))};
  start();
  while (informer->stats().bookmarks == 0) std::this_thread::yield();
  EXPECT_EQ(informer->age(), Seconds(0));
  clock.advance(Seconds(200));
  EXPECT_EQ(informer->age(), Seconds(200));
  EXPECT_EQ(informer->idle(), Seconds(200));
}

// The kubelet would start all replicas anew in an outage of the API server, which helps nobody.
TEST_F(Watching, AServerThatIsAwayMakesNoStuckWatch) {
  script.lists = {status(500), status(500)};
  start();
  clock.next_wait();
  clock.advance(Seconds(1000));
  EXPECT_GT(clock.next_wait(), Millis(0)) << "it has tried again and waits";
  EXPECT_EQ(informer->stats().failures, 2u);
  EXPECT_EQ(informer->age(), Seconds(1000)) << "for the metrics: nothing was heard";
  EXPECT_EQ(informer->idle(), Seconds(0)) << "for the liveness: it works";
}

// No watch has failed, and yet an event is missing: a list finds it in the end.
TEST_F(Watching, WhatNoEventHasToldIsFoundByALaterList) {
  script.lists = {listed(10, {object("a", 5)}), listed(30, {object("a", 20)})};
  script.watches = {stream(line("BOOKMARK", object("", 12))),
                    [this](Exchange& exchange) {
                      clock.advance(Seconds(60));
                      exchange.begin_chunks();
                      exchange.chunk(line("BOOKMARK", object("", 25)));
                      exchange.end_chunks();
                    },
                    open_stream("")};
  start({.relist_after = Seconds(60)});
  EXPECT_EQ(changes_until("+a! =a! "), "+a! =a! ");
  ASSERT_TRUE(server->wait_requests(5));
  EXPECT_EQ(versions(false), "- 25 ");
  EXPECT_EQ(versions(true), "10 12 30 ");
  EXPECT_EQ(informer->stats().failures, 0u);
}

// stop() comes in a connect, a list, an open watch and a backoff: it must not wait for any of them.
TEST_F(Watching, StopIsPromptInEveryState) {
  script.lists = {listed(10, {}), status(500)};
  script.watches = {open_stream(line("ADDED", object("a", 11)))};
  start();
  EXPECT_EQ(changes_until("+a "), "+a ");
  informer->stop();  // in an open watch; the clock stands still, so waiting for a timeout would hang here
  EXPECT_EQ(informer->stats().failures, 0u);
  informer = std::make_unique<Informer>(*client, resources::kPods, WatcherOptions{}, nullptr, clock);
  informer->start();
  EXPECT_GT(clock.next_wait(), Millis(0));
  informer->stop();  // in a backoff
  informer = std::make_unique<Informer>(*client, resources::kPods, WatcherOptions{}, nullptr, clock);
  informer->stop();  // before it began
  informer->start();
  EXPECT_FALSE(informer->synced());
}

TEST(WatchTls, WorksAndStops) {
  testing::Authority authority("cluster");
  StubServer server(
      [](const Request& request, Exchange& exchange) {
        if (!request.query.contains("watch")) return exchange.reply(200, list_of(1, {}));
        exchange.begin_chunks();
        exchange.chunk(line("ADDED", object("a", 2)));
        exchange.wait_end();
      },
      authority.issue("api", "IP:127.0.0.1"));
  Config config = server.config();
  config.ca.text = authority.pem();
  Client client(config);
  std::atomic<int> changes{0};
  Informer informer(client, resources::kPods, {}, [&](const Change&) { ++changes; });
  informer.start();
  for (int i = 0; i < 20000 && changes == 0; ++i) std::this_thread::sleep_for(Millis(1));
  EXPECT_EQ(changes, 1);
  informer.stop();
}

}  // namespace
}  // namespace emj::kube
