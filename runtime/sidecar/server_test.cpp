// SPDX-License-Identifier: Apache-2.0
// The real program over real HTTP, with pages that this test writes as ranks do.
#include "runtime/sidecar/server.hpp"

#include <gtest/gtest.h>
#include <httplib.h>
#include <signal.h>

#include <fstream>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/base/bounded_http.hpp"
#include "runtime/base/exposition.hpp"
#include "runtime/base/http_server.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/base/tls.hpp"
#include "runtime/profile/read/window_reader.hpp"
#include "runtime/profile/testing/synthetic_page.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/metrics.hpp"
#include "runtime/protocol/names.hpp"
#include "runtime/sidecar/testing/process.hpp"
#include "runtime/sidecar/testing/prometheus_parser.hpp"

namespace empi::sidecar {
namespace {

using nlohmann::json;
using profile::testing::SyntheticPage;
using profile::testing::TemporaryFolder;
using testing::Process;

constexpr int kPatience = 60;  // s; valgrind on a busy machine is slow

// Under valgrind the program runs through this prefix (see CMakeLists.txt).
std::vector<std::string> program() {
  std::vector<std::string> command;
  if (const char* prefix = std::getenv("EMPI_TEST_PREFIX")) {
    std::istringstream words(prefix);
    for (std::string word; words >> word;) command.push_back(word);
  }
  command.push_back(empi::testing::beside("elastic-mpi-sidecar"));
  return command;
}

int port_in(const std::string& line) { return std::stoi(line.substr(line.rfind(':') + 1)); }

std::string variable(const char* name, const std::string& value) { return std::string(name) + "=" + value; }

// Polls `condition` until it holds.
void eventually(const std::string& what, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kPatience);
  while (!condition()) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "never happened: " << what;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

struct Sidecar : ::testing::Test {
  TemporaryFolder folder;
  std::string token_file = folder.path() / "token";

