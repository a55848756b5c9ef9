// SPDX-License-Identifier: Apache-2.0
// What the scheduler sees of a cluster, and what it writes: against a server in this process that keeps
// objects.

#include "operator/kube/kube_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "operator/controller/capacity.hpp"
#include "operator/kube/node_use.hpp"
#include "operator/kube/queue_objects.hpp"
#include "operator/kube/testing/object_server.hpp"
#include "operator/objects/pods.hpp"

namespace emj::manager {
namespace {

using kube::testing::ObjectServer;
using nlohmann::json;
using queue::Resources;
using ::testing::HasSubstr;

const std::string queues_path = "/apis/elasticmpi.io/v1alpha1/elasticqueues/";

json queue_object(const std::string& name,
                  const std::string& spec = R"({"pools": [{"name": "p", "quota": {"cpu": 4}}]})") {
  return {{"apiVersion", "elasticmpi.io/v1alpha1"},
          {"kind", "ElasticQueue"},
          {"metadata", {{"name", name}, {"generation", 1}}},
          {"spec", json::parse(spec)}};
}

// On node n1, with a container that asks for so much.
json pod_object(const std::string& name, const std::string& cpu, const std::string& owner = {}) {
  json pod = {{"metadata", {{"name", name}, {"namespace", "a"}}},
              {"spec",
               {{"nodeName", "n1"},
                {"containers", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}}}}},
              {"status", {{"phase", "Running"}}}};
  if (owner.empty()) return pod;
  pod["metadata"]["labels"] = {{kLabelRole, "worker"}};
  pod["metadata"]["ownerReferences"] = {{{"uid", owner}, {"kind", kJobKind}, {"controller", true}}};
  return pod;
}

class KubeQueueTest : public ::testing::Test {
 protected:
  struct Seen {
    explicit Seen(KubeQueueTest& test, const std::string& namespace_name = {})
        : client(test.server.config()), jobs(client, kube::resources::kElasticMpiJobs, {}, nullptr) {
      kube::WatcherOptions workers;
      workers.reduce = reduce_placed_pod;
      pods = std::make_unique<kube::Informer>(client, kube::resources::kPods, workers,
                                              [this](const kube::Change& c) { queue->saw_pod(c.key); });
      kube::WatcherOptions watch;
      watch.namespace_name = namespace_name;
      queue = std::make_unique<KubeQueue>(client, jobs, *pods, watch,
                                          KubeQueue::Told{[](const JobKey&) {}, [this] { ++news; }});
      jobs.start();
      pods->start();
      queue->start();
      EXPECT_TRUE(jobs.wait_synced(Millis(20000)) && pods->wait_synced(Millis(20000)) &&
                  queue->wait_synced(Millis(20000)));
    }
    ~Seen() {
      queue->stop();
      pods->stop();
      jobs.stop();
      client.stop();
    }
    Resources foreign(const std::string& of = {}) const {
      Resources sum;
      for (const ForeignPod& pod : queue->foreign())
        if (pod.queue == of) sum += pod.requests;
      return sum;
    }

    kube::Client client;
    kube::Informer jobs;
    std::unique_ptr<kube::Informer> pods;
    std::unique_ptr<KubeQueue> queue;
    std::atomic<int> news{0};
  };
  void put_pod(const json& pod) {
    server.put("/api/v1/namespaces/a/pods/" + std::string(pod["metadata"]["name"]), pod);
  }
  void put_job(const std::string& name, const std::string& queue) {
    json job = {{"metadata", {{"name", name}, {"namespace", "a"}, {"uid", "uid-" + name}}}};
    if (!queue.empty()) job["spec"]["scheduling"]["queueName"] = queue;
    server.put("/apis/elasticmpi.io/v1alpha1/namespaces/a/elasticmpijobs/" + name, job);
  }

  ObjectServer server;
};

