// SPDX-License-Identifier: Apache-2.0
// Pitfall 17: Events are aggregated and limited, and never stand in the way.

#include "operator/kube/events.hpp"

#include <gtest/gtest.h>

#include <future>

#include "operator/kube/testing/manual_clock.hpp"
#include "operator/kube/testing/stub_server.hpp"

namespace emj::kube {
namespace {

using nlohmann::json;
using testing::Exchange;
using testing::ManualClock;
using testing::Request;
using testing::StubServer;

EventNote note(const std::string& text, const std::string& uid = "u") {
  return {{{"apiVersion", "elasticmpi.io/v1alpha1"},
           {"kind", "ElasticMPIJob"},
           {"spec", "large"},
           {"metadata", {{"name", "job"}, {"namespace", "a"}, {"uid", uid}}}},
          false,
          "Resized",
          "Resize",
          text};
}

class Aggregator : public ::testing::Test {
 protected:
  std::optional<EventWrite> record(const EventNote& what) {
    return aggregator.record(what, clock.now(), clock.wall());
  }
  ManualClock clock;
  EventAggregator aggregator{"elasticmpi.io/operator", "pod-1", {.burst = 3, .objects = 4}};
};

TEST_F(Aggregator, TheFirstIsAnEvent) {
  const auto write = record(note("grew"));
  ASSERT_TRUE(write);
  EXPECT_EQ(write->namespace_name, "a");
  EXPECT_EQ(write->name, "");
  const json& body = write->body;
  EXPECT_EQ(body["apiVersion"], "events.k8s.io/v1");
  EXPECT_EQ(body["regarding"],
            json::parse(R"({"apiVersion": "elasticmpi.io/v1alpha1", "kind": "ElasticMPIJob",
                                               "name": "job", "namespace": "a", "uid": "u"})"));
  EXPECT_EQ(body["type"], "Normal");
  EXPECT_EQ(body["reason"], "Resized");
  EXPECT_EQ(body["action"], "Resize");
  EXPECT_EQ(body["note"], "grew");
  EXPECT_EQ(body["eventTime"], micro_time(clock.wall()));
  EXPECT_EQ(body["reportingController"], "elasticmpi.io/operator");
  EXPECT_EQ(body["reportingInstance"], "pod-1");
  EXPECT_EQ(body["metadata"]["name"].get<std::string>().rfind("job.", 0), 0u);
}

TEST_F(Aggregator, RepetitionsAreCountedAndSeldomWritten) {
  const auto first = record(note("grew"));
  int writes = 0;
  for (int i = 0; i < 1200; ++i) {  // a reconcile each 100 ms, for two minutes
    clock.advance(Millis(100));
    const auto write = record(note("grew"));
    if (!write) continue;
    ++writes;
    EXPECT_EQ(write->name, first->body["metadata"]["name"].get<std::string>());
    EXPECT_EQ(write->body["series"]["count"], i + 2);
    EXPECT_EQ(write->body["series"]["lastObservedTime"], micro_time(clock.wall()));
  }
  EXPECT_EQ(writes, 2);
  EXPECT_FALSE(aggregator.next_due());
  record(note("grew"));
  ASSERT_TRUE(aggregator.next_due());  // the last count is not lost
  EXPECT_TRUE(aggregator.due(clock.now(), false).empty());
  const auto due = aggregator.due(*aggregator.next_due(), false);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].body["series"]["count"], 1202);
}

TEST_F(Aggregator, AfterAGapItIsNewsAgain) {
  const auto first = record(note("grew"));
  clock.advance(Seconds(360));
  const auto again = record(note("grew"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->name, "");
  EXPECT_NE(again->body["metadata"]["name"], first->body["metadata"]["name"]);
}

TEST_F(Aggregator, EveryObjectHasABudget) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(record(note("size " + std::to_string(i))));
  EXPECT_FALSE(record(note("size 3")));
  EXPECT_TRUE(record(note("size 3", "another")));
  EXPECT_EQ(aggregator.dropped(), 1u);
  clock.advance(Seconds(60));
  EXPECT_TRUE(record(note("size 4")));
  EXPECT_FALSE(record(note("size 5")));
  for (int i = 0; i < 10; ++i) record(note("x", std::to_string(i)));  // memory is bounded, too
  EXPECT_GT(aggregator.dropped(), 2u);
  clock.advance(Seconds(600));
  EXPECT_TRUE(record(note("x", "late")));
}

