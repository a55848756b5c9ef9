// SPDX-License-Identifier: Apache-2.0
// The job whose objects the tests of this folder look at.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "operator/api/parse.hpp"

namespace emj::testing {

// Indented as the places are that they are put into: what is said of the container, the pod and the spec.
inline ElasticMPIJob job_from(const std::string& container, const std::string& pod = "",
                              const std::string& spec = "") {
  const Result<ElasticMPIJob> job = parse_yaml(R"(
apiVersion: elasticmpi.io/v1alpha1
kind: ElasticMPIJob
metadata: {name: demo, namespace: waves, uid: uid-1}
spec:
  slotsPerWorker: 2
)" + spec + R"(
  worker:
    minReplicas: 1
    maxReplicas: 4
    template:
      metadata: {labels: {team: waves, elasticmpi.io/role: forged, elasticmpi.io/queue: forged}}
      spec:
)" + pod + R"(
        containers:
          - name: worker
            image: registry.example/tsunami:1
            command: ["/bin/tsunami", "--fast"]
            args: ["--end", "10"]
)" + container,
                                               "test");
  EXPECT_TRUE(job.ok()) << job.message();
  return job.value();
}

}  // namespace emj::testing