TEST_F(KubeQueueTest, PodsThatNoQueueKnowsOfAreForeign) {
  put_job("queued", "main");
  put_job("alone", "");
  put_pod(pod_object("web", "1500m"));
  put_pod(pod_object("queued-w-0", "1", "uid-queued"));
  put_pod(pod_object("alone-w-0", "200m", "uid-alone"));
  put_pod(pod_object("gone-w-0", "30m", "uid-gone"));
  json ended = pod_object("ended", "8");
  ended["status"]["phase"] = "Succeeded";
  put_pod(ended);
  Seen seen(*this);
  EXPECT_EQ(seen.foreign(), (Resources{1730, 0}));
  EXPECT_EQ(seen.foreign("main"), (Resources{1000, 0}));
  const int before = seen.news;
  server.erase("/api/v1/namespaces/a/pods/web");
  EXPECT_TRUE(server.wait_until([&] { return seen.foreign() == Resources{230, 0}; }));
  EXPECT_GT(seen.news, before);
}

// What a job has of a queue is told by its pods: also when it is gone or elsewhere, and of pools by nodes
// once.
TEST_F(KubeQueueTest, PodsSayWhichQueueCountsThem) {
  put_job("here", "main");
  put_job("moved", "other");
  const auto put_worker = [this](const std::string& name, const std::string& job,
                                 const char* phase = "Running") {
    json pod = pod_object(name, "1", "uid-" + job);
    pod["metadata"]["labels"][kLabelQueue] = "main";
    pod["metadata"]["labels"][kLabelPool] = "p";
    pod["status"]["phase"] = phase;
    put_pod(pod);
    return pod;
  };
  put_worker("here-w-0", "here");
  put_worker("here-w-1", "here");
  put_worker("moved-w-0", "moved");
  put_worker("gone-w-0", "gone", "Failed");
  put_worker("gone-w-1", "gone", "Pending");
  json ended = put_worker("gone-w-2", "gone");  // its sidecar still runs
  ended["status"]["containerStatuses"] = {
      {{"name", "worker"}, {"state", {{"terminated", {{"exitCode", 0}}}}}}};
  put_pod(ended);
  json others = put_worker("like-one", "somebody");
  others["metadata"]["ownerReferences"][0]["kind"] = "ReplicaSet";
  put_pod(others);
  Seen seen(*this);
  const auto sum = [&](const std::string& job) {
    Resources sum;
    for (const WorkerPods& pods : seen.queue->workers()) {
      EXPECT_EQ(pods.queue, "main");
      EXPECT_EQ(pods.pool, "p");
      EXPECT_EQ(pods.namespace_name, "a");
      if (pods.job == job) sum += pods.requests;
    }
    return sum;
  };
  EXPECT_EQ(sum("uid-here"), (Resources{2000, 0}));
  EXPECT_EQ(sum("uid-moved"), (Resources{1000, 0}));
  EXPECT_EQ(sum("uid-gone"), (Resources{1000, 0}));
  EXPECT_EQ(sum("uid-somebody"), (Resources{})) << "labels are anybody's to write";
  EXPECT_EQ(seen.foreign(), (Resources{1000, 0}));
  EXPECT_EQ(seen.foreign("other"), (Resources{}));
  EXPECT_EQ(seen.foreign("main"), (Resources{5000, 0})) << "on nodes, to other queues";
}

// As Kubernetes' own scheduler counts.
TEST(Placement, OfAPodIsTheMostThatItsContainersAskForAtATime) {
  json pod = pod_object("web", "1");
  const auto asks = [](const char* cpu, const char* memory) -> json {
    return {{"resources", {{"requests", {{"cpu", cpu}, {"memory", memory}}}}}};
  };
  json sidecar = asks("100m", "64Mi");
  sidecar["restartPolicy"] = "Always";
  pod["spec"]["initContainers"] = json::array({sidecar, asks("3", "1Gi")});
  pod["spec"]["overhead"] = {{"cpu", "50m"}};
  EXPECT_EQ(placement_of(pod)->requests.plain, (Resources{3150, 1088}));
  pod["spec"]["initContainers"][1] = asks("500m", "0");
  EXPECT_EQ(placement_of(pod)->requests.plain, (Resources{1150, 64}));
  pod["spec"]["resources"]["requests"]["cpu"] = "2";
  EXPECT_EQ(placement_of(pod)->requests.plain, (Resources{2050, 64}));
  pod["spec"].erase("nodeName");
  EXPECT_FALSE(placement_of(pod));
}

