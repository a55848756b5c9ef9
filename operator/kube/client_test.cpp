// SPDX-License-Identifier: Apache-2.0
// The client against a server in this process that answers byte by byte as the case wants it.

#include "operator/kube/client.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "operator/kube/testing/manual_clock.hpp"
#include "operator/kube/testing/stub_server.hpp"

namespace emj::kube {
namespace {

using nlohmann::json;
using testing::Exchange;
using testing::Request;
using testing::StubServer;
using Kind = ApiError::Kind;

const ObjectKey pod{"a", "p"};

std::string object_text(const std::string& name) {
  return json{{"metadata", {{"name", name}, {"uid", "u"}, {"resourceVersion", "1"}}}}.dump();
}
void fine(const Request&, Exchange& exchange) { exchange.reply(200, object_text("p")); }

TEST(Verbs, SayWhatTheApiExpects) {
  StubServer server(fine);
  Client client(server.config());
  json object{{"metadata", {{"name", "p"}, {"resourceVersion", "1"}}}};
  CallOptions dry;
  dry.dry_run = true;
  dry.subresource = "status";
  dry.field_manager = "autoscaler";
  CallOptions force;
  force.force = true;
  EXPECT_TRUE(client.get(resources::kElasticMpiJobs, pod));
  EXPECT_TRUE(client.create(resources::kPods, "a", object));
  EXPECT_TRUE(client.update(resources::kPods, pod, object));
  EXPECT_TRUE(client.apply(resources::kPods, pod, object, force));
  EXPECT_TRUE(client.merge_patch(resources::kPods, pod, object, dry));
  EXPECT_TRUE(client.remove(resources::kPods, pod, {.uid = "u", .grace_seconds = 0}));
  const auto seen = server.requests();
  ASSERT_EQ(seen.size(), 6u);
  const std::string path = "/api/v1/namespaces/a/pods/p";
  EXPECT_EQ(seen[0].path, "/apis/elasticmpi.io/v1alpha1/namespaces/a/elasticmpijobs/p");
  EXPECT_EQ(seen[0].headers.at("user-agent"), "elastic-mpi-operator");
  EXPECT_EQ(seen[1].method + seen[1].path, "POST/api/v1/namespaces/a/pods");
  EXPECT_EQ(seen[1].query.at("fieldManager"), "elastic-mpi-operator");
  EXPECT_EQ(seen[2].method + seen[2].path, "PUT" + path);
  EXPECT_EQ(seen[3].method + seen[3].path, "PATCH" + path);
  EXPECT_EQ(seen[3].headers.at("content-type"), "application/apply-patch+yaml");
  EXPECT_EQ(seen[3].query.at("force"), "true");
  EXPECT_EQ(seen[4].path, path + "/status");
  EXPECT_EQ(seen[4].headers.at("content-type"), "application/merge-patch+json");
  EXPECT_EQ(seen[4].query.at("dryRun"), "All");
  EXPECT_EQ(seen[4].query.at("fieldManager"), "autoscaler");
  EXPECT_FALSE(seen[4].query.contains("force"));
  EXPECT_EQ(seen[5].method, "DELETE");
  const json body = json::parse(seen[5].body);
  EXPECT_EQ(body.at("preconditions").at("uid"), "u");  // pitfall 8
  EXPECT_EQ(body.at("propagationPolicy"), "Background");
  EXPECT_EQ(body.at("gracePeriodSeconds"), 0);
  for (const Request& request : seen) EXPECT_EQ(request.connection, 1) << "connections are kept";
}

TEST(Verbs, DangerousRequestsAreNotSent) {
  StubServer server(fine);
  Client client(server.config());
  EXPECT_EQ(client.remove(resources::kPods, {"a", ""}, {}).error().kind, Kind::BadRequest);
  EXPECT_EQ(client.remove(resources::kPods, {"", "p"}, {}).error().kind, Kind::BadRequest);
  EXPECT_EQ(client.update(resources::kPods, pod, json::object()).error().kind, Kind::BadRequest);
  EXPECT_TRUE(server.requests().empty());
}

TEST(Streams, ComePieceByPieceUntilTheReceiverEndsThem) {
  StubServer server([](const Request& request, Exchange& exchange) {
    EXPECT_EQ(request.headers.at("accept"), "*/*");
    exchange.begin_chunks();
    exchange.chunk("one\n");
    exchange.wait_end();  // a log that goes on
  });
  Client client(server.config());
  std::string text;
  const auto error = client.stream_text("/log?follow=true", [&](const char* data, std::size_t size) {
    text.append(data, size);
    return false;
  });
  EXPECT_FALSE(error) << error->message;
  EXPECT_EQ(text, "one\n");
}

TEST(Streams, SayWhyTheyHaveEnded) {
  int status = 404;
  StubServer server([&](const Request&, Exchange& exchange) {
    if (status != 200) return exchange.reply(status, "{}");
    exchange.begin_chunks();
    exchange.chunk("one\n");
    exchange.hang_up();
  });
  Client client(server.config());
  std::string text;
  const auto receive = [&](const char* data, std::size_t size) {
    text.append(data, size);
    return true;
  };
  EXPECT_EQ(client.stream_text("/log", receive)->kind, Kind::NotFound);
  EXPECT_EQ(text, "") << "an error is no log";
  status = 200;
  EXPECT_EQ(client.stream_text("/log", receive)->kind, Kind::Lost);
  EXPECT_EQ(text, "one\n");
  client.stop();
  EXPECT_EQ(client.stream_text("/log", receive)->kind, Kind::Stopped);
}

// Pitfall 15: cold lists come in pages; the version is the list's (pitfall 1), not that of an item.
TEST(Lists, ArePaged) {
  StubServer server([](const Request& request, Exchange& exchange) {
    const bool second = request.query.contains("continue");
    json list{{"metadata", {{"resourceVersion", "100"}}},
              {"items", {{{"metadata", {{"name", second ? "q" : "p"}, {"resourceVersion", "900"}}}}}}};
    if (!second) list["metadata"]["continue"] = "to/ken=";
    exchange.reply(200, list.dump());
  });
  Client client(server.config());
  const auto list =
      client.list(resources::kPods, "", {.label_selector = "a=b", .resource_version = "7", .limit = 1},
                  [](json& item) { item["reduced"] = true; });
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list.value().resource_version, "100");
  ASSERT_EQ(list.value().items.size(), 2u);
  EXPECT_EQ(list.value().items[1]["kind"], "Pod");
  EXPECT_EQ(list.value().items[1]["apiVersion"], "v1");
  EXPECT_EQ(list.value().items[1]["reduced"], true);
  const auto seen = server.requests();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].query.at("labelSelector"), "a=b");  // pitfall 17: selected by the server
  EXPECT_EQ(seen[0].query.at("limit"), "1");
  EXPECT_EQ(seen[0].query.at("resourceVersion"), "7");
  EXPECT_EQ(seen[1].query.at("continue"), "to/ken=");
  EXPECT_FALSE(seen[1].query.contains("resourceVersion"));  // not allowed beside a token
}