  std::vector<std::string> environment(std::vector<std::string> more = {}) {
    more.insert(more.end(),
                {variable(names::kRunDir, folder.path()), variable(names::kSidecarPort, "0"),
                 variable(names::kWindowMillis, "50"), variable(names::kJobName, "tsunami"),
                 variable(names::kJobNamespace, "waves"), variable(names::kPodName, "tsunami-w-0"),
                 variable(names::kPodUid, "uid-0"), variable(names::kSlots, "2")});
    return more;
  }
  static std::vector<std::string> with(std::vector<std::string> command,
                                       const std::vector<std::string>& flags) {
    command.insert(command.end(), flags.begin(), flags.end());
    return command;
  }
  static testing::Scrape scrape(httplib::Client& client) {
    const auto answer = client.Get("/metrics");
    if (!answer || answer->status != 200) throw std::runtime_error("no answer on /metrics");
    if (answer->get_header_value("Content-Type") != metrics::kExpositionType)
      throw std::runtime_error("content type " + answer->get_header_value("Content-Type"));
    return testing::parse_prometheus(answer->body);
  }
};

TEST_F(Sidecar, ServesWhatTheRanksMeasure) {
  Process sidecar(with(program(), {"--no-agent", "--listen", "127.0.0.1"}), environment());
  httplib::Client client("127.0.0.1", port_in(sidecar.line(kPatience)));
  client.set_read_timeout(kPatience);
  ASSERT_EQ(client.Get("/healthz")->status, 200);
  EXPECT_EQ(scrape(client).value("empi_ranks"), 0);

  SyntheticPage a(folder.path(), 0, profile::monotonic_ns());
  auto b = std::make_unique<SyntheticPage>(folder.path(), 1, profile::monotonic_ns());
  (*b).counters().mpi_calls = 7;
  testing::Scrape two;
  // A window may have come to its end just when they began: what they measured then is in the next one.
  eventually("two ranks are seen, that compute", [&] {
    two = scrape(client);
    return two.value("empi_ranks") == 2 && two.value("empi_mpi_calls_total") > 0 &&
           two.value("empi_useful_seconds_total") > 0;
  });
  EXPECT_EQ(two.value("empi_mpi_calls_total"), 7);

  b.reset();
  a.counters().mpi_calls = 5;
  eventually("one rank is left", [&] { return scrape(client).value("empi_ranks") == 1; });
  eventually("its calls are counted", [&] { return scrape(client).value("empi_mpi_calls_total") == 12; });
  EXPECT_TRUE(testing::decreases(two, scrape(client)).empty());

  const auto windows =
      json::parse(client.Get("/v1/sample")->body).at("windows").get<std::vector<WindowSample>>();
  ASSERT_GE(windows.size(), 2u);
  EXPECT_EQ(windows.back().ranks, 1);
  EXPECT_DOUBLE_EQ(windows.back().width_s, 0.05);
  for (std::size_t i = 1; i < windows.size(); ++i) EXPECT_GT(windows[i].index, windows[i - 1].index);
  EXPECT_EQ(client.Get("/nothing")->status, 404);
  EXPECT_EQ(sidecar.stop(SIGTERM, kPatience), 0);
}

TEST_F(Sidecar, AsksForTheTokenOnSamples) {
  std::ofstream(token_file) << "secret\n";
  Process sidecar(with(program(), {"--no-agent", "--listen", "127.0.0.1"}),
                  environment({variable(names::kTokenFile, token_file)}));
  httplib::Client client("127.0.0.1", port_in(sidecar.line(kPatience)));
  client.set_read_timeout(kPatience);
  EXPECT_EQ(client.Get("/v1/sample")->status, 401);
  EXPECT_EQ(client.Get("/v1/sample", {{"Authorization", "Bearer wrong!"}})->status, 401);
  EXPECT_EQ(client.Get("/v1/sample", {{"Authorization", "Bearer "}})->status, 401);
  EXPECT_EQ(client.Get("/v1/sample", {{"Authorization", "Bearer secret"}})->status, 200);
  EXPECT_EQ(client.Get("/metrics")->status, 200);  // Prometheus has no token
  EXPECT_EQ(sidecar.stop(SIGINT, kPatience), 0);
}

// The agent's side of the conversation, through the protocol's own types.
// Prometheus and the kubelet have no certificate, and need none for what they ask.
TEST_F(Sidecar, WithCertificatesReportsAreForTheControllerOnAPortOfTheirOwn) {
  const tls::Authority job("secret", "job");
  const auto validity = tls::months_around(std::chrono::system_clock::now());
  Options options;
  options.run_dir = folder.path();
  options.listen = "127.0.0.1";
  options.tls_folder = folder.path();
  std::ofstream(folder.path() / tls::kIdentityFile) << job.issue(0, validity);
  std::ofstream(folder.path() / tls::kAuthoritiesFile) << job.certificate();
  const Server server(options);
  httplib::Client plain("127.0.0.1", server.port());
  EXPECT_EQ(plain.Get("/metrics")->status, 200);
  EXPECT_EQ(plain.Get("/healthz")->status, 200);
  for (const char* path : {paths::kReport, paths::kSample}) EXPECT_EQ(plain.Get(path)->status, 404) << path;
  const auto ask = [&](std::optional<int> worker, const char* path) {
    const auto as = std::make_shared<tls::Credentials>(job.issue(worker, validity), job.certificate());
    return BoundedHttp("127.0.0.1:" + std::to_string(server.report_port()), {}, as)
        .ask("GET", path, "")
        .status;
  };
  EXPECT_EQ(ask(std::nullopt, paths::kSample), 200);
  EXPECT_EQ(ask(std::nullopt, paths::kReport), 404) << "this sidecar has no agent";
  EXPECT_EQ(ask(1, paths::kSample), 403);
  EXPECT_EQ(ask(std::nullopt, "/metrics"), 404);
}

TEST_F(Sidecar, LearnsEpochAndChangesFromTheLead) {
  std::ofstream(token_file) << "secret\n";
  MembershipView member;
  member.membership = {{4}, {{.uid = "uid-0", .name = "tsunami-w-0", .address = "", .nspace = ""}}};
  std::atomic<bool> changed = false;
  httplib::Server agent;
  const auto checked = [](const httplib::Request& request, httplib::Response& answer, const json& body) {
    answer.status = request.get_header_value("Authorization") == "Bearer secret" ? 200 : 401;
    answer.set_content(body.dump(), "application/json");
  };
  agent.Get(paths::kReport, [&](const auto& in, auto& out) {
    ChangeStatus done;
    done.request.id = "c1";
    done.request.remove = {"uid-9"};
    done.outcome = changed ? ChangeOutcome::Committed : ChangeOutcome::Unfinished;
    checked(in, out, Report{member, {done}, {}});
  });
  const int port = agent.bind_to_any_port("127.0.0.1");
  std::thread thread([&] { agent.listen_after_bind(); });
  agent.wait_until_ready();
  {
    Process sidecar(
        with(program(), {"--listen", "127.0.0.1"}),
        environment({variable(names::kTokenFile, token_file), variable(names::kPodAddress, "127.0.0.1"),
                     variable(names::kAgentPort, std::to_string(port))}));
    httplib::Client client("127.0.0.1", port_in(sidecar.line(kPatience)));
    client.set_read_timeout(kPatience);
    eventually("the epoch is known", [&] { return scrape(client).value("empi_epoch") == 4; });
    changed = true;
    eventually("the change is counted", [&] { return scrape(client).has("empi_reconfigurations_total"); });
    EXPECT_EQ(
        scrape(client).value("empi_reconfigurations_total", {{"type", "shrink"}, {"outcome", "committed"}}),
        1);
    EXPECT_EQ(sidecar.stop(SIGTERM, kPatience), 0);
  }
  agent.stop();
  thread.join();
}

// The lead keeps hundreds of windows; each second only those are wanted that came since.
TEST_F(Sidecar, AsksTheLeadOnceASecondAndForNewWindowsOnly) {
  constexpr std::int64_t kNothing = -1, kFirst = 1000, kKept = 500;
  std::atomic<int> looks_again = 0, others = 0, most_again = 0;
  std::mutex mutex;  // an answer may still be made when the next question is there
  std::int64_t newest = kFirst + kKept, last_since = kNothing;
  httplib::Server agent;
  agent.set_pre_routing_handler([&](const auto& request, auto&) {
    if (request.path != paths::kReport) ++others;
    return httplib::Server::HandlerResponse::Unhandled;
  });
  agent.Get(paths::kReport, [&](const auto& request, auto& answer) {
    Report report;
    report.view.membership = {{1}, {{.uid = "uid-0", .name = "tsunami-w-0", .address = "", .nspace = ""}}};
    const std::int64_t since = std::stoll(request.get_param_value("since"));
    const std::lock_guard lock(mutex);
    // A window ends between two looks. An answer that came too late, as on a busy machine, was none.
    if (since != last_since) ++newest;
    last_since = since;
    for (std::int64_t index = std::max(since + 1, kFirst); index <= newest; ++index) {
      WindowSample window;
      window.index = index;
      window.width_s = window.elapsed_s = window.useful_s = window.max_useful_s = 1;
      window.max_pod_useful_s = 1;
      window.ranks = window.pods = 1;
      report.windows.push_back(window);
    }
    if (since != kNothing) {
      most_again = std::max<int>(most_again, static_cast<int>(report.windows.size()));
      ++looks_again;
    }
    answer.set_content(json(report).dump(), "application/json");
  });
  const int port = agent.bind_to_any_port("127.0.0.1");
  std::thread thread([&] { agent.listen_after_bind(); });
  agent.wait_until_ready();
  {
    Process sidecar(with(program(), {"--listen", "127.0.0.1"}),
                    environment({variable(names::kPodAddress, "127.0.0.1"),
                                 variable(names::kAgentPort, std::to_string(port))}));
    httplib::Client client("127.0.0.1", port_in(sidecar.line(kPatience)));
    client.set_read_timeout(kPatience);
    eventually("it has looked some times", [&] { return looks_again >= 7 || others >= 8; });
    EXPECT_EQ(others, 0) << "one question says all";
    EXPECT_GE(most_again, 2) << "the newest may still lack pods: it is asked for again";
    EXPECT_LE(most_again, 2);
    EXPECT_EQ(scrape(client).value("empi_parallel_efficiency_ratio", {{"scope", "job"}}), 1);
    EXPECT_EQ(sidecar.stop(SIGTERM, kPatience), 0);
  }
  agent.stop();
  thread.join();
}

// The operator's look: what the agent says, by its socket, and never by the port of commands.
TEST_F(Sidecar, AnswersTheOperatorsLookFromItsAgent) {
  std::ofstream(token_file) << "secret\n";
  std::atomic<bool> slow = false, over = false;
  std::atomic<int> by_port = 0;
  const HttpServer::Check check = [](const auto& request, auto& answer, bool& trusted) {
    trusted = request.get_header_value("Authorization") == "Bearer secret";
    if (!trusted) answer.status = 401;
    return trusted;
  };
  HttpServer agent({}, check);
  agent.Get(paths::kReport, [&](const httplib::Request& request, httplib::Response& answer) {
    while (slow && !over) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    answer.set_content(R"({"asked": ")" + request.get_param_value("since") + " " +
                           request.get_param_value("fence") + R"("})",
                       "application/json");
  });
  httplib::Server port_of_commands;
  port_of_commands.set_pre_routing_handler([&](const auto&, auto&) {
    ++by_port;
    return httplib::Server::HandlerResponse::Unhandled;
  });
  const int port = port_of_commands.bind_to_any_port("127.0.0.1");
  ASSERT_TRUE(agent.open_unix(folder.path() / names::kViewSocketFile));
  std::thread threads[] = {std::thread([&] { agent.listen_after_bind(); }),
                           std::thread([&] { port_of_commands.listen_after_bind(); })};
  agent.wait_until_ready();
  port_of_commands.wait_until_ready();
  Process sidecar(
      with(program(), {"--listen", "127.0.0.1"}),
      environment({variable(names::kTokenFile, token_file), variable(names::kPodAddress, "127.0.0.1"),
                   variable(names::kAgentPort, std::to_string(port))}));
  BoundedHttp operators("127.0.0.1:" + std::to_string(port_in(sidecar.line(kPatience))), {});
  const std::string target = std::string(paths::kReport) + "?since=41&fence=3";
  EXPECT_EQ(operators.ask("GET", target, "wrong").status, 401);
  EXPECT_EQ(operators.ask("GET", "/metrics", "").status, 200) << "Prometheus has no token";
  HttpAnswer answer = operators.ask("GET", target, "secret");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"asked": "41 3"})");
  EXPECT_EQ(operators.ask("PUT", paths::kFence, "secret", R"({"fence": 9})").status, 413)
      << "nothing is commanded by this port";
  slow = true;
  answer = operators.ask("GET", target, "secret");
  EXPECT_EQ(answer.status, 504) << "soon enough for the operator: " << answer.problem;
  EXPECT_EQ(operators.ask("GET", "/healthz", "").status, 200) << "the sidecar itself is well";
  slow = false;
  EXPECT_EQ(operators.ask("GET", target, "secret").status, 200);
  EXPECT_EQ(by_port, 0);
  over = true;
  agent.stop();
  port_of_commands.stop();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(operators.ask("GET", target, "secret").status, 504) << "the agent has ended";
  EXPECT_EQ(sidecar.stop(SIGTERM, kPatience), 0);
}

