// SPDX-License-Identifier: Apache-2.0
// List and watch against scripted answers: pitfalls 1 to 6.

#include "operator/kube/watcher.hpp"

#include <gtest/gtest.h>

#include <future>

#include "operator/kube/informer.hpp"
#include "operator/kube/testing/manual_clock.hpp"
#include "operator/kube/testing/stub_server.hpp"

namespace emj::kube {
namespace {

using nlohmann::json;
using testing::Exchange;
using testing::Request;
using testing::StubServer;

json object(const std::string& name, int version) {
  return {{"metadata",
           {{"name", name},
            {"namespace", "a"},
            {"uid", "uid-" + name},
            {"resourceVersion", std::to_string(version)}}},
          {"status", {{"since", version}}}};
}
std::string line(const char* type, const json& value) {
  return json{{"type", type}, {"object", value}}.dump() + "\n";
}
std::string list_of(int version, const std::vector<json>& items) {
  return json{{"metadata", {{"resourceVersion", std::to_string(version)}}}, {"items", items}}.dump();
}
const std::string gone = R"({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})";

// Answers the n-th list and the n-th watch with the n-th entry; what comes after the last one hangs.
class Script {
 public:
  using Answer = std::function<void(Exchange&)>;
  std::vector<Answer> lists, watches;
  std::map<std::string, std::string> reads;  // of single objects, by name; others are gone

  void operator()(const Request& request, Exchange& exchange) {
    Answer answer;
    if (!request.path.ends_with("/pods")) {
      const auto known = reads.find(request.path.substr(request.path.rfind('/') + 1));
      return known == reads.end() ? exchange.reply(404, "{}") : exchange.reply(200, known->second);
    }
    {
      std::lock_guard lock(mutex);
      const bool watch = request.query.contains("watch");
      std::size_t& next = watch ? next_watch : next_list;
      auto& answers = watch ? watches : lists;
      if (next < answers.size()) answer = answers[next];
      ++next;
    }
    if (answer) {
      answer(exchange);
    } else {
      exchange.wait_end();
    }
  }

 private:
  std::mutex mutex;
  std::size_t next_list = 0, next_watch = 0;
};

Script::Answer listed(int version, const std::vector<json>& items) {
  return [=](Exchange& exchange) { exchange.reply(200, list_of(version, items)); };
}
Script::Answer status(int code, const std::string& body = "{}", const std::string& headers = {}) {
  return [=](Exchange& exchange) { exchange.reply(code, body, headers); };
}
// The stream, then its proper end.
Script::Answer stream(const std::string& text) {
  return [=](Exchange& exchange) {
    exchange.begin_chunks();
    if (!text.empty()) exchange.chunk(text);
    exchange.end_chunks();
  };
}
// The stream, then nothing more until somebody hangs up.
Script::Answer open_stream(const std::string& text) {
  return [=](Exchange& exchange) {
    exchange.begin_chunks();
    for (const char c : text) exchange.chunk(std::string(1, c));  // cut at every byte
    exchange.wait_end();
  };
}

class Watching : public ::testing::Test {
 protected:
  void start(WatcherOptions options = {}) {
    server = std::make_unique<StubServer>(
        [this](const Request& request, Exchange& exchange) { script(request, exchange); });
    ClientOptions client_options;
    client_options.retries = 0;
    client = std::make_unique<Client>(server->config(), client_options, clock);
    options.seed = 1;
    informer = std::make_unique<Informer>(
        *client, resources::pods, options,
        [this](const Change& change) {
          const char* const signs[] = {"+", "=", "-"};
          std::lock_guard lock(mutex);
          received.push_back(change.received);
          changes +=
              signs[static_cast<int>(change.type)] + change.key.name + (change.from_relist ? "! " : " ");
          condition.notify_all();
        },
        clock);
    informer->start();
  }
  void TearDown() override {
    if (informer) informer->stop();
  }
  // Waits until the changes are as expected, and tells what they are.
  std::string changes_until(const std::string& expected) {
    std::unique_lock lock(mutex);
    condition.wait_for(lock, Seconds(20), [&] { return changes == expected; });
    return changes;
  }
  // The versions that the requests of this kind asked for.
  std::string versions(bool watches) {
    std::string text;
    for (const Request& request : server->requests()) {
      if (request.query.contains("watch") != watches) continue;
      text += request.query.contains("resourceVersion") ? request.query.at("resourceVersion") + " " : "- ";
    }
    return text;
  }
  // Lets the failure that is being waited out pass; tells how long it was.
  Millis pass() {
    const Millis wait = clock.next_wait();
    clock.advance(wait);
    return wait;
  }

  Script script;
  testing::ManualClock clock;
  std::unique_ptr<StubServer> server;
  std::unique_ptr<Client> client;
  std::unique_ptr<Informer> informer;
  std::mutex mutex;
  std::condition_variable condition;
  std::string changes;
  std::vector<Instant> received;  // of these
};

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
  for (int i = 0; i < 3; ++i) EXPECT_GE(pass(), Millis(800));
  ASSERT_TRUE(server->wait_requests(8));
  EXPECT_EQ(versions(false), "- - - - ");
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

TEST_F(Watching, ItemsAreReducedBeforeTheyAreKept) {
  json fat = object("a", 5);
  fat["spec"] = "large";
  script.lists = {listed(10, {fat})};
  fat["metadata"]["resourceVersion"] = "11";
  script.watches = {open_stream(line("MODIFIED", fat))};
  start({.reduce = [](json& value) { value.erase("spec"); }});
  EXPECT_EQ(changes_until("+a! =a "), "+a! =a ");
  EXPECT_FALSE(informer->get({"a", "a"})->contains("spec"));
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

TEST_F(Watching, AnOutdatedCacheIsReadLiveWhenNoEventComes) {
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

// stop() comes in a connect, a list, an open watch and a backoff: it must not wait for any of them.
TEST_F(Watching, StopIsPromptInEveryState) {
  script.lists = {listed(10, {}), status(500)};
  script.watches = {open_stream(line("ADDED", object("a", 11)))};
  start();
  EXPECT_EQ(changes_until("+a "), "+a ");
  informer->stop();  // in an open watch; the clock stands still, so waiting for a timeout would hang here
  EXPECT_EQ(informer->stats().failures, 0u);
  informer = std::make_unique<Informer>(*client, resources::pods, WatcherOptions{}, nullptr, clock);
  informer->start();
  EXPECT_GT(clock.next_wait(), Millis(0));
  informer->stop();  // in a backoff
  informer = std::make_unique<Informer>(*client, resources::pods, WatcherOptions{}, nullptr, clock);
  informer->stop();  // before it began
  informer->start();
  EXPECT_FALSE(informer->synced());
}

TEST_F(Watching, AnOwnWritesAnswerIsThereAtOnce) {
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

TEST_F(Watching, WhatAnAnswerDoesNotShowIsAwaited) {
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
  Informer informer(client, resources::pods, {}, [&](const Change&) { ++changes; });
  informer.start();
  for (int i = 0; i < 20000 && changes == 0; ++i) std::this_thread::sleep_for(Millis(1));
  EXPECT_EQ(changes, 1);
  informer.stop();
}

}  // namespace
}  // namespace emj::kube
