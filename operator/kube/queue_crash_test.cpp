// SPDX-License-Identifier: Apache-2.0
// The whole way of a job that starts by shrinking another, over HTTP: caches, passes, plans and writes as the
// operator has them. Only what runs in the pods is a model. The operator is killed in front of every write of
// that; whoever comes next finds what the server keeps, and nothing else.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "operator/controller/controller.hpp"
#include "operator/kube/kube_cluster.hpp"
#include "operator/kube/kube_queue.hpp"
#include "operator/kube/queue_objects.hpp"
#include "operator/kube/testing/manual_clock.hpp"
#include "operator/kube/testing/object_server.hpp"

namespace emj::manager {
namespace {

using kube::testing::ObjectServer;
using nlohmann::json;

const std::string queue_path = "/apis/elasticmpi.io/v1alpha1/elasticqueues/main";
const std::string jobs_path = "/apis/elasticmpi.io/v1alpha1/namespaces/a/elasticmpijobs/";
const std::string pods_path = "/api/v1/namespaces/a/pods/";

struct Killed {};  // no std::exception: nobody catches it but the test

// The leads: they take what they are told at once, and keep it whoever the operator is.
class Leads : public Runtime {
 public:
  RuntimeView observe(const ElasticMPIJob& job, const std::vector<PodView>&) override {
    return views_[job.metadata.uid];
  }
  std::set<std::string> answering(const ElasticMPIJob&, const std::vector<PodView>&) override { return {}; }
  std::vector<Sample> samples(const ElasticMPIJob&) override { return {}; }
  Outcome start(const ElasticMPIJob& job, const StartJob& start) override {
    RuntimeView& view = views_[job.metadata.uid];
    if (view.epoch > 0) return Outcome::done();
    view.reachable = true;
    view.epoch = 1;
    view.program = ProgramState::Running;
    view.lead_uid = start.lead_uid;
    for (const MemberAddress& member : start.members) view.members.push_back(member.uid);
    return Outcome::done();
  }
  Outcome name_lead(const ElasticMPIJob&, const NameLead&) override { return Outcome::done(); }
  Outcome change(const ElasticMPIJob& job, const SendChange& change) override {
    RuntimeView& view = views_[job.metadata.uid];
    if (view.ended && view.ended->id == change.id) return Outcome::done();
    ++changes;
    for (const std::string& uid : change.remove) {
      std::erase(view.members, uid);
      view.released.push_back(uid);
    }
    for (const MemberAddress& member : change.add) view.members.push_back(member.uid);
    ++view.epoch;
    view.ended = EndedChange{change.id, true, false, "", 1, 1};
    return Outcome::done();
  }
  Outcome cancel(const ElasticMPIJob&, const CancelChange&) override { return Outcome::done(); }
  Outcome give_notice(const ElasticMPIJob&, const GiveNotice&) override { return Outcome::done(); }
  Outcome stop(const ElasticMPIJob&, const StopJob&) override { return Outcome::done(); }
  void forget(const JobKey&) override {}

  int changes = 0;

 private:
  std::map<std::string, RuntimeView> views_;
};

json job_object(const std::string& name, const std::string& spec) {
  json job = json::parse(
      R"({"apiVersion": "elasticmpi.io/v1alpha1", "kind": "ElasticMPIJob",
          "spec": {"worker": {"template": {"spec": {"containers": [
            {"name": "worker", "image": "i", "command": ["program"]}]}}}}})");
  job["metadata"] = {{"name", name},
                     {"namespace", "a"},
                     {"uid", "uid-" + name},
                     {"generation", 1},
                     {"creationTimestamp", "2026-01-31T12:00:00Z"}};
  job["spec"].merge_patch(json::parse(spec));
  return job;
}

class QueueCrash : public ::testing::Test {
 public:
  ~QueueCrash() override { std::filesystem::remove_all(folder_); }

 protected:
  static constexpr int kCapacity = 4;