TEST(NodeViews, AreOfWhatIsKept) {
  json node = {{"metadata", {{"name", "n1"}, {"labels", {{"pool", "hpc"}}}, {"managedFields", 1}}},
               {"spec", {{"taints", {{{"key", "k"}, {"effect", "NoSchedule"}}}}}},
               {"status",
                {{"allocatable", {{"cpu", "3920m"}, {"memory", "1049599Ki"}}},
                 {"conditions", {{{"type", "Ready"}, {"status", "True"}, {"lastHeartbeatTime", "now"}}}}}}};
  reduce_node(node);
  NodeView view = to_node_view(node);
  EXPECT_EQ(view.allocatable, (Resources{3920, 1024}));
  EXPECT_EQ(view.labels.at("pool"), "hpc");
  EXPECT_TRUE(view.usable);
  EXPECT_EQ(view.taints.at(0).key, "k");
  node["spec"]["unschedulable"] = true;
  EXPECT_FALSE(to_node_view(node).usable);
  node["spec"].erase("unschedulable");
  node["status"]["conditions"][0]["status"] = "Unknown";
  EXPECT_FALSE(to_node_view(node).usable);
}

// Workers with a GPU each were given nodes that had none left, and others were shrunk for them in vain.
TEST(Devices, OfNodesPodsAndQuotasAreCounted) {
  const std::string gpu = "nvidia.com/gpu";
  json pod = pod_object("web", "1");
  const auto asks = [&](int gpus) -> json {
    return {{"resources", {{"requests", {{"cpu", "1"}, {gpu, gpus}}}}}};
  };
  pod["spec"]["containers"] = json::array({asks(1), asks(2)});
  pod["spec"]["initContainers"] = json::array({asks(2)});
  const auto placement = placement_of(pod);
  EXPECT_EQ(placement->requests.devices, (queue::Devices{{gpu, 3}}));
  json kept;
  keep_placement(kept, placement);
  EXPECT_EQ(kept_placement(kept), placement);
  json node = {
      {"metadata", {{"name", "n1"}}},
      {"status",
       {{"allocatable", {{"cpu", "8"}, {gpu, "4"}, {"hugepages-2Mi", "0"}, {"ephemeral-storage", "1Ti"}}}}}};
  reduce_node(node);
  const NodeView view = to_node_view(node);
  const std::size_t place = queue::known_device(gpu).value();
  EXPECT_EQ(view.allocatable.devices[place], 4);
  EXPECT_FALSE(queue::known_device("hugepages-2Mi")) << "there is none";
  EXPECT_EQ(placement->requests.counted().devices[place], 3) << "though the pod was seen before the node";
  NodeUse use;
  use.set({"a", "web"}, placement);
  EXPECT_EQ(use.sums().at(0).requests.devices[place], 3);
  use.set({"a", "web"}, std::nullopt);
  EXPECT_TRUE(use.sums().empty());
  json quota = {{"metadata", {{"name", "q"}, {"namespace", "a"}}},
                {"status", {{"hard", {{"requests." + gpu, "6"}}}, {"used", {{"requests." + gpu, "2"}}}}}};
  EXPECT_EQ(left_of(*to_quota(quota)).left.devices[place], 4);
  EXPECT_GT(to_quota(quota)->left.milli_cpu, 1 << 30) << "it says nothing of that";
}

TEST(Quotas, LeaveWhatIsHardAndNotUsed) {
  json quota = {{"metadata", {{"name", "q"}, {"namespace", "a"}}},
                {"status",
                 {{"hard", {{"requests.cpu", "4"}, {"memory", "1Gi"}, {"pods", "10"}, {"count/pods", "4"}}},
                  {"used", {{"requests.cpu", "500m"}, {"pods", "3"}, {"count/pods", "3"}}}}}};
  reduce_quota(quota);
  const auto found = to_quota(quota);
  EXPECT_EQ(found->left.milli_cpu, 3500);
  EXPECT_EQ(found->left.memory_mib, 1024);
  EXPECT_EQ(found->pods_left, 1);
  EXPECT_FALSE(found->priority_classes);
  quota["spec"]["scopes"] = {"Terminating"};
  EXPECT_FALSE(to_quota(quota)) << "workers have no deadline";
  quota["spec"] = {
      {"scopeSelector",
       {{"matchExpressions", {{{"scopeName", "PriorityClass"}, {"operator", "In"}, {"values", {"high"}}}}}}}};
  EXPECT_EQ(to_quota(quota)->priority_classes, std::vector<std::string>{"high"});
}

