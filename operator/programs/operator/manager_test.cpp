// SPDX-License-Identifier: Apache-2.0
// The whole operator in this process, against a server that answers as much of the API as it asks for.

#include "operator/programs/operator/manager.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "operator/kube/testing/stub_server.hpp"
#include "runtime/base/unique_fd.hpp"

namespace emj::manager {
namespace {

using empi::UniqueFd;
using kube::testing::Exchange;
using kube::testing::Request;
using kube::testing::StubServer;
using nlohmann::json;
using ::testing::HasSubstr;

const json job = json::parse(R"({
  "apiVersion": "elasticmpi.io/v1alpha1", "kind": "ElasticMPIJob",
  "metadata": {"name": "demo", "namespace": "a", "uid": "uid-demo", "resourceVersion": "5", "generation": 1},
  "spec": {"worker": {"replicas": 1, "minReplicas": 1, "maxReplicas": 2,
           "template": {"spec": {"containers": [{"name": "worker", "image": "i", "command": ["program"]}]}}}}})");

bool writes_status(const Request& request) {
  return request.method == "PUT" && request.path.ends_with("/elasticmpijobs/demo/status");
}
bool releases_lease(const Request& request) {
  return request.method == "PUT" && request.path.find("/leases/") != std::string::npos &&
         json::parse(request.body)["spec"].value("holderIdentity", std::string()).empty();
}

class Operator : public ::testing::Test {
 public:
  ~Operator() override {
    open();
    manager->stop();
    if (ended.valid()) ended.wait();
    std::filesystem::remove_all(folder_);
  }

 protected:
  explicit Operator(ManagerOptions options = {}, json more_jobs = json::array(), json pods = json::array())
      : jobs_(std::move(more_jobs)), pods_(std::move(pods)) {
    jobs_.push_back(job);
    std::string folder = ::testing::TempDir() + "operator.XXXXXX";
    if (!mkdtemp(folder.data())) std::abort();
    folder_ = folder;
    std::ofstream(folder_ / "root-key") << std::string(64, '7') << "\n";
    std::ofstream(folder_ / "kubeconfig") << json{
        {"apiVersion", "v1"},
        {"kind", "Config"},
        {"current-context", "c"},
        {"clusters", {{{"name", "c"}, {"cluster", {{"server", server.url()}}}}}},
        {"users", {{{"name", "c"}, {"user", json::object()}}}},
        {"contexts", {{{"name", "c"}, {"context", {{"cluster", "c"}, {"user", "c"}, {"namespace", "a"}}}}}}};
    options.kubeconfig = folder_ / "kubeconfig";
    options.root_key_file = folder_ / "root-key";
    options.port = 0;
    options.threads = 2;
    manager = std::make_unique<Manager>(options, [](const std::string&) {});
    ended = std::async(std::launch::async, [this] { return manager->run(); });
  }
  void answer(const Request& request, Exchange& exchange) {
    if (request.query.contains("watch")) {
      exchange.begin_chunks();
      return exchange.wait_end();
    }
    if (request.method == "GET" && request.path.find("/leases/") != std::string::npos)
      return lease().is_null() ? exchange.reply(404, "{}") : exchange.reply(200, lease().dump());
    if (request.method == "GET") {
      const bool jobs = request.path.ends_with("/elasticmpijobs");
      const bool pods = request.path.ends_with("/pods");
      const bool queues = request.path.ends_with("/elasticqueues");
      const json list = {{"metadata", {{"resourceVersion", "9"}}},
                         {"items", jobs     ? jobs_
                                   : pods   ? pods_
                                   : queues ? queues_
                                            : json::array()}};
      return exchange.reply(200, list.dump());
    }
    if (writes_status(request)) gate.wait_for(Seconds(20));
    json written = json::parse(request.body);
    written["metadata"]["uid"] = "uid-written";
    written["metadata"]["resourceVersion"] = "10";
    if (request.path.find("/leases") != std::string::npos) keep_lease(written);
    exchange.reply(request.method == "POST" ? 201 : 200, written.dump());
  }
  json lease() {
    const std::lock_guard lock(mutex_);
    return lease_;
  }
  void keep_lease(const json& lease) {
    const std::lock_guard lock(mutex_);
    lease_ = lease;
  }
  void open() {
    if (!std::exchange(opened_, true)) gate_.set_value();
  }
  // Waits until such a request has come, and tells its place among all; bounded.
  std::size_t wait_for(bool (*which)(const Request&)) {
    for (std::size_t seen = 0; server.wait_requests(seen + 1);) {
      const auto requests = server.requests();
      for (; seen < requests.size(); ++seen)
        if (which(requests[seen])) return seen;
    }
    ADD_FAILURE() << "no such request came";
    return 0;
  }