TEST(Answers, ThatCannotBeReadAreMalformed) {
  std::string answer;
  StubServer server([&](const Request&, Exchange& exchange) { exchange.reply(200, answer); });
  Client client(server.config());
  for (const char* text : {"", "{", "[]", "null"}) {
    answer = text;
    EXPECT_EQ(client.get(resources::kPods, pod).error().kind, Kind::Malformed) << text;
  }
  for (const char* text : {"{}", R"({"metadata": {"resourceVersion": "1"}, "items": [1]})",
                           R"({"metadata": [], "items": []})"}) {
    answer = text;
    EXPECT_EQ(client.list(resources::kPods, "a").error().kind, Kind::Malformed) << text;
  }
  answer = R"({"metadata": {"resourceVersion": "1"}, "items": null})";  // pitfall 19: null is an empty list
  EXPECT_TRUE(client.list(resources::kPods, "a"));
}

// Pitfall 15: the server says when to come back, and is believed, but not for ever.
TEST(Retries, HonourRetryAfter) {
  std::atomic<int> calls{0};
  StubServer server([&](const Request&, Exchange& exchange) {
    ++calls;
    if (calls == 1) return exchange.reply(429, "{}", "Retry-After: 2\r\n");
    if (calls == 2) return exchange.reply(503, "{}", "Retry-After: 3\r\n");
    exchange.reply(201, object_text("p"));
  });
  testing::ManualClock clock;
  Client client(server.config(), {}, clock);
  bool created = false;
  std::thread caller(
      [&] { created = client.create(resources::kPods, "a", {{"metadata", {{"name", "p"}}}}).ok(); });
  EXPECT_EQ(clock.next_wait(), Seconds(2));
  clock.advance(Seconds(2));
  EXPECT_EQ(clock.next_wait(), Seconds(3));
  clock.advance(Seconds(3));
  caller.join();
  EXPECT_TRUE(created);
  EXPECT_EQ(client.writes(), 3u);
}