TEST_F(KubeQueueTest, AStatusIsWrittenAgainstTheVersionThatWasRead) {
  server.put(queues_path + "main", queue_object("main"));
  Seen seen(*this);
  const ElasticQueue read = seen.queue->queues().at(0).queue;
  QueueStatus status = read.status;
  status.fence = 1;
  ASSERT_TRUE(seen.queue->write_queue_status(read, status).ok());
  status.running = 3;
  ASSERT_TRUE(seen.queue->write_queue_status(read, status).ok()) << "the second of one plan";
  EXPECT_EQ(server.object(queues_path + "main")["status"]["running"], 3);
  EXPECT_EQ(seen.queue->queues().at(0).queue.status.fence, 1) << "it is known at once";
  json others = server.object(queues_path + "main");
  others["status"]["fence"] = 9;
  server.put(queues_path + "main", others);
  ASSERT_TRUE(server.wait_until([&] { return seen.queue->queues().at(0).queue.status.fence == 9; }));
  EXPECT_EQ(seen.queue->write_queue_status(read, status).kind, Outcome::Kind::Conflict);
  EXPECT_EQ(server.object(queues_path + "main")["status"]["fence"], 9);
}

TEST_F(KubeQueueTest, AJobThatCannotBeReadIsInItsQueueAllTheSame) {
  put_job("a", "main");
  server.put("/apis/elasticmpi.io/v1alpha1/namespaces/a/elasticmpijobs/odd",
             {{"metadata", {{"name", "odd"}, {"namespace", "a"}, {"uid", "uid-odd"}}},
              {"spec", {{"worker", 7}, {"scheduling", {{"queueName", "main"}}}}}});
  const Seen seen(*this);
  EXPECT_TRUE(seen.queue->is_in_queue("uid-a", "main"));
  EXPECT_TRUE(seen.queue->is_in_queue("uid-odd", "main"));
  EXPECT_FALSE(seen.queue->is_in_queue("uid-a", "other"));
  EXPECT_FALSE(seen.queue->is_in_queue("uid-of-nobody", "main"));
}

// Readiness of strangers' pods and heartbeats of nodes come many times a second on a large cluster.
TEST_F(KubeQueueTest, WhatChangesNothingThatIsPlannedByIsNoNews) {
  json pod = pod_object("web", "1500m");
  pod["metadata"]["uid"] = "uid-of-web";
  put_pod(pod);
  json node = {{"apiVersion", "v1"},
               {"metadata", {{"name", "n1"}, {"uid", "uid-of-n1"}}},
               {"status",
                {{"allocatable", {{"cpu", "8"}}},
                 {"conditions", {{{"type", "Ready"}, {"status", "True"}, {"lastHeartbeatTime", "1"}}}}}}};
  server.put("/api/v1/nodes/n1", node);
  Seen seen(*this);
  ASSERT_TRUE(server.wait_until([&] { return seen.foreign() == Resources{1500, 0}; }));
  const int before = seen.news;
  for (const char* status : {"False", "True", "False"}) {
    pod["status"]["conditions"] = {{{"type", "Ready"}, {"status", status}}};
    put_pod(pod);
    node["status"]["conditions"][0]["lastHeartbeatTime"] = status;
    server.put("/api/v1/nodes/n1", node);
  }
  put_pod(pod_object("next", "1"));  // each watch tells in order
  ASSERT_TRUE(server.wait_until([&] { return seen.foreign() == Resources{2500, 0}; }));
  node["status"]["allocatable"]["cpu"] = "7";
  server.put("/api/v1/nodes/n1", node);
  ASSERT_TRUE(server.wait_until([&] { return seen.queue->nodes()->at(0).allocatable.milli_cpu == 7000; }));
  EXPECT_TRUE(server.wait_until([&] { return seen.news >= before + 2; }));
  EXPECT_EQ(seen.news, before + 2);
}

