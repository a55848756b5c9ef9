// SPDX-License-Identifier: Apache-2.0
// What tests of the commands on a cluster start from: a kubeconfig in a folder of its own, and a job as
// stored.
#pragma once
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "operator/kube/config.hpp"
#include "operator/local/process.hpp"
#include "operator/programs/empi/input.hpp"

namespace emj::cli::testing_cluster {

class Kubeconfig {
 public:
  ~Kubeconfig() { std::filesystem::remove_all(folder_); }
  std::string file() const { return folder_ / "config"; }
  // Context "here", namespace "team".
  void write(const std::string& server) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(file()) << "current-context: here\nclusters: [{name: c, cluster: {server: '" << server
                          << "'}}]\ncontexts: [{name: here, context: {cluster: c, namespace: team}}]\n";
  }
  kube::Surroundings surroundings(std::map<std::string, std::string> others = {}) const {
    others.emplace("KUBECONFIG", file());
    return {[others](const std::string& name) {
              const auto found = others.find(name);
              return found == others.end() ? std::string() : found->second;
            },
            "/nowhere"};
  }

 private:
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("kubectl-empi-" + local::random_uuid());
};

// What is said when `call` is refused.
template <class Call>
std::string refusal_of(Call call) {
  try {
    call();
  } catch (const Refusal& refusal) {
    return refusal.what();
  }
  return "not refused";
}

inline std::string job_path(const std::string& name, const std::string& namespace_name = "team") {
  return "/apis/elasticmpi.io/v1alpha1/namespaces/" + namespace_name + "/elasticmpijobs/" + name;
}

inline nlohmann::json stored_job(const std::string& name, const std::string& namespace_name = "team") {
  return nlohmann::json::parse(R"({"apiVersion": "elasticmpi.io/v1alpha1", "kind": "ElasticMPIJob",
    "metadata": {"name": ")" + name +
                               R"(", "namespace": ")" + namespace_name + R"("},
    "spec": {"worker": {"replicas": 2, "minReplicas": 1, "maxReplicas": 4, "template": {"spec": {"containers":
      [{"name": "worker", "image": "i", "command": ["program"]}]}}}},
    "status": {"state": "Running", "joinedReplicas": 2, "desiredReplicas": 2, "leadPod": ")" +
                               name + R"(-w-0"}})");
}

}  // namespace emj::cli::testing_cluster