TEST_F(Aggregator, LongNotesAreCutBetweenCharacters) {
  const auto write = record(note(std::string(1023, 'x') + "\xc3\xa9"));
  EXPECT_EQ(write->body["note"], std::string(1023, 'x'));
  EventNote node{{{"metadata", {{"name", std::string(253, 'n')}}}}, true, "Odd", "", "note"};
  const auto odd = record(node);
  EXPECT_EQ(odd->namespace_name, "default");
  EXPECT_EQ(odd->body["action"], "Odd");
  EXPECT_EQ(odd->body["type"], "Warning");
  EXPECT_EQ(odd->body["metadata"]["name"].get<std::string>().size(), 253u);
}

TEST(Recorder, WritesAndCounts) {
  StubServer server([](const Request&, Exchange& exchange) { exchange.reply(201, "{}"); });
  ManualClock clock;
  Client client(server.config(), {}, clock);
  EventRecorder recorder(client, "c", "i", nullptr, clock);
  recorder.record(note("grew"));
  ASSERT_TRUE(server.wait_requests(1));
  recorder.record(note("grew"));
  EXPECT_EQ(clock.next_wait(), Seconds(60));
  clock.advance(Seconds(60));
  ASSERT_TRUE(server.wait_requests(2));
  recorder.record(note("grew"));
  recorder.record(note("shrank"));
  recorder.stop(Seconds(5));
  const auto seen = server.requests();
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].method + seen[0].path, "POST/apis/events.k8s.io/v1/namespaces/a/events");
  EXPECT_EQ(seen[1].method, "PATCH");
  EXPECT_EQ(json::parse(seen[1].body)["series"]["count"], 2);
  EXPECT_EQ(recorder.lost(), 0u);
  recorder.record(note("late"));
  EXPECT_EQ(server.requests().size(), 4u);
}

TEST(Recorder, FailuresAreLoggedAndNothingElse) {
  StubServer server([](const Request&, Exchange& exchange) {
    exchange.reply(403, R"({"reason": "Forbidden", "message": "namespace is terminating"})");
  });
  Client client(server.config());
  std::mutex mutex;
  std::vector<std::string> log;
  EventRecorder recorder(client, "c", "i", [&](const std::string& text) {
    std::lock_guard lock(mutex);
    log.push_back(text);
  });
  recorder.record(note("grew"));
  ASSERT_TRUE(server.wait_requests(1));
  recorder.stop(Seconds(5));
  ASSERT_EQ(log.size(), 1u);
  EXPECT_NE(log[0].find("namespace is terminating"), std::string::npos);
  EXPECT_EQ(recorder.lost(), 1u);
}

// At an API server that takes its time, one request after the other would lose Events from some a second on.
TEST(Recorder, AnAnswerThatTakesLongHoldsUpNoOtherEvent) {
  StubServer* known = nullptr;
  StubServer server([&](const Request&, Exchange& exchange) {
    if (known->wait_requests(3)) exchange.reply(201, "{}");
  });
  known = &server;
  Client client(server.config());
  EventRecorder recorder(client, "c", "i", nullptr);
  for (int i = 0; i < 3; ++i) recorder.record(note("size " + std::to_string(i)));
  EXPECT_TRUE(server.wait_requests(3));
  recorder.stop(Seconds(5));
  EXPECT_EQ(recorder.lost(), 0u);
}

// A count is a change of an Event that must be there first.
TEST(Recorder, ACountWaitsForItsEvent) {
  std::promise<void> gate;
  StubServer server([open = gate.get_future().share()](const Request& request, Exchange& exchange) {
    if (request.method == "POST") open.wait_for(Seconds(20));
    exchange.reply(201, "{}");
  });
  ManualClock clock;
  Client client(server.config(), {}, clock);
  EventRecorder recorder(client, "c", "i", nullptr, clock);
  recorder.record(note("grew"));
  ASSERT_TRUE(server.wait_requests(1));
  clock.advance(Seconds(60));
  recorder.record(note("grew"));
  recorder.record(note("shrank"));
  ASSERT_TRUE(server.wait_requests(2));
  EXPECT_EQ(server.requests()[1].method, "POST") << "the other Event passes by";
  gate.set_value();
  ASSERT_TRUE(server.wait_requests(3));
  EXPECT_EQ(server.requests()[2].method, "PATCH");
}

}  // namespace
}  // namespace emj::kube
