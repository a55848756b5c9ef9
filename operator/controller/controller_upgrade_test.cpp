// SPDX-License-Identifier: Apache-2.0
// What an upgrade of the operator changes of jobs that run, and what it leaves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/testing/memory_job.hpp"

namespace emj {
namespace {

using testing::ControllerTest;

std::string runtime_image_of(const nlohmann::json& pod) { return pod["spec"]["initContainers"][0]["image"]; }

bool has_certificate(const nlohmann::json& pod) {
  return pod.dump().find("elastic-mpi-tls") != std::string::npos;
}

// The image is an option of the operator: when it is upgraded, a world that runs must not get newcomers with
// another agent and library.
class Upgrade : public ControllerTest {
 protected:
  void upgrade_and_ask_for(int workers) {
    ControllerOptions options;
    options.build.runtime_image = "runtime:new";
    options.build.mutual_tls = true;
    newer.emplace(
        cluster, runtime, [this] { return time; }, [](const JobKey&, const std::string&) {}, options);
    cluster.record->job.spec.worker.replicas = workers;
    ++cluster.record->job.metadata.generation;
    look();
  }
  void look() {
    time += Seconds(1);
    newer->reconcile(key);
  }
  std::optional<Controller> newer;
};

TEST_F(Upgrade, ARunningJobKeepsItsRuntimeImage) {
  start();
  const std::string before = runtime_image_of(cluster.made.front());
  upgrade_and_ask_for(3);
  ASSERT_EQ(cluster.made.size(), 3u);
  EXPECT_EQ(runtime_image_of(cluster.made.back()), before);
  EXPECT_EQ(cluster.record->job.status.runtime_image, before);
  EXPECT_FALSE(has_certificate(cluster.made.back())) << "the others would not understand it";
  EXPECT_FALSE(cluster.record->job.status.mutual_tls);
}

// Started by an operator that did not write it down.
TEST_F(Upgrade, AnOlderJobKeepsTheImageThatItsPodsHave) {
  start();
  cluster.record->job.status.runtime_image.clear();
  for (PodView& pod : cluster.pods) pod.runtime_image = "runtime:old";
  upgrade_and_ask_for(3);
  ASSERT_EQ(cluster.made.size(), 3u);
  EXPECT_EQ(runtime_image_of(cluster.made.back()), "runtime:old");
}

TEST_F(Upgrade, AnotherRunOfTheProgramTakesTheNewImage) {
  start();
  cluster.record->job.spec.suspend = true;
  upgrade_and_ask_for(2);
  ASSERT_EQ(cluster.record->job.status.state, JobState::Suspended);
  cluster.record->job.spec.suspend = false;
  runtime.view = {};
  look();
  look();
  ASSERT_EQ(cluster.made.size(), 4u);
  EXPECT_EQ(runtime_image_of(cluster.made.back()), "runtime:new");
  EXPECT_TRUE(has_certificate(cluster.made.back()));
  EXPECT_TRUE(cluster.record->job.status.mutual_tls);
}

}  // namespace
}  // namespace emj
