// SPDX-License-Identifier: Apache-2.0
// The operator's Cluster on a server in this process that keeps objects, with one job.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operator/kube/kube_cluster.hpp"
#include "operator/kube/testing/manual_clock.hpp"
#include "operator/kube/testing/object_server.hpp"
#include "operator/objects/pods.hpp"

namespace emj::manager::testing {

inline const nlohmann::json manifest = nlohmann::json::parse(R"({
  "apiVersion": "elasticmpi.io/v1alpha1", "kind": "ElasticMPIJob",
  "metadata": {"name": "db", "namespace": "a", "uid": "uid-job", "generation": 1},
  "spec": {"worker": {"replicas": 1, "minReplicas": 1, "maxReplicas": 4,
           "template": {"spec": {"containers": [{"name": "worker", "image": "i", "command": ["program"]}]}}}}})");
inline const std::string jobs_path = "/apis/elasticmpi.io/v1alpha1/namespaces/a/elasticmpijobs/db";
inline const std::string secret_path = "/api/v1/namespaces/a/secrets/db-token";
inline const std::string service_path = "/api/v1/namespaces/a/services/db-workers";
inline const std::string policy_path = "/apis/networking.k8s.io/v1/namespaces/a/networkpolicies/db-workers";

class KubeClusterTest : public ::testing::Test {
 public:
  ~KubeClusterTest() override { std::filesystem::remove_all(folder); }

 protected:
  KubeClusterTest() {
    char name[] = "/tmp/empi-cluster.XXXXXX";
    folder = mkdtemp(name);
    write_keys(std::string(32, 'k') + "\n");
    put(manifest);
  }
  void write_keys(const std::string& text) { std::ofstream(folder + "/key") << text; }
  void put(const nlohmann::json& job) { server.put(jobs_path, job); }

  // The operator as it starts now.
  struct Operator {
    explicit Operator(KubeClusterTest& test)
        : client(test.server.config()),
          events_client(test.server.config()),
          jobs(client, kube::resources::kElasticMpiJobs, {}, [](const kube::Change&) {}),
          pods(client, kube::resources::kPods, {}, [](const kube::Change&) {}),
          events(events_client, "c", "h", [](const std::string&) {}),
          root_key(test.folder + "/key"),
          cluster(
              client, jobs, pods, events, root_key, {},
              [&test](const std::string& line) { test.log.push_back(line); }, test.clock) {
      jobs.start();
      pods.start();
      EXPECT_TRUE(jobs.wait_synced(Millis(20000)) && pods.wait_synced(Millis(20000)));
    }
    ~Operator() {
      events.stop(Millis(100));
      events_client.stop();
      client.stop();
    }
    kube::Client client;
    kube::Client events_client;  // Events are written in their own time: tests count what `client` writes
    kube::Informer jobs, pods;
    kube::EventRecorder events;
    RootKey root_key;
    KubeCluster cluster;
  };
  static ElasticMPIJob job_of(Operator& op) { return op.cluster.read_job({"a", "db"})->job; }
  static Outcome create_pod(Operator& op) {
    const ElasticMPIJob job = job_of(op);
    return op.cluster.create_pod(job, build_pod(job, 0));
  }

  static nlohmann::json running() {
    nlohmann::json job = manifest;
    job["status"] = {{"state", "Running"}, {"epoch", 1}};
    return job;
  }

  static std::string entry(const nlohmann::json& secret, const std::string& name) {
    return kube::decode_base64(secret.at("data").at(name), name);
  }

  std::string folder;
  kube::testing::ManualClock clock;
  std::vector<std::string> log;
  kube::testing::ObjectServer server;
};

}  // namespace emj::manager::testing