  QueueCrash() {
    char name[] = "/tmp/empi-queue.XXXXXX";
    folder_ = mkdtemp(name);
    std::ofstream(folder_ + "/key") << std::string(32, 'k') << "\n";
  }

  struct Operator {
    explicit Operator(QueueCrash& test)
        : client(test.server->config(), hooked(test)),
          events_client(test.server->config()),
          jobs(client, kube::resources::kElasticMpiJobs, {}, nullptr),
          pods(client, kube::resources::kPods, workers(),
               [this](const kube::Change& c) { queue.saw_pod(c.key); }),
          events(events_client, "c", "h", [](const std::string&) {}),
          root_key(test.folder_ + "/key"),
          cluster(client, jobs, pods, events, root_key, {}, [](const std::string&) {}),
          queue(client, jobs, pods, {}, {[](const JobKey&) {}, [] {}}),
          scheduler(
              queue, [&test] { return test.now; }, [](const std::string&) {}),
          controller(
              cluster, *test.leads, [&test] { return test.now; }, [](const JobKey&, const std::string&) {},
              options(), &scheduler) {
      jobs.start();
      pods.start();
      queue.start();
      EXPECT_TRUE(jobs.wait_synced(Millis(20000)) && pods.wait_synced(Millis(20000)) &&
                  queue.wait_synced(Millis(20000)));
      scheduler.expect(keys());
    }
    ~Operator() {
      events.stop(Millis(0));
      queue.stop();
      pods.stop();
      jobs.stop();
      events_client.stop();
      client.stop();
    }
    static kube::ClientOptions hooked(QueueCrash& test) {
      kube::ClientOptions options;
      options.before_write = [&test](const kube::WriteInfo& write) {
        const std::lock_guard lock(test.hook_mutex);  // pods are made several at a time
        if (test.writes_left-- == 0) throw Killed{};
        test.written.push_back(write.verb + " " + write.resource + " " + write.key.name);
      };
      return options;
    }
    static kube::WatcherOptions workers() {
      kube::WatcherOptions options;
      options.label_selector = std::string(kLabelRole) + "=worker";
      options.reduce = reduce_placed_pod;
      return options;
    }
    static ControllerOptions options() {
      ControllerOptions options;
      options.fence = 0;
      return options;
    }
    std::vector<JobKey> keys() const {
      std::vector<JobKey> keys;
      for (const kube::ObjectPtr& job : jobs.list()) keys.push_back({"a", kube::key_of(*job).name});
      return keys;
    }

    kube::Client client, events_client;
    kube::Informer jobs, pods;
    kube::EventRecorder events;
    RootKey root_key;
    KubeCluster cluster;
    KubeQueue queue;
    Scheduler scheduler;
    Controller controller;
  };

