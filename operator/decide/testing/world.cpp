// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/testing/world.hpp"

#include <gtest/gtest.h>

namespace emj::testing_world {

ElasticMPIJob make_job(const std::string& spec, int min, int max, const std::string& worker) {
  const Result<ElasticMPIJob> job = parse_yaml(
      "apiVersion: elasticmpi.io/v1alpha1\n"
      "kind: ElasticMPIJob\n"
      "metadata: {name: demo, uid: job-uid}\n"
      "spec:\n" +
          spec +
          "  worker:\n"
          "    minReplicas: " +
          std::to_string(min) +
          "\n"
          "    maxReplicas: " +
          std::to_string(max) + "\n" + worker +
          "    template: {spec: {containers: [{name: worker, command: [program]}]}}\n",
      "job.yaml");
  EXPECT_TRUE(job.ok()) << job.message();
  return job.value();
}

std::string pending(const World& world) {
  const Condition* condition = find_condition(world.status(), "ResizePending");
  if (!condition || condition->status != "True") return "";
  return condition->reason + ": " + condition->message;
}

}  // namespace emj::testing_world
