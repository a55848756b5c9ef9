// SPDX-License-Identifier: Apache-2.0
// What pools have to give.

#include "operator/controller/capacity.hpp"

#include <gtest/gtest.h>

#include "operator/controller/testing/queue_world.hpp"

namespace emj {
namespace {

using queue::Resources;
using testing::queue_of;

std::vector<NodeView> nodes() {
  return {{"n1", {{"pool", "hpc"}}, {8000, 1000}, true},
          {"n2", {{"pool", "hpc"}}, {8000, 1000}, false},
          {"n3", {{"pool", "gpu"}}, {4000, 500}, true}};
}

std::vector<PoolRoom> rooms(const std::string& pools,
                            const std::optional<std::vector<NodeView>>& on = nodes()) {
  std::set<std::string> taken;
  return rooms_of(queue_of("  pools: " + pools + "\n").spec, on, {{"n1", {500, 100}}, {"n3", {1000, 0}}},
                  taken);
}

TEST(Capacity, OfAQuotaIsWhatItSaysLessTheHeadroom) {
  const auto found = rooms("[{name: a, quota: {cpu: 2500m, memory: 4Gi}, headroom: {cpu: 1}}]");
  EXPECT_EQ(found[0].pool.capacity.milli_cpu, 1500);
  EXPECT_EQ(found[0].pool.capacity.memory_mib, 4096);
  EXPECT_GT(rooms("[{name: a, quota: {cpu: 4}}]")[0].pool.capacity.memory_mib, 1 << 30) << "not counted";
}

TEST(Capacity, OfNodesIsWhatUsableOnesHaveAndNobodyElseUses) {
  const auto found = rooms("[{name: a, capacity: Nodes, nodeSelector: {pool: hpc}}]");
  EXPECT_EQ(found[0].pool.capacity, (Resources{7500, 900}));
  EXPECT_EQ(found[0].nodes, 1);
  EXPECT_EQ(found[0].foreign, (Resources{500, 100}));
  EXPECT_FALSE(found[0].pool.without_nodes);
  EXPECT_TRUE(rooms("[{name: a, capacity: Nodes, nodeSelector: {pool: none}}]")[0].pool.without_nodes);
  EXPECT_EQ(rooms("[{name: a, capacity: Nodes, quota: {cpu: 2}}]")[0].pool.capacity.milli_cpu, 2000);
}

// A queue's own workers count for the pool that they are in, by their jobs: on nodes of another pool they
// take room all the same.
TEST(Capacity, OfNodesIsLessByWorkersOfOtherPools) {
  const QueueSpec spec = queue_of(
                             "  pools: [{name: hpc, capacity: Nodes, nodeSelector: {pool: hpc}}, "
                             "{name: rest, quota: {cpu: 16}}]\n")
                             .spec;
  const auto free_of_hpc = [&](const std::string& pool, const std::string& queue = "main") {
    std::set<std::string> taken;
    return rooms_of(spec, nodes(), {{"n1", {4000, 0}, queue, pool}}, taken, "main")[0]
        .pool.capacity.milli_cpu;
  };
  EXPECT_EQ(free_of_hpc("hpc"), 8000);
  EXPECT_EQ(free_of_hpc(""), 8000);
  EXPECT_EQ(free_of_hpc("rest"), 4000);
  EXPECT_EQ(free_of_hpc("gone"), 4000);
  EXPECT_EQ(free_of_hpc("hpc", "another"), 4000);
}

TEST(Capacity, OfAPoolWithoutNodesItIsSaidWhatThereIs) {
  const auto said = [](const std::string& selector, const std::vector<NodeView>& on = nodes()) {
    return rooms("[{name: a, capacity: Nodes, nodeSelector: " + selector + "}]", on)[0].pool.no_nodes;
  };
  EXPECT_EQ(said("{pool: hpc}"), "");
  EXPECT_EQ(said("{pool: none}"), "none has pool=none; of that label there are gpu (1), hpc (2)");
  EXPECT_EQ(said("{disk: ssd}"), "none has disk=ssd, and none that label at all");
  auto broken = nodes();
  broken[0].taints = {{"dedicated", "mpi", "NoSchedule"}};
  EXPECT_EQ(said("{pool: hpc}", broken),
            "of those with its labels 1 are not ready or cordoned, and 1 have a taint that it does not "
            "tolerate, or "
            "count for another pool");
}

TEST(Capacity, OfDevicesIsThatOfTheNodes) {
  const std::size_t gpu = queue::device_of_nodes("nvidia.com/gpu").value();
  auto with = nodes();
  with[0].allocatable.devices[gpu] = 4;
  EXPECT_EQ(
      rooms("[{name: a, capacity: Nodes, nodeSelector: {pool: hpc}}]", with)[0].pool.capacity.devices[gpu],
      4);
  EXPECT_EQ(
      rooms("[{name: a, capacity: Nodes, nodeSelector: {pool: gpu}}]", with)[0].pool.capacity.devices[gpu],
      0);
  EXPECT_GT(rooms("[{name: a, quota: {cpu: 4}}]")[0].pool.capacity.devices[gpu], 1 << 30) << "not counted";
}

TEST(Capacity, OfNodesWithATaintIsForPoolsThatTolerateIt) {
  auto tainted = nodes();
  tainted[0].taints = {{"dedicated", "mpi", "NoSchedule"}, {"busy", "", "PreferNoSchedule"}};
  const auto milli = [&](const std::string& tolerations) {
    return rooms("[{name: a, capacity: Nodes, nodeSelector: {pool: hpc}, tolerations: " + tolerations + "}]",
                 tainted)[0]
        .pool.capacity.milli_cpu;
  };
  EXPECT_EQ(milli("[]"), 0);
  EXPECT_EQ(milli("[{key: dedicated, operator: Exists}]"), 7500);
  EXPECT_EQ(milli("[{key: dedicated, value: mpi, effect: NoSchedule}]"), 7500);
  EXPECT_EQ(milli("[{key: dedicated, value: other}]"), 0);
  EXPECT_EQ(milli("[{key: dedicated, value: mpi, effect: NoExecute}]"), 0);
}

TEST(Capacity, AQueuesOwnWorkersAreForeignToOthersOnly) {
  const QueueSpec spec = queue_of("  pools: [{name: a, capacity: Nodes, nodeSelector: {pool: hpc}}]\n").spec;
  const auto of = [&](const std::string& name) {
    std::set<std::string> taken;
    return rooms_of(spec, nodes(), {{"n1", {500, 100}, ""}, {"n1", {2000, 0}, "main"}}, taken, name)[0]
        .pool.capacity.milli_cpu;
  };
  EXPECT_EQ(of("main"), 7500);
  EXPECT_EQ(of("other"), 5500);
  EXPECT_EQ(of(""), 5500);
}

TEST(Capacity, WorkersOfAPoolThatTheQueueHasNoMoreAreForeign) {
  std::set<std::string> taken;
  const auto spec = queue_of("  pools: [{name: a, capacity: Nodes, nodeSelector: {pool: hpc}}]\n").spec;
  const auto found = rooms_of(
      spec, nodes(), {{"n1", {500, 0}, "main", "a"}, {"n1", {1000, 0}, "main", "before"}}, taken, "main");
  EXPECT_EQ(found[0].pool.capacity.milli_cpu, 7000);
}

TEST(Capacity, WorkersThatOnlySayOfWhichQueueTheyAreAreForeignWhereItDoesNotTakeTheirNamespace) {
  const auto spec =
      queue_of("  namespaces: [a]\n  pools: [{name: p, capacity: Nodes, nodeSelector: {pool: hpc}}]\n").spec;
  for (const auto& [name, left] : {std::pair{"a", 8000}, std::pair{"b", 7000}}) {
    std::set<std::string> taken;
    const auto found = rooms_of(spec, nodes(), {{"n1", {1000, 0}, "main", "p", name}}, taken, "main");
    EXPECT_EQ(found[0].pool.capacity.milli_cpu, left);
  }
}

TEST(Capacity, AQuotaOfPriorityClassesBoundsTheirPodsOnly) {
  const NamespaceQuota quota{"a", "urgent", queue::everything(kNotCounted),
                             2,   {},       std::vector<std::string>{"urgent"}};
  EXPECT_TRUE(counts_pods(quota, "a", "urgent"));
  EXPECT_FALSE(counts_pods(quota, "a", "low"));
  EXPECT_FALSE(counts_pods(quota, "b", "urgent"));
  EXPECT_EQ(left_of(quota).pods, 2);
  EXPECT_GT(left_of(quota).left.milli_cpu, 1'000'000'000) << "not bounded";
}

TEST(Capacity, ANodeCountsOnce) {
  const auto found =
      rooms("[{name: a, capacity: Nodes, nodeSelector: {pool: hpc}}, {name: b, capacity: Nodes}]");
  EXPECT_EQ(found[1].nodes, 1);
  EXPECT_TRUE(found[1].overlaps);
  EXPECT_FALSE(found[0].overlaps);
}

TEST(Capacity, NodesThatCannotBeReadGiveNothing) {
  const auto found = rooms("[{name: a, capacity: Nodes}]", std::nullopt);
  EXPECT_TRUE(found[0].unreadable);
  EXPECT_EQ(found[0].pool.capacity.milli_cpu, 0);
}

}  // namespace
}  // namespace emj
