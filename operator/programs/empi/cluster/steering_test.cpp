// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/cluster/steering.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kube/testing/object_server.hpp"
#include "operator/programs/empi/cluster/testing/cluster.hpp"

namespace emj::cli::cluster {
namespace {

using testing::HasSubstr;
using testing_cluster::job_path;
using testing_cluster::refusal_of;
using testing_cluster::stored_job;

class SteeringTest : public testing::Test {
 protected:
  SteeringTest() { kubeconfig_.write(server_.config().server); }
  void put(const std::function<void(nlohmann::json&)>& change = [](nlohmann::json&) {}) {
    auto job = stored_job("demo");
    change(job);
    server_.put(job_path("demo"), job);
  }
  ClusterAccess& access() {
    if (!access_) access_.emplace(ClusterOptions{.kubeconfig = kubeconfig_.file()});
    return *access_;
  }

  kube::testing::ObjectServer server_;
  testing_cluster::Kubeconfig kubeconfig_;
  std::optional<ClusterAccess> access_;
};

TEST_F(SteeringTest, ScaleAsksForASize) {
  put();
  EXPECT_EQ(scale(access(), "demo", 3), "job demo: 3 workers are asked for, it has 2");
  EXPECT_EQ(server_.object(job_path("demo"))["spec"]["replicas"], 3) << "what the subresource was sent";
}

TEST_F(SteeringTest, ScaleSaysWhatBecomesOfTheSize) {
  put([](auto& job) {
    job["spec"]["resize"]["allowedReplicas"] = {1, 2, 4};
    job["spec"]["autoscaling"]["mode"] = "Auto";
    job["status"]["state"] = "Suspended";
  });
  EXPECT_EQ(
      scale(access(), "demo", 3),
      "job demo: 3 workers are asked for, it has 2; it will have 2, by its allowedReplicas; that counts once "
      "spec.suspend is false; autoscaling rests until: kubectl empi resume demo");
}

TEST_F(SteeringTest, ScaleRefusesWhatCannotBe) {
  put();
  EXPECT_EQ(refusal_of([&] { scale(access(), "demo", 9); }),
            "job demo may have 1 to 4 workers, not 9; change spec.worker.minReplicas or maxReplicas first");
  EXPECT_THAT(refusal_of([&] { scale(access(), "other", 2); }), HasSubstr("no job named other"));
  put([](auto& job) { job["spec"]["runtime"]["mode"] = "Rigid"; });
  EXPECT_THAT(refusal_of([&] { scale(access(), "demo", 3); }), HasSubstr("is rigid"));
  EXPECT_FALSE(server_.object(job_path("demo"))["spec"].contains("replicas"));
}

TEST_F(SteeringTest, ResumeAndCancelAreAnnotations) {
  put([](auto& job) { job["spec"]["autoscaling"]["mode"] = "Auto"; });
  EXPECT_EQ(resume(access(), "demo"), "job demo: autoscaling was not paused");
  EXPECT_EQ(cancel(access(), "demo"), "job demo: is being ended");
  const auto annotations = server_.object(job_path("demo"))["metadata"]["annotations"];
  EXPECT_EQ(annotations["elasticmpi.io/resume-autoscaling"], "true");
  EXPECT_EQ(annotations["elasticmpi.io/cancel"], "true");
}

TEST_F(SteeringTest, AnEndedJobOrOneWithoutAutoscalingIsLeftAlone) {
  put();
  EXPECT_THAT(refusal_of([&] { resume(access(), "demo"); }),
              HasSubstr("has spec.autoscaling.mode Off: only Auto"));
  put([](auto& job) { job["status"]["state"] = "Failed"; });
  EXPECT_EQ(refusal_of([&] { scale(access(), "demo", 3); }),
            "job demo has ended (Failed): its size cannot change");
  EXPECT_THAT(refusal_of([&] { resume(access(), "demo"); }), HasSubstr("nothing to resume"));
  EXPECT_THAT(refusal_of([&] { cancel(access(), "demo"); }), HasSubstr("nothing to cancel"));
  EXPECT_FALSE(server_.object(job_path("demo"))["metadata"].contains("annotations"));
}

}  // namespace
}  // namespace emj::cli::cluster
