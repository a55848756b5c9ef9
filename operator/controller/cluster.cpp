// SPDX-License-Identifier: Apache-2.0
#include "operator/controller/cluster.hpp"

#include <nlohmann/json.hpp>

namespace emj {

Outcome Cluster::create_pods(const ElasticMPIJob& job, const std::vector<nlohmann::json>& pods) {
  for (const nlohmann::json& pod : pods)
    if (const Outcome outcome = create_pod(job, pod); !outcome.ok()) return outcome;
  return Outcome::done();
}

}  // namespace emj