TEST(Retries, AreBoundedAndLongWaitsAreTheCallers) {
  std::string header = "Retry-After: 0\r\n";
  int status = 429;
  StubServer server([&](const Request&, Exchange& exchange) { exchange.reply(status, "{}", header); });
  Client client(server.config());
  EXPECT_EQ(client.get(resources::kPods, pod).error().kind, Kind::TooManyRequests);
  EXPECT_EQ(server.requests().size(), 4u);
  header = "Retry-After: 60\r\n";
  const auto later = client.get(resources::kPods, pod);
  EXPECT_EQ(later.error().retry_after, Seconds(60));
  EXPECT_EQ(server.requests().size(), 5u);
  status = 503;
  header = "";
  EXPECT_EQ(client.get(resources::kPods, pod).error().kind, Kind::Unavailable);
  EXPECT_EQ(server.requests().size(), 6u);
}

TEST(Connections, AReadIsRepeatedAWriteIsNot) {
  StubServer server([](const Request&, Exchange& exchange) {
    exchange.raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":");
    exchange.hang_up();
  });
  Client client(server.config());
  EXPECT_EQ(client.get(resources::kPods, pod).error().kind, Kind::Lost);
  EXPECT_EQ(server.requests().size(), 2u);
  EXPECT_EQ(client.create(resources::kPods, "a", {{"metadata", {{"name", "p"}}}}).error().kind, Kind::Lost);
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST(Connections, ATruncatedChunkIsALoss) {
  StubServer server([](const Request&, Exchange& exchange) {
    exchange.begin_chunks();
    exchange.chunk("{\"a\":");
    exchange.raw("50\r\n1}");
    exchange.hang_up();
  });
  Client client(server.config());
  EXPECT_EQ(client.get(resources::kPods, pod).error().kind, Kind::Lost);
}

TEST(Connections, AServerThatNeverAnswers) {
  StubServer server([](const Request&, Exchange& exchange) { exchange.wait_end(); });
  ClientOptions options;
  options.answer_timeout = Millis(100);
  Client client(server.config(), options);
  EXPECT_EQ(client.create(resources::kPods, "a", {{"metadata", {{"name", "p"}}}}).error().kind, Kind::Lost);
}

TEST(Connections, NobodyThere) {
  Config config;
  {
    StubServer server(fine);
    config = server.config();
  }
  const auto answer = Client(config).get(resources::kPods, pod);
  EXPECT_EQ(answer.error().kind, Kind::Unreachable);
  EXPECT_NE(answer.error().message.find("reading pods a/p at " + config.server), std::string::npos);
}

TEST(Connections, AServerThatClosesAfterEveryAnswer) {
  StubServer server([](const Request&, Exchange& exchange) {
    exchange.reply(200, object_text("p"), "Connection: close\r\n");
    exchange.hang_up();
  });
  Client client(server.config());
  for (int i = 0; i < 5; ++i) {
    const auto answer = client.merge_patch(resources::kPods, pod, json::object());
    EXPECT_TRUE(answer) << answer.error().message;
  }
}

// Pitfall 16: a 401 reads the token again; the same token is not tried twice.
TEST(Tokens, AreReadAgainAfterA401) {
  char name[] = "/tmp/empi-kube-token-XXXXXX";
  const std::string folder = mkdtemp(name), file = folder + "/token";
  std::ofstream(file) << "old\n";
  StubServer server([](const Request& request, Exchange& exchange) {
    const bool good = request.headers.at("authorization") == "Bearer new";
    exchange.reply(good ? 200 : 401, object_text("p"));
  });
  Config config = server.config();
  config.token.file = file;
  testing::ManualClock clock;
  Client client(config, {}, clock);
  EXPECT_EQ(client.get(resources::kPods, pod).error().kind, Kind::Unauthorized);
  EXPECT_EQ(server.requests().size(), 1u);
  std::ofstream(file) << "new\n";
  EXPECT_TRUE(client.get(resources::kPods, pod));
  EXPECT_EQ(server.requests().size(), 3u);
  std::filesystem::remove_all(folder);
}

