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
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kMetrics =
    "empi_parallel_efficiency_ratio{scope=\"job\"} 0.72\nempi_load_balance_ratio{scope=\"job\"} 0.9\n"
    "empi_communication_efficiency_ratio{scope=\"job\"} 0.8\n";

// Two jobs that run.
Looked look(int proxy_status, std::size_t& asked) {
  StubServer server([&](const Request& request, Exchange& exchange) {
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
      list["items"].push_back(job);
    }
    exchange.reply(200, list.dump());
  });
  testing_cluster::Kubeconfig kubeconfig;
  kubeconfig.write(server.config().server);
  const ClusterOptions options{.kubeconfig = kubeconfig.file()};
  ClusterAccess access(options);
  Looked looked = look_at_cluster(access, options);
  asked = server.requests().size() - 1;
  return looked;
}

TEST(DashboardOfACluster, ShowsItsJobsWithTheirSplit) {
  std::size_t asked = 0;
  const Looked looked = look(200, asked);
  EXPECT_THAT(looked.where, HasSubstr("namespace team"));
  EXPECT_EQ(looked.jobs.size(), 2u);
  ASSERT_EQ(looked.splits.size(), 2u);
  EXPECT_EQ(looked.splits.at("uid-a").load_balance, .9);
}

TEST(DashboardOfACluster, WhoMayOnlyViewSeesJobsWithoutIt) {
  std::size_t asked = 0;
  const Looked looked = look(403, asked);
  EXPECT_EQ(looked.jobs.size(), 2u);
  EXPECT_THAT(looked.splits, IsEmpty());
  EXPECT_EQ(asked, 1u) << "refused once is refused";
}

}  // namespace
}  // namespace emj::cli::dashboard
