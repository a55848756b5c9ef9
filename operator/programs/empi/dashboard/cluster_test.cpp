// SPDX-License-Identifier: Apache-2.0
// The page about a cluster, which is a server in this process.

#include "operator/programs/empi/cluster/testing/cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kube/testing/stub_server.hpp"
#include "operator/programs/empi/dashboard/command.hpp"

namespace emj::cli::dashboard {
namespace {

using kube::testing::Exchange;
using kube::testing::Request;
using kube::testing::StubServer;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kMetrics =
    "empi_parallel_efficiency_ratio{scope=\"job\"} 0.72\nempi_load_balance_ratio{scope=\"job\"} 0.9\n"
    "empi_communication_efficiency_ratio{scope=\"job\"} 0.8\n";

// What it looks at: two jobs that run.
struct Seen {
  int proxy_status = 200;
  std::string queue{};  // that the jobs are in
  int queue_status = 200;
  std::size_t asked = 0;  // after the jobs
};

Looked look(Seen& seen) {
  const int proxy_status = seen.proxy_status;
  StubServer server([&](const Request& request, Exchange& exchange) {
    if (request.path.find("/elasticqueues") != std::string::npos) {
      json queue = {{"metadata", {{"name", seen.queue}}},
                    {"spec", {{"pools", {{{"name", "p"}, {"quota", {{"cpu", 4}}}}}}}},
                    {"status", {{"running", 2}, {"queued", 0}}}};
      json another = queue;
      another["metadata"]["name"] = "nobodys";
      const json list = {{"kind", "ElasticQueueList"},
                         {"metadata", {{"resourceVersion", "1"}}},
                         {"items", {queue, another}}};
      return exchange.reply(seen.queue_status, seen.queue_status == 200
                                                   ? list.dump()
                                                   : R"({"kind": "Status", "message": "forbidden"})");
    }
    if (request.path.find("/proxy/") != std::string::npos) {
      EXPECT_THAT(request.path, HasSubstr("-w-0:7401/proxy/metrics"));
      return exchange.reply(proxy_status,
                            proxy_status == 200 ? kMetrics : R"({"kind": "Status", "message": "no"})");
    }
    json list = {{"apiVersion", "elasticmpi.io/v1alpha1"},
                 {"kind", "ElasticMPIJobList"},
                 {"metadata", {{"resourceVersion", "1"}}}};
    for (const char* name : {"a", "b"}) {
      json job = testing_cluster::stored_job(name);
      job["metadata"]["uid"] = std::string("uid-") + name;
      if (!seen.queue.empty()) {
        job["spec"]["scheduling"]["queueName"] = seen.queue;
        job["status"]["allocation"] = {{"workers", 2}, {"sequence", 1}, {"reason", "gets all there is"}};
      }
      list["items"].push_back(job);
    }
    exchange.reply(200, list.dump());
  });
  testing_cluster::Kubeconfig kubeconfig;
  kubeconfig.write(server.config().server);
  const ClusterOptions options{.kubeconfig = kubeconfig.file()};
  ClusterAccess access(options);
  Looked looked = look_at_cluster(access, options);
  seen.asked = server.requests().size() - 1;
  return looked;
}

TEST(DashboardOfACluster, ShowsItsJobsWithTheirSplit) {
  Seen seen;
  const Looked looked = look(seen);
  EXPECT_THAT(looked.where, HasSubstr("namespace team"));
  EXPECT_EQ(looked.jobs.size(), 2u);
  ASSERT_EQ(looked.splits.size(), 2u);
  EXPECT_EQ(looked.splits.at("uid-a").load_balance, .9);
}

TEST(DashboardOfACluster, WhoMayOnlyViewSeesJobsWithoutIt) {
  Seen seen{.proxy_status = 403};
  const Looked looked = look(seen);
  EXPECT_EQ(looked.jobs.size(), 2u);
  EXPECT_THAT(looked.splits, IsEmpty());
  EXPECT_EQ(seen.asked, 1u) << "refused once is refused";
  EXPECT_THAT(looked.queues, IsEmpty());
}

TEST(DashboardOfACluster, ShowsTheQueuesOfItsJobs) {
  Seen seen{.queue = "main"};
  const Looked looked = look(seen);
  EXPECT_THAT(looked.queues,
              ElementsAre(HasSubstr("queue main  "), HasSubstr("  a  Running  2 workers (1 to 4)"),
                          HasSubstr("  b  Running")));
}

TEST(DashboardOfACluster, SaysWhyItShowsNoQueues) {
  Seen seen{.queue = "main", .queue_status = 403};
  const Looked looked = look(seen);
  EXPECT_EQ(looked.jobs.size(), 2u);
  EXPECT_THAT(looked.queues, ElementsAre(HasSubstr("elastic-mpi-queue-view")));
}

}  // namespace
}  // namespace emj::cli::dashboard