TEST_F(KubeQueueTest, OfItsOwnStatusWritesNoNewsIsMade) {
  server.put(queues_path + "main", queue_object("main"));
  Seen seen(*this);
  const ElasticQueue read = seen.queue->queues().at(0).queue;
  const int before = seen.news;
  QueueStatus status = read.status;
  status.running = 1;
  ASSERT_TRUE(seen.queue->write_queue_status(read, status).ok());
  EXPECT_EQ(seen.news, before);
  json changed = server.object(queues_path + "main");
  changed["spec"]["hold"] = "Start";
  server.put(queues_path + "main", changed);
  EXPECT_TRUE(server.wait_until([&] { return seen.news > before; }));
  EXPECT_EQ(seen.queue->spec_of("main")->hold, HoldMode::Start);
  EXPECT_FALSE(seen.queue->spec_of("other"));
}

TEST_F(KubeQueueTest, OfOneNamespaceNodesAreNotReadAndQueuesOfOthersNotServed) {
  server.put(queues_path + "main", queue_object("main"));
  server.put(queues_path + "own",
             queue_object("own", R"({"namespaces": ["a"], "pools": [{"name": "p", "quota": {"cpu": 4}}]})"));
  Seen seen(*this, "a");
  EXPECT_FALSE(seen.queue->nodes());
  const auto records = seen.queue->queues();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[0].unreadable, HasSubstr("serves queues with spec.namespaces [a]"));
  EXPECT_TRUE(records[0].others) << "its own operator writes its conditions";
  EXPECT_EQ(records[1].unreadable, "");
}

TEST_F(KubeQueueTest, AQueueThatCannotBeReadSaysWhy) {
  server.put(queues_path + "main", queue_object("main", R"({"pools": []})"));
  Seen seen(*this);
  const auto records = seen.queue->queues();
  EXPECT_EQ(records.at(0).queue.metadata.name, "main");
  EXPECT_THAT(records[0].unreadable, HasSubstr("spec.pools"));
  EXPECT_FALSE(seen.queue->spec_of("main"));
}

// What it has learned and who has taken it stay as they are: somebody may read it one day.
TEST_F(KubeQueueTest, AQueueThatCannotBeReadHasThatAsAConditionAndKeepsItsStatus) {
  json main = queue_object("main", R"({"pools": []})");
  main["metadata"]["generation"] = 3;
  main["status"] = {{"fence", 7},
                    {"usage", {{{"namespace", "a"}, {"cpuHours", 2}}}},
                    {"conditions", {{{"type", "Ready"}, {"status", "True"}}, {{"type", "PoolOverlap"}}}}};
  server.put(queues_path + "main", main);
  Seen seen(*this);
  const QueueRecord record = seen.queue->queues().at(0);
  ASSERT_TRUE(seen.queue->tell_unreadable(record).ok());
  const json told = server.object(queues_path + "main");
  EXPECT_EQ(told["status"]["fence"], 7);
  EXPECT_EQ(told["status"]["usage"], main["status"]["usage"]);
  const json& ready = told["status"]["conditions"].at(0);
  EXPECT_EQ(ready["status"], "False");
  EXPECT_EQ(ready["reason"], "Unreadable");
  EXPECT_THAT(std::string(ready["message"]), HasSubstr("spec.pools"));
  EXPECT_EQ(ready["observedGeneration"], 3);
  EXPECT_EQ(told["status"]["conditions"].size(), 2u);
  const json version = told["metadata"]["resourceVersion"];
  ASSERT_TRUE(seen.queue->tell_unreadable(seen.queue->queues().at(0)).ok());
  EXPECT_EQ(server.object(queues_path + "main")["metadata"]["resourceVersion"], version) << "said once";
}

TEST_F(KubeQueueTest, EvenAStatusThatIsNoneIsReplacedByThat) {
  json main = queue_object("main");
  main["status"] = "running";
  server.put(queues_path + "main", main);
  Seen seen(*this);
  const QueueRecord record = seen.queue->queues().at(0);
  EXPECT_THAT(record.unreadable, HasSubstr("status"));
  ASSERT_TRUE(seen.queue->tell_unreadable(record).ok());
  EXPECT_EQ(server.object(queues_path + "main")["status"]["conditions"].at(0)["status"], "False");
}

}  // namespace
}  // namespace emj::manager
