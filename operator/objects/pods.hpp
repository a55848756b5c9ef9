// SPDX-License-Identifier: Apache-2.0
// Job -> Kubernetes objects, as JSON. Pure: nothing is created here. The local cluster reads the same pod
// object that Kubernetes gets.
#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "operator/api/job.hpp"
#include "operator/api/queue.hpp"
#include "runtime/protocol/names.hpp"

namespace emj {

inline constexpr int kAgentPort = empi::names::kDefaultAgentPort;  // agents of one job, and the operator
inline constexpr const char* kSidecarName = "elastic-mpi-sidecar";
inline constexpr int kSidecarMilliCpu = 10, kSidecarMemoryMib = 32;    // that its container asks for
inline constexpr int kMetricsPort = empi::names::kDefaultSidecarPort;  // Prometheus, and the operator
inline constexpr int kReportPort = empi::names::kDefaultReportPort;    // the operator, where there is TLS
inline constexpr int kWorkersOfSecret = 200;                           // a Secret holds a mebibyte

// What the operator's installation, not the job, decides.
struct BuildOptions {
  std::string runtime_image = "elastic-mpi-runtime:latest";  // brings agent, libraries and sidecar
  std::string operator_namespace = "elastic-mpi-system";
  std::string prometheus_namespace = "monitoring";
  std::string dns_namespace = "kube-system";
  std::string dns_address = "169.254.20.10";   // of NodeLocal DNSCache on each node; empty: there is none
  std::vector<std::string> pull_secrets = {};  // for the runtime image, in the namespaces of the jobs
  // Of the sidecar, where the template limits the worker: a quota on limits wants them of every container.
  std::string sidecar_cpu_limit = "500m", sidecar_memory_limit = "128Mi";
  // User and group of the workers where the template names none. 0: left to the platform, which may allow a
  // namespace a range of its own only (OpenShift).
  int worker_user = 65532;
  bool mutual_tls = false;  // of runs that begin now: status.mutualTLS says it of those that have begun
};

// How the agents of a restartable job are to tell its program to end, as they read it in their environment;
// empty for other jobs.
std::string restart_notice(const RuntimeSpec& runtime);

std::string service_name(const std::string& job);       // headless service: <job>-workers
std::string token_secret_name(const std::string& job);  // <job>-token
// Of worker `index`, and of its 200: <job>-tls-<index / 200>.
std::string certificate_secret_name(const std::string& job, int index);

// Its entry there.
std::string certificate_key(int worker);

// The pod of worker `index`: container `worker` runs `elastic-mpi-agent -- command args`.
// `pool`: of the queue that has given the worker, whose nodes it is to run on.
nlohmann::json build_pod(const ElasticMPIJob& job, int index, const BuildOptions& options = {},
                         const PoolSpec* pool = nullptr);
// Headless, publishNotReadyAddresses: newcomers must resolve before they are ready.
nlohmann::json build_service(const ElasticMPIJob& job);
// `token` is HMAC(operator's root key, job UID), computed by the caller.
nlohmann::json build_token_secret(const ElasticMPIJob& job, const std::string& token);
// Of the 200 workers that the given ones are of: key and certificate of each (base/tls.hpp), and whom they
// trust.
nlohmann::json build_certificate_secret(const ElasticMPIJob& job,
                                        const std::map<int, std::string>& identity_of_worker,
                                        const std::string& authorities);
// Admits: within the job, operator -> agent and sidecar, Prometheus -> sidecar, DNS. null when
// spec.network.policy is None.
nlohmann::json build_network_policy(const ElasticMPIJob& job, const BuildOptions& options = {});

}  // namespace emj
