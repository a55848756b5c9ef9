// SPDX-License-Identifier: Apache-2.0
// What a job has besides its pods: a service, secrets, a network policy.
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "operator/objects/metadata.hpp"
#include "operator/objects/pods.hpp"

namespace emj {
namespace {

using nlohmann::json;

constexpr int kDnsPort = 53,
              kOpenShiftsDnsPort = 5353;  // of DNS pods: a policy sees theirs, not the service's

// An address as the block that holds it alone.
std::string host(const std::string& address) {
  return address + (address.find(':') == std::string::npos ? "/32" : "/128");
}

}  // namespace

std::string service_name(const std::string& job) { return job + "-workers"; }
std::string token_secret_name(const std::string& job) { return job + "-token"; }
std::string certificate_key(int worker) { return "worker-" + std::to_string(worker) + ".pem"; }

std::string certificate_secret_name(const std::string& job, int index) {
  return job + "-tls-" + std::to_string(index / kWorkersOfSecret);
}

json build_service(const ElasticMPIJob& job) {
  json ports =
      json::array({{{"name", "agent"}, {"port", kAgentPort}}, {{"name", "metrics"}, {"port", kMetricsPort}}});
  if (job.status.mutual_tls) ports.push_back({{"name", "report"}, {"port", kReportPort}});
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", object_metadata(job, service_name(job.metadata.name))},
          {"spec",
           {{"clusterIP", "None"},
            {"publishNotReadyAddresses", true},
            {"selector", selector_labels(job)},
            {"ports", ports}}}};
}

json build_token_secret(const ElasticMPIJob& job, const std::string& token) {
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", object_metadata(job, token_secret_name(job.metadata.name))},
          {"type", "Opaque"},
          {"stringData", {{"token", token}}}};
}

json build_certificate_secret(const ElasticMPIJob& job, const std::map<int, std::string>& identity_of_worker,
                              const std::string& authorities) {
  json entries = {{kAuthoritiesFile, authorities}};
  for (const auto& [worker, identity] : identity_of_worker) entries[certificate_key(worker)] = identity;
  const int any = identity_of_worker.empty() ? 0 : identity_of_worker.begin()->first;
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", object_metadata(job, certificate_secret_name(job.metadata.name, any))},
          {"type", "Opaque"},
          {"stringData", entries}};
}

json build_network_policy(const ElasticMPIJob& job, const BuildOptions& options) {
  if (job.spec.network.policy == NetworkPolicyMode::None) return nullptr;
  const auto in_namespace = [](const std::string& name) -> json {
    return {{"matchLabels", {{"kubernetes.io/metadata.name", name}}}};
  };
  const auto tcp = [](std::initializer_list<int> ports) {
    json list = json::array();
    for (const int port : ports) list.push_back({{"protocol", "TCP"}, {"port", port}});
    return list;
  };
  const json same_job = {{"podSelector", {{"matchLabels", selector_labels(job)}}}};
  const json from_operator = {
      {"namespaceSelector", in_namespace(options.operator_namespace)},
      {"podSelector", {{"matchLabels", {{"app.kubernetes.io/name", "elastic-mpi-operator"}}}}}};
  const json from_prometheus = {{"namespaceSelector", in_namespace(options.prometheus_namespace)}};
  const json to_dns = {{"namespaceSelector", in_namespace(options.dns_namespace)}};
  json dns_ports = json::array();
  for (const int port : {kDnsPort, kOpenShiftsDnsPort})
    for (const char* protocol : {"UDP", "TCP"}) dns_ports.push_back({{"protocol", protocol}, {"port", port}});
  json to_dns_servers = json::array({to_dns});
  if (!options.dns_address.empty())
    to_dns_servers.push_back({{"ipBlock", {{"cidr", host(options.dns_address)}}}});
  return {{"apiVersion", "networking.k8s.io/v1"},
          {"kind", "NetworkPolicy"},
          {"metadata", object_metadata(job, job.metadata.name + "-workers")},
          {"spec",
           {{"podSelector", {{"matchLabels", selector_labels(job)}}},
            {"policyTypes", json::array({"Ingress", "Egress"})},
            {"ingress",
             json::array({{{"from", json::array({same_job})}},
                          {{"from", json::array({from_operator})},
                           {"ports", job.status.mutual_tls ? tcp({kAgentPort, kReportPort})
                                                           : tcp({kAgentPort, kMetricsPort})}},
                          {{"from", json::array({from_prometheus})}, {"ports", tcp({kMetricsPort})}}})},
            {"egress", json::array({{{"to", json::array({same_job})}},
                                    {{"to", to_dns_servers}, {"ports", dns_ports}}})}}}};
}

}  // namespace emj