TEST(Tokens, AreReadAgainEveryMinute) {
  char name[] = "/tmp/empi-kube-token-XXXXXX";
  const std::string folder = mkdtemp(name), file = folder + "/token";
  std::ofstream(file) << "one";
  StubServer server(fine);
  Config config = server.config();
  config.token.file = file;
  testing::ManualClock clock;
  std::vector<std::string> log;
  ClientOptions options;
  options.log = [&](const std::string& line) { log.push_back(line); };
  Client client(config, options, clock);
  const auto token = [&] {
    EXPECT_TRUE(client.get(resources::kPods, pod));
    return server.requests().back().headers.at("authorization");
  };
  std::ofstream(file) << "two";
  EXPECT_EQ(token(), "Bearer one");
  clock.advance(Seconds(60));
  EXPECT_EQ(token(), "Bearer two");
  std::filesystem::remove(file);  // while it is being replaced: the old one stays
  clock.advance(Seconds(60));
  EXPECT_EQ(token(), "Bearer two");
  EXPECT_EQ(log.size(), 1u);
  std::ofstream(file) << "a\r\nX-Injected: 1";
  clock.advance(Seconds(60));
  EXPECT_EQ(token(), "Bearer two");
  EXPECT_EQ(log.size(), 2u);
  std::filesystem::remove_all(folder);
}

TEST(Hooks, EveryWritePassesOnePlace) {
  StubServer server(fine);
  std::vector<std::string> seen;
  ClientOptions options;
  options.before_write = [&](const WriteInfo& write) {
    seen.push_back(std::to_string(write.number) + " " + write.verb + " " + write.resource + " " +
                   to_string(write.key) + " after " + std::to_string(server.requests().size()));
  };
  Client client(server.config(), options);
  client.get(resources::kPods, pod);
  client.create(resources::kPods, "a", {{"metadata", {{"name", "p"}}}});
  CallOptions status;
  status.subresource = "status";
  client.apply(resources::kElasticMpiJobs, pod, json::object(), status);
  client.remove(resources::kPods, pod, {});
  EXPECT_EQ(seen, (std::vector<std::string>{"1 create pods a/p after 1",
                                            "2 patch elasticmpijobs/status a/p after 2",
                                            "3 delete pods a/p after 3"}));
  std::string counts;
  for (const RequestCount& count : client.counts())
    counts += count.verb + " " + count.resource + " " + std::to_string(count.status) + " " +
              std::to_string(count.count) + "; ";
  EXPECT_EQ(counts,
            "create pods 200 1; delete pods 200 1; get pods 200 1; patch elasticmpijobs/status 200 1; ");
}

TEST(Stop, CutsWhatIsUnderWay) {
  StubServer server([](const Request&, Exchange& exchange) { exchange.wait_end(); });
  Client client(server.config());
  std::vector<Kind> kinds(3, Kind::Server);
  std::vector<std::thread> callers;
  for (auto& kind : kinds)
    callers.emplace_back([&] { kind = client.get(resources::kPods, pod).error().kind; });
  ASSERT_TRUE(server.wait_requests(3));
  client.stop();
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(kinds, std::vector<Kind>(3, Kind::Stopped));
  EXPECT_EQ(client.get(resources::kPods, pod).error().kind, Kind::Stopped);
}

// Sixteen threads; once the first round of answers has come, late, eight at a time.
TEST(SlowServer, IsAskedByFewerAtATime) {
  std::atomic<int> at_once{0}, most{0}, answered{0};
  StubServer server([&](const Request&, Exchange& exchange) {
    const int now = ++at_once;
    if (answered >= 16) most = std::max<int>(most, now);
    std::this_thread::sleep_for(Millis(20));
    --at_once;
    ++answered;
    exchange.reply(200, object_text("p"));
  });
  ClientOptions options;
  options.requests_per_second = 1e6;
  options.in_flight = 16;
  options.late_answer = Millis(10);
  Client client(server.config(), options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 4; ++i) EXPECT_TRUE(client.get(resources::kPods, pod));
    });
  for (auto& thread : threads) thread.join();
  EXPECT_GT(most, 0);
  EXPECT_LE(most, 8);
}

TEST(Threads, ShareOneClient) {
  StubServer server([](const Request& request, Exchange& exchange) {
    exchange.reply(200, object_text(request.path.substr(request.path.rfind('/') + 1)));
  });
  ClientOptions options;
  options.requests_per_second = 1e6;
  Client client(server.config(), options);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const ObjectKey key{"a", "p" + std::to_string(t) + "-" + std::to_string(i)};
        const auto answer =
            i % 2 ? client.get(resources::kPods, key) : client.merge_patch(resources::kPods, key, {});
        if (!answer || key_of(answer.value()).name != key.name) ++wrong;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(client.writes(), 150u);
}

}  // namespace
}  // namespace emj::kube
