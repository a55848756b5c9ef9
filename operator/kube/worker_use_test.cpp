// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/worker_use.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "operator/objects/pods.hpp"

namespace emj::manager {
namespace {

using nlohmann::json;

class WorkerUseTest : public ::testing::Test {
 protected:
  // As reduce_placed_pod() leaves it.
  void put(const std::string& name, const std::string& node, int milli_cpu, const std::string& job = "j1") {
    json pod = {
        {"metadata",
         {{"name", name}, {"namespace", "a"}, {"labels", {{kLabelQueue, "main"}, {kLabelPool, "p"}}}}},
        {"status", {{"phase", "Running"}}}};
    if (!job.empty())
      pod["metadata"]["ownerReferences"] = {{{"uid", job}, {"kind", kJobKind}, {"controller", true}}};
    if (!node.empty()) keep_placement(pod, Placement{node, {{milli_cpu, 64}, {{"example.com/gpu", 1}}}});
    pods[{"a", name}] = std::make_shared<const json>(std::move(pod));
  }
  std::map<WorkerGroup, Requests> seen() const {
    std::map<WorkerGroup, Requests> found;
    use.each([&](const WorkerGroup& group, const Requests& requests) { found[group] = requests; });
    return found;
  }
  static WorkerGroup group(const std::string& job, const std::string& node) {
    return {job, "a", "main", "p", node};
  }

  std::map<kube::ObjectKey, kube::ObjectPtr> pods;
  WorkerUse use{[this](const kube::ObjectKey& key) {
    const auto found = pods.find(key);
    return found == pods.end() ? nullptr : found->second;
  }};
};

TEST_F(WorkerUseTest, SumsUpWhatIsAlike) {
  put("w-0", "n1", 100);
  put("w-1", "n1", 100);
  put("w-2", "n2", 100);
  put("x-0", "n1", 300, "j2");
  put("x-1", "", 300, "j2");  // on no node yet
  for (const auto& [key, pod] : pods) use.look_at(key);
  const auto found = seen();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found.at(group("j1", "n1")), (Requests{{200, 128}, {{"example.com/gpu", 2}}}));
  EXPECT_EQ(found.at(group("j1", "n2")).plain.milli_cpu, 100);
  EXPECT_EQ(found.at(group("j2", "n1")).plain.milli_cpu, 300);
}

TEST_F(WorkerUseTest, OnceOrOftenAndInAnyOrderIsTheSame) {
  put("w-0", "n1", 100);
  use.look_at({"a", "w-0"});
  put("w-0", "n2", 100);  // two threads bring the news of it
  use.look_at({"a", "w-0"});
  use.look_at({"a", "w-0"});
  ASSERT_EQ(seen().size(), 1u);
  EXPECT_EQ(seen().begin()->first.node, "n2");
  EXPECT_EQ(seen().begin()->second.plain.milli_cpu, 100);
  pods.clear();
  use.look_at({"a", "w-0"});
  use.look_at({"a", "w-0"});
  EXPECT_TRUE(seen().empty());
}

TEST_F(WorkerUseTest, AProgramThatHasEndedKeepsItsPlaceUntilThePodHas) {
  put("w-0", "n1", 100);
  json pod = *pods[{"a", "w-0"}];
  pod["status"]["containerStatuses"] = {{{"name", "worker"}, {"state", {{"terminated", {{"exitCode", 0}}}}}}};
  pods[{"a", "w-0"}] = std::make_shared<const json>(pod);
  use.look_at({"a", "w-0"});
  ASSERT_EQ(seen().size(), 1u);
  EXPECT_TRUE(seen().begin()->first.ended);
}

}  // namespace
}  // namespace emj::manager
