// SPDX-License-Identifier: Apache-2.0
// Queues, nodes, quotas and the pods of others on the Kubernetes API, for the scheduler. All reads come from
// caches that watches keep up to date. Only what changes what there is to give is news.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "operator/controller/queue_cluster.hpp"
#include "operator/kube/client.hpp"
#include "operator/kube/informer.hpp"
#include "operator/kube/node_use.hpp"
#include "operator/kube/worker_use.hpp"

namespace emj::manager {

class KubeQueue : public QueueCluster {
 public:
  struct Told {
    std::function<void(const JobKey&)> look_at;  // from the scheduler
    std::function<void()> news;                  // for it; from a watch's thread
  };
  // `jobs`, `pods`: the caches of jobs and of their workers, whose pods keep_placement() has been applied to,
  // and of which saw_pod() tells.
  // Of one namespace (`watch.namespace_name`) nodes cannot be read, and pools must say what they have. Queues
  // that are not for that namespace alone are somebody else's.
  KubeQueue(kube::Client& client, kube::Informer& jobs, kube::Informer& pods,
            const kube::WatcherOptions& watch, Told told);

  void start();
  void stop();
  bool wait_synced(Millis timeout);  // real time; of each list
  // There are news of a worker's pod. From any thread.
  void saw_pod(const kube::ObjectKey& pod) { worker_use_.look_at(pod); }
  // What is watched, by the plural of its resource.
  const std::vector<std::pair<std::string, const kube::Informer*>>& watches() const { return watches_; }

  std::vector<QueueRecord> queues() override;
  std::optional<QueueSpec> spec_of(const std::string& queue) override;
  std::optional<std::vector<NodeView>> nodes() override;
  std::vector<ForeignPod> foreign() override;
  std::vector<WorkerPods> workers() override;
  bool is_in_queue(const std::string& job, const std::string& queue) override;
  std::vector<NamespaceQuota> quotas() override;
  Outcome write_queue_status(const ElasticQueue& read, const QueueStatus& status) override;
  Outcome tell_unreadable(const QueueRecord& record) override;
  void look_at(const JobKey& key) override { told_.look_at(key); }

 private:
  // Of an object that was read: again only when it is another one.
  template <class T>
  using Readings = std::map<kube::ObjectKey, std::pair<kube::ObjectPtr, T>>;
  template <class T, class Read>
  static void read_all(Readings<T>& readings, const std::vector<kube::ObjectPtr>& objects, const Read& read);
  std::unique_ptr<kube::Informer> make(const kube::Resource& resource, const kube::WatcherOptions& watch,
                                       std::function<void(const kube::Change&)> on_change);
  void read_queues();                                                         // with mutex_ held
  std::unordered_map<std::string_view, const std::string*> queues_of_jobs();  // by the uid of a job

  kube::Client& client_;
  kube::Informer& jobs_;
  WorkerUse worker_use_;
  const std::string served_;  // the namespace that is looked after; empty: all
  const Told told_;
  NodeUse node_use_;
  std::mutex mutex_;
  Readings<QueueRecord> queue_readings_;
  // What a status write has made of a resource version, for a second write of the same plan.
  std::map<std::string, std::pair<std::string, std::string>> written_;
  // The scheduler's thread only.
  Readings<NodeView> node_readings_;
  struct QueueOfJob {
    std::string uid, queue;
  };
  Readings<QueueOfJob> job_readings_;
  Readings<std::optional<NamespaceQuota>> quota_readings_;

  std::unique_ptr<kube::Informer> queues_, quotas_, nodes_, foreign_;  // the last two: of all namespaces only
  std::vector<std::pair<std::string, const kube::Informer*>> watches_;
};

}  // namespace emj::manager
