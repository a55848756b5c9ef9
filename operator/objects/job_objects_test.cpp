// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "operator/objects/pods.hpp"
#include "operator/objects/testing/job_from.hpp"

namespace emj {
namespace {

using nlohmann::json;
using testing::job_from;

TEST(Service, PublishesWorkersBeforeTheyAreReady) {
  const json service = build_service(job_from(""));
  EXPECT_EQ(service["metadata"]["name"], service_name("demo"));
  EXPECT_EQ(service["spec"]["clusterIP"], "None");
  EXPECT_EQ(service["spec"]["publishNotReadyAddresses"], true);
  EXPECT_EQ(service["spec"]["selector"]["elasticmpi.io/job-name"], "demo");
  EXPECT_EQ(service["metadata"]["ownerReferences"][0]["uid"], "uid-1");
}

TEST(Service, SelectorsAgreeWithThePodsLabels) {
  const ElasticMPIJob job = job_from("");
  const json labels = build_pod(job, 0)["metadata"]["labels"];
  std::string text;
  const json selector = build_service(job)["spec"]["selector"];
  for (const auto& [key, value] : selector.items()) {
    EXPECT_EQ(labels[key], value);
    text += (text.empty() ? "" : ",") + key + "=" + value.get<std::string>();
  }
  EXPECT_EQ(worker_selector("demo"), text);
}

TEST(NetworkPolicy, LetsTheOperatorToThePortsThatWantACertificateOnly) {
  ElasticMPIJob job = job_from("");
  job.status.mutual_tls = true;
  const json from_operator = build_network_policy(job)["spec"]["ingress"][1]["ports"];
  EXPECT_EQ(from_operator[0]["port"], kAgentPort);
  EXPECT_EQ(from_operator[1]["port"], kReportPort);
  EXPECT_EQ(from_operator.size(), 2u);
}

TEST(Secret, HoldsTheToken) {
  const json secret = build_token_secret(job_from(""), "abc");
  EXPECT_EQ(secret["metadata"]["name"], "demo-token");
  EXPECT_EQ(secret["stringData"]["token"], "abc");
}

TEST(NetworkPolicy, AdmitsExactlyTheFourPaths) {
  const json spec = build_network_policy(job_from(""))["spec"];
  EXPECT_EQ(spec["podSelector"]["matchLabels"]["elasticmpi.io/job-name"], "demo");
  EXPECT_EQ(spec["policyTypes"], json({"Ingress", "Egress"}));
  ASSERT_EQ(spec["ingress"].size(), 3u);
  EXPECT_EQ(spec["ingress"][0]["from"][0]["podSelector"]["matchLabels"]["elasticmpi.io/job-name"], "demo");
  EXPECT_FALSE(spec["ingress"][0]["from"][0].contains("namespaceSelector"));
  EXPECT_EQ(spec["ingress"][1]["ports"][0]["port"], kAgentPort);
  EXPECT_EQ(spec["ingress"][1]["ports"][1]["port"], kMetricsPort) << "whom it observes the job through";
  EXPECT_EQ(spec["ingress"][2]["ports"][0]["port"], kMetricsPort);
  ASSERT_EQ(spec["egress"].size(), 2u);
  EXPECT_EQ(spec["egress"][1]["ports"][0]["port"], 53);
  const json& dns = spec["egress"][1]["to"];
  ASSERT_EQ(dns.size(), 2u);
  EXPECT_TRUE(dns[0].contains("namespaceSelector"));
  EXPECT_EQ(dns[1]["ipBlock"]["cidr"], "169.254.20.10/32") << "NodeLocal DNSCache is no pod";
}

TEST(NetworkPolicy, AdmitsDnsWhereItIs) {
  BuildOptions options;
  options.dns_namespace = "openshift-dns";
  const json dns = build_network_policy(job_from(""), options)["spec"]["egress"][1];
  EXPECT_EQ(dns["to"][0]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"], "openshift-dns");
  std::set<int> ports;
  for (const json& port : dns["ports"]) ports.insert(port["port"].get<int>());
  EXPECT_EQ(ports, (std::set<int>{53, 5353})) << "a policy sees the port of the pod, not of the service";
}

TEST(NetworkPolicy, AdmitsTheNodesOwnDnsWhereThereIsOne) {
  BuildOptions options;
  const auto servers = [&] { return build_network_policy(job_from(""), options)["spec"]["egress"][1]["to"]; };
  options.dns_address = "fd00::a";
  EXPECT_EQ(servers()[1]["ipBlock"]["cidr"], "fd00::a/128");
  options.dns_address = "";
  EXPECT_EQ(servers().size(), 1u);
}

TEST(NetworkPolicy, CanBeLeftOut) {
  EXPECT_TRUE(build_network_policy(job_from("", "", "  network: {policy: None}")).is_null());
}

}  // namespace
}  // namespace emj