TEST_F(Sidecar, SaysWhatIsWrongWithItsSettings) {
  Process unknown(with(program(), {"--no-such-flag"}), environment());
  EXPECT_EQ(unknown.wait(kPatience), 2);
  const std::string log = folder.path() / "log";
  for (const auto& [name, value] : {std::pair{names::kAgentPort, "0"},
                                    {names::kSidecarPort, "abc"},
                                    {names::kSidecarPort, "-1"},
                                    {names::kSlots, "-2"},
                                    {names::kWindowMillis, "1s"}}) {
    Process refused(program(), environment({variable(name, value)}), log);
    EXPECT_EQ(refused.wait(kPatience), 2) << name << "=" << value;
    std::ifstream file(log);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NE(text.find(std::string(name) + ": '" + value + "' is refused: expected"), text.npos) << text;
    std::filesystem::remove(log);
  }
  Process help(with(program(), {"--help"}), environment());
  EXPECT_EQ(help.wait(kPatience), 0);
}

TEST_F(Sidecar, RefusesAPortThatIsTaken) {
  Process first(with(program(), {"--no-agent", "--listen", "127.0.0.1"}), environment());
  const int port = port_in(first.line(kPatience));
  Process second(with(program(), {"--no-agent", "--listen", "127.0.0.1", "--port", std::to_string(port)}),
                 environment());
  EXPECT_EQ(second.wait(kPatience), 1);
  EXPECT_EQ(first.stop(SIGTERM, kPatience), 0);
}

}  // namespace
}  // namespace empi::sidecar