  void begin() {
    op.reset();
    leads = std::make_unique<Leads>();
    server = std::make_unique<ObjectServer>();
    writes_left = -1;
    server->put(queue_path, json::parse(R"({"apiVersion": "elasticmpi.io/v1alpha1", "kind": "ElasticQueue",
        "metadata": {"name": "main", "generation": 1}, "spec": {"pools": [{"name": "p", "quota": {"cpu": 4}}]}})"));
    put(job_object("wide", R"({"scheduling": {"queueName": "main", "scalability": [
          {"workers": 1, "speedPercent": 100}, {"workers": 4, "speedPercent": 400}]},
        "worker": {"replicas": 4, "minReplicas": 2, "maxReplicas": 4}})"));
    op = std::make_unique<Operator>(*this);
    turn_until([&] { return size_of("wide") == 4; }, 30);
    written.clear();
    put(job_object("stiff", R"({"scheduling": {"queueName": "main"}, "runtime": {"mode": "Rigid"},
        "worker": {"replicas": 2, "minReplicas": 2, "maxReplicas": 2}})"));
  }
  void put(const json& job) { server->put(jobs_path + std::string(job["metadata"]["name"]), job); }
  json job(const std::string& name) const { return server->object(jobs_path + name); }
  int size_of(const std::string& name) const {
    const json status = job(name).value("status", json::object());
    return status.value("state", "") == "Running" && !status.contains("resize")
               ? status.value("joinedReplicas", 0)
               : 0;
  }

  // What kubelets do; and nobody may ever have given out more than there is.
  void look_after_pods() {
    std::size_t pods = 0;
    for (const char* name : {"wide", "stiff"})
      for (int index = 0; index < 12; ++index) {
        const std::string path = pods_path + worker_name(name, index);
        json pod = server->object(path);
        if (pod.is_null()) continue;
        ++pods;
        if (pod.contains("status")) continue;
        pod["spec"]["nodeName"] = "n1";
        pod["status"] = {{"phase", "Running"},
                         {"podIP", "10.0.0." + std::to_string(index + 1)},
                         {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}};
        server->put(path, pod);
      }
    EXPECT_LE(pods, std::size_t{kCapacity}) << "over-committed";
  }
  // Whether the caches show what the server has.
  bool caught_up() const {
    for (const char* name : {"wide", "stiff"}) {
      const json object = job(name);
      const auto cached = op->jobs.get({"a", name});
      if (!object.is_null() &&
          (!cached || kube::resource_version_of(*cached) != kube::resource_version_of(object)))
        return false;
      for (int index = 0; index < 12; ++index) {
        const json pod = server->object(pods_path + worker_name(name, index));
        const auto known = op->pods.get({"a", worker_name(name, index)});
        if (pod.is_null() != !known) return false;
        if (known && kube::resource_version_of(*known) != kube::resource_version_of(pod)) return false;
      }
    }
    return true;
  }
  void turn() {
    ASSERT_TRUE(server->wait_until([&] { return caught_up(); })) << "the caches have not come up";
    try {
      for (const JobKey& key : op->keys())
        if (op->cluster.settled(key)) op->controller.reconcile(key);
      op->scheduler.turn();
    } catch (const Killed&) {
      op.reset();
      op = std::make_unique<Operator>(*this);
    }
    look_after_pods();
    now += Millis(500);
  }
  void turn_until(const std::function<bool()>& so, int turns) {
    for (int i = 0; i < turns && !so(); ++i) ASSERT_NO_FATAL_FAILURE(turn());
    EXPECT_TRUE(so()) << "wide: " << job("wide")["status"].dump(1)
                      << "\nstiff: " << job("stiff")["status"].dump(1);
  }

  std::string folder_;
  Time now{Seconds(1'770'000'000)};
  int writes_left = -1;  // until the operator is killed; negative: it lives
  std::vector<std::string> written;
  std::mutex hook_mutex;  // of these two, during a pass
  std::unique_ptr<ObjectServer> server;
  std::unique_ptr<Leads> leads;
  std::unique_ptr<Operator> op;
};

// Rules Q25, Q26.
TEST_F(QueueCrash, AJobStartsByShrinkingAnotherWhereverTheOperatorIsKilled) {
  int writes = 0;
  for (bool killed = true; killed && writes < 60; ++writes) {
    SCOPED_TRACE("killed in front of write " + std::to_string(writes));
    ASSERT_NO_FATAL_FAILURE(begin());
    writes_left = writes;
    turn_until([&] { return size_of("stiff") == 2; }, 60);
    killed = writes_left < 0;
    EXPECT_EQ(size_of("wide"), 2);
    EXPECT_EQ(leads->changes, 1) << "wide was asked twice";
    EXPECT_EQ(job("wide")["status"]["nextChange"], 2);
    EXPECT_EQ(job("wide")["status"]["nextIndex"], 4);
    EXPECT_EQ(job("stiff")["status"]["nextIndex"], 2) << "a pod was made twice";
    if (HasFailure()) {
      for (const std::string& write : written) ADD_FAILURE() << write;
      break;
    }
  }
  EXPECT_GT(writes, 8);
}

}  // namespace
}  // namespace emj::manager