  json jobs_, pods_;
  const json queues_ = json::array({json::parse(R"({
    "apiVersion": "elasticmpi.io/v1alpha1", "kind": "ElasticQueue",
    "metadata": {"name": "main", "uid": "uid-main", "resourceVersion": "6", "generation": 1},
    "spec": {"pools": [{"name": "p", "quota": {"cpu": 4}}]}})")});
  std::promise<void> gate_;
  std::shared_future<void> gate = gate_.get_future().share();  // status writes wait here
  bool opened_ = false;
  std::mutex mutex_;
  json lease_;
  std::filesystem::path folder_;
  StubServer server{[this](const Request& request, Exchange& exchange) { answer(request, exchange); }};
  std::unique_ptr<Manager> manager;
  std::future<int> ended;
};

// Pitfall 18: the pass in hand comes to its end, and the lease goes last, so that the next leader starts at
// once and never while we still write.
TEST_F(Operator, FinishesWhatItHasInHandAndThenReleasesTheLease) {
  const std::size_t status = wait_for(writes_status);
  manager->stop();  // in the middle of a pass
  open();
  ASSERT_EQ(ended.wait_for(Seconds(60)), std::future_status::ready);
  EXPECT_EQ(ended.get(), 0);
  const auto requests = server.requests();
  const auto release = std::ranges::find_if(requests, releases_lease) - requests.begin();
  ASSERT_LT(static_cast<std::size_t>(release), requests.size()) << "the lease was not released";
  EXPECT_GT(static_cast<std::size_t>(release), status);
  EXPECT_EQ(static_cast<std::size_t>(release) + 1, requests.size())
      << "nothing is asked of the server after it";
}

TEST_F(Operator, TellsHowItIs) {
  wait_for(writes_status);  // the caches are filled, it leads, and a pass is under way
  httplib::Client http("127.0.0.1", manager->port());
  const auto body = [&](const char* path) {
    const auto answer = http.Get(path);
    return answer ? std::to_string(answer->status) + " " + answer->body : std::string("no answer");
  };
  EXPECT_EQ(body("/healthz"), "200 ok\n");
  EXPECT_EQ(body("/readyz"), "200 ok\n");
  const std::string metrics = body("/metrics");
  EXPECT_THAT(metrics, HasSubstr("empi_operator_leader 1\n"));
  EXPECT_THAT(metrics, HasSubstr("empi_operator_queue_jobs{place=\"in_hand\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("empi_operator_longest_pass_seconds "));
}

// Any pod may reach the port where no CNI keeps it away. If it could keep the kubelet's probes out, it could
// have the operator killed, and that is everybody's.
TEST_F(Operator, AnswersProbesThoughOthersHoldConnections) {
  std::vector<UniqueFd> held;
  for (int i = 0; i < 40; ++i) {
    UniqueFd peer(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{.sin_family = AF_INET,
                        .sin_port = htons(static_cast<std::uint16_t>(manager->port())),
                        .sin_addr = {htonl(INADDR_LOOPBACK)},
                        .sin_zero = {}};
    ASSERT_EQ(connect(peer.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(send(peer.get(), "GET /met", 8, MSG_NOSIGNAL), 8);
    held.push_back(std::move(peer));
  }
  httplib::Client http("127.0.0.1", manager->port());
  http.set_read_timeout(2, 0);
  EXPECT_TRUE(http.Get("/healthz"))
      << "within the second that a kubelet waits, on a machine that is not busy";
  // What is no question to it is not read.
  const auto large = http.Post("/metrics", std::string(1 << 20, 'x'), "text/plain");
  EXPECT_TRUE(!large || large->status == 405);
}

TEST_F(Operator, AnswersOverIPv6WhereThereIsOne) {
  const UniqueFd socket6(socket(AF_INET6, SOCK_STREAM, 0));
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  if (!socket6 || bind(socket6.get(), reinterpret_cast<sockaddr*>(&loopback), sizeof loopback) != 0)
    GTEST_SKIP() << "no IPv6 here";
  wait_for(writes_status);
  const auto answer = httplib::Client("::1", manager->port()).Get("/healthz");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

ManagerOptions impatient() {
  ManagerOptions options;
  options.stuck_pass = Seconds(0);
  return options;
}
class ImpatientOperator : public Operator {
 protected:
  ImpatientOperator() : Operator(impatient()) {}
};

// The kubelet starts an operator anew that does not come back from a pass: nobody else would look at that
// job.
TEST_F(ImpatientOperator, IsNotHealthyWhileAPassHangs) {
  wait_for(writes_status);
  httplib::Client http("127.0.0.1", manager->port());
  const auto hanging = http.Get("/healthz");
  ASSERT_TRUE(hanging);
  EXPECT_EQ(hanging->status, 503);
  EXPECT_EQ(hanging->body, "the pass over job a/demo is stuck\n");
}

ManagerOptions with_queues() {
  ManagerOptions options;
  options.queues = true;
  return options;
}
class OperatorWithQueues : public Operator {
 protected:
  OperatorWithQueues() : Operator(with_queues()) {}
};

bool takes_queue(const Request& request) {
  return request.method == "PUT" && request.path.ends_with("/elasticqueues/main/status");
}

// Not before every job was seen once: the pass over `demo` has to come to its end.
TEST_F(OperatorWithQueues, TakesThemWhenItKnowsWhatThereIs) {
  wait_for(writes_status);
  EXPECT_FALSE(std::ranges::any_of(server.requests(), takes_queue));
  open();
  const std::size_t place = wait_for(takes_queue);
  const json taken = json::parse(server.requests()[place].body);
  EXPECT_EQ(taken["status"]["fence"], 1);
  EXPECT_EQ(taken["metadata"]["resourceVersion"], "6") << "against what was read";
  httplib::Client http("127.0.0.1", manager->port());
  const auto ready = http.Get("/readyz"), metrics = http.Get("/metrics");
  ASSERT_TRUE(ready && metrics);
  EXPECT_EQ(ready->body, "ok\n");
  EXPECT_THAT(metrics->body, HasSubstr("empi_scheduler_pass_seconds_count"));
  EXPECT_THAT(metrics->body, HasSubstr("empi_operator_watch_age_seconds{resource=\"foreignpods\"}"));
}

TEST_F(Operator, WithoutQueuesReadsNothingOfThem) {
  open();
  wait_for(writes_status);
  for (const Request& request : server.requests())
    for (const char* kind : {"/elasticqueues", "/nodes", "/resourcequotas"})
      EXPECT_EQ(request.path.find(kind), std::string::npos) << request.path;
}

// Jobs that run, each with an agent that takes a question and does not answer: as many as there are threads.
struct SilentAgents {
  static constexpr int kJobs = 2;
  json jobs() const {
    json list = json::array();
    for (int i = 0; i < kJobs; ++i) {
      json running = job;
      running["metadata"]["name"] = "a-silent-" + std::to_string(i);
      running["metadata"]["uid"] = "uid-silent-" + std::to_string(i);
      running["status"] = {
          {"state", "Running"}, {"epoch", 1}, {"fence", 1}, {"nextIndex", 1}, {"workers", "0"}};
      list.push_back(running);
    }
    return list;
  }
  json pods() const {
    json list = json::array();
    for (const json& running : jobs()) {
      const std::string name = running["metadata"]["name"];
      const std::string uid = running["metadata"]["uid"];
      list.push_back(
          {{"metadata",
            {{"name", name + "-w-0"},
             {"namespace", "a"},
             {"uid", uid + "-pod"},
             {"resourceVersion", "5"},
             {"labels", {{kLabelJob, name}, {kLabelRole, "worker"}, {kLabelIndex, "0"}}},
             {"ownerReferences", json::array({{{"uid", uid}, {"controller", true}}})}}},
           {"status", {{"phase", "Running"}, {"podIP", "127.0.0.1:" + std::to_string(agents.port())}}}});
    }
    return list;
  }

  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  StubServer agents{[this](const Request&, Exchange& exchange) {
    released.wait();
    exchange.hang_up();
  }};
};

ManagerOptions patient() {
  ManagerOptions options;
  options.agents = {Millis(60000), Millis(60000)};
  return options;
}
class OperatorOfSilentJobs : public SilentAgents, public Operator {
 public:
  ~OperatorOfSilentJobs() override { release.set_value(); }

 protected:
  OperatorOfSilentJobs() : Operator(patient(), SilentAgents::jobs(), SilentAgents::pods()) {}
};

TEST_F(OperatorOfSilentJobs, MakesThePassesOverOthersMeanwhile) {
  const auto start = std::chrono::steady_clock::now();
  open();
  ASSERT_TRUE(agents.wait_requests(kJobs));
  wait_for(writes_status);
  EXPECT_LT(std::chrono::steady_clock::now() - start, Seconds(30)) << "they have 60 s to answer";
}

}  // namespace
}  // namespace emj::manager
