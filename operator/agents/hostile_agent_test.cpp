// SPDX-License-Identifier: Apache-2.0
// Agents are the tenant's: whatever one answers, a question to it ends soon, costs little, and throws
// nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "operator/agents/agent_client.hpp"
#include "operator/agents/convert.hpp"
#include "operator/api/testing/random_json.hpp"
#include "operator/kube/testing/stub_server.hpp"
#include "runtime/protocol/json.hpp"

namespace emj {
namespace {

using kube::testing::Exchange;
using kube::testing::Request;
using kube::testing::StubServer;
using nlohmann::json;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr AgentTimeouts kImpatient{Millis(1000), Millis(500)};
constexpr AgentTimeouts kPatient{Millis(60000), Millis(60000)};  // no slowness of this machine is the agent's
constexpr Millis kPace{20};  // between two pieces: far below what a timeout between them would notice

AgentError report_of(const StubServer::Handler& agent, AgentTimeouts timeouts = kPatient) {
  StubServer server(agent);
  AgentClient client("127.0.0.1:" + std::to_string(server.port()), "token", timeouts);
  const auto report = client.report(-1, 1);
  EXPECT_FALSE(report);
  return report ? AgentError{} : report.error();
}

// For far longer than an impatient client may wait, from the first byte to the last.
void drip(Exchange& exchange, const std::string& bytes) {
  for (const auto end = Clock::now() + std::chrono::minutes(1); !exchange.stopping();) {
    exchange.raw(bytes);
    std::this_thread::sleep_for(kPace);
    if (Clock::now() > end) return ADD_FAILURE() << "not given up after a minute";
  }
}

TEST(HostileAgent, AHeadThatComesByteByByteIsGivenUp) {
  const AgentError error = report_of(
      [](const Request&, Exchange& exchange) {
        exchange.raw("HTTP/1.1 200 OK\r\nX: ");
        drip(exchange, "x");
      },
      kImpatient);
  EXPECT_EQ(error.kind, AgentError::Kind::Unreachable);
  EXPECT_THAT(error.message, HasSubstr("no whole answer in time"));
}

TEST(HostileAgent, ABodyThatComesByteByByteIsGivenUp) {
  const AgentError error = report_of(
      [](const Request&, Exchange& exchange) {
        exchange.raw("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        drip(exchange, " ");
      },
      kImpatient);
  EXPECT_EQ(error.kind, AgentError::Kind::Unreachable);
}

TEST(HostileAgent, AnEndlessAnswerIsCutOff) {
  std::size_t sent = 0;
  const AgentError error = report_of([&](const Request&, Exchange& exchange) {
    exchange.begin_chunks();
    const std::string piece(1 << 16, ' ');
    while (true) {
      exchange.chunk(piece);
      sent += piece.size();
    }
  });
  EXPECT_EQ(error.kind, AgentError::Kind::Unreachable);
  EXPECT_THAT(error.message, HasSubstr("larger than allowed"));
  EXPECT_LT(sent, 4 * kLongestAnswer) << "what is on its way fills the sockets' buffers";
}

TEST(HostileAgent, TheLengthThatAnAnswerClaimsIsNotBelieved) {
  for (const char* length : {"1073741824", "1152921504606846976", "18446744073709551615", "-1"}) {
    SCOPED_TRACE(length);
    const AgentError error = report_of([&](const Request&, Exchange& exchange) {
      exchange.raw(std::string("HTTP/1.1 200 OK\r\nContent-Length: ") + length + "\r\n\r\n{}");
      exchange.hang_up();
    });
    EXPECT_FALSE(error.message.empty());
  }
}

// An empty list takes three bytes as text and fifty as a value: a few such answers would be all of the
// memory.
TEST(HostileAgent, AnAnswerMayHaveManyBytesButNotManyValues) {
  std::string many = "[[]";
  while (many.size() < kLongestAnswer - 1000) many += ",[]";
  const AgentError error =
      report_of([&](const Request&, Exchange& exchange) { exchange.reply(200, many + "]"); });
  EXPECT_EQ(error.kind, AgentError::Kind::Malformed);
  EXPECT_THAT(error.message, HasSubstr("more than"));
}

TEST(HostileAgent, ARefusalIsQuotedInPart) {
  const AgentError error = report_of([&](const Request&, Exchange& exchange) {
    exchange.reply(409, json{{"error", std::string(1 << 20, 'x')}}.dump());
  });
  EXPECT_EQ(error.kind, AgentError::Kind::Conflict);
  EXPECT_LT(error.message.size(), 1000u);
}

empi::Report some_report() {
  empi::Report report;
  report.view.uid = "a";
  report.view.membership.epoch.value = 4;
  report.view.membership.members = {{"a", "w-0", "10.0.0.1:1", 1, "n", 0},
                                    {"b", "w-1", "10.0.0.2:1", 1, "n", 1}};
  report.view.outcome.tail = {"line"};
  report.changes.resize(2);
  report.changes[0].request.id = "change-1";
  report.changes[0].outcome = empi::ChangeOutcome::RolledBack;
  report.changes[1].request.id = "change-2";
  report.changes[1].released = {"c"};
  report.windows.resize(4);
  for (int i = 0; i < 4; ++i) {
    empi::WindowSample& window = report.windows[static_cast<std::size_t>(i)];
    window.index = 42 + i;
    window.width_s = 1;
    window.epoch = 4;
    window.ranks = window.pods = 2;
    window.elapsed_s = 2;
    window.useful_s = window.max_useful_s = .9;
    window.iterations = 10;
    window.iteration_s = .9;
  }
  return report;
}

TEST(HostileAgent, AnyJsonIsReadOrRefused) {
  int read = 0, refused = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    testing::RandomJson random(seed);
    json body = some_report();
    for (int i = random.number(3); i >= 0; --i) random.spoil(body);
    empi::Report report;
    try {
      report = body.get<empi::Report>();  // as AgentClient does
    } catch (const std::exception&) {
      ++refused;
      continue;
    }
    ++read;
    const RuntimeView view = to_runtime_view(report.view, report.changes);
    EXPECT_LE(view.message.size(), 20000u);
    for (const Sample& sample : to_samples(report.windows, Seconds(2))) {
      EXPECT_TRUE(std::isfinite(sample.parallel_efficiency));
      EXPECT_GE(sample.workers, 1);
    }
  }
  EXPECT_GT(read, 30);
  EXPECT_GT(refused, 30);
}

TEST(HostileAgent, WordsThatGoIntoTheStatusHaveALength) {
  empi::Report report = some_report();
  report.changes[0].reason = std::string(1 << 20, 'r');
  report.changes[0].request.id = std::string(1 << 20, 'i');
  report.view.outcome.reason = std::string(1 << 20, 'm');
  report.view.outcome.tail.assign(100000, "tail");
  const RuntimeView view = to_runtime_view(report.view, report.changes);
  ASSERT_TRUE(view.ended);
  EXPECT_LE(view.ended->reason.size(), 2000u);
  EXPECT_LE(view.ended->id.size(), 300u);
  EXPECT_LE(view.message.size(), 20000u);
}

}  // namespace
}  // namespace emj
