// SPDX-License-Identifier: Apache-2.0
// What the scheduler needs from whatever holds queues, nodes and quotas: the Kubernetes API or this machine.
// The same contract as that of Cluster: every verb is idempotent, blocks for a bounded time and throws
// nothing. All but spec_of() and look_at() are called by the scheduler's thread only.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/queue.hpp"
#include "operator/controller/cluster.hpp"
#include "operator/decide/queue/resources.hpp"

namespace emj {

// A queue as stored. One that cannot be read, or is not ours, says why; its jobs wait.
struct QueueRecord {
  ElasticQueue queue;  // of an unreadable one: its metadata
  std::string unreadable{};
  bool others = false;  // another operator's: nothing is written into it
};

using queue::kNotCounted;

// That keeps pods away which do not tolerate it.
struct Taint {
  std::string key, value, effect;
};

struct NodeView {
  std::string name;
  std::map<std::string, std::string> labels;
  queue::Resources allocatable;
  bool usable = true;  // ready and not cordoned
  std::vector<Taint> taints{};
};

// What pods on a node ask for together: workers of the jobs of one queue, or those that no queue knows of.
struct ForeignPod {
  std::string node;
  queue::Resources requests;
  std::string queue{};  // to which they are not foreign,
  std::string pool{};   // on nodes of this pool; empty: of whichever
  // And takes jobs of this namespace; empty: whether it does or not. What only a label says, anybody may say.
  std::string namespace_name{};
};

// Living pods on nodes that a queue counts: what a job has of one pool, by what the pods themselves say. The
// job may be gone, unreadable, or in another queue by now.
struct WorkerPods {
  std::string job;  // its uid
  std::string namespace_name;
  std::string queue;
  std::string pool;
  queue::Resources requests;  // of all of them
};

// A ResourceQuota of a namespace, as far as it bounds workers.
struct NamespaceQuota {
  std::string namespace_name;
  std::string name;
  queue::Resources left = queue::everything(kNotCounted);  // that of what it does not bound (rule Q30)
  std::optional<std::int64_t> pods_left;
  queue::Devices devices_left{};
  std::optional<std::vector<std::string>> priority_classes{};  // of pods that it counts; absent: of all
};

class QueueCluster {
 public:
  virtual ~QueueCluster() = default;

  virtual std::vector<QueueRecord> queues() = 0;
  // By the name of a queue: nothing where there is none that can be read. From any thread.
  virtual std::optional<QueueSpec> spec_of(const std::string& queue) = 0;
  // Of pools by nodes. Nothing: nodes cannot be read (a namespaced installation), and such pools have nothing
  // to give.
  virtual std::optional<std::vector<NodeView>> nodes() { return std::nullopt; }
  virtual std::vector<ForeignPod> foreign() { return {}; }
  virtual std::vector<WorkerPods> workers() { return {}; }
  // Whether the job with this uid is there, and in this queue, whether it can be read or not.
  virtual bool is_in_queue(const std::string& job, const std::string& queue) {
    static_cast<void>(job), static_cast<void>(queue);
    return false;
  }
  virtual std::vector<NamespaceQuota> quotas() { return {}; }
  // `read`: the queue as queues() gave it. Refused as a Conflict when somebody else has written since.
  virtual Outcome write_queue_status(const ElasticQueue& read, const QueueStatus& status) = 0;
  // Into a queue that cannot be read: why, as its condition Ready, unless it says so already.
  virtual Outcome tell_unreadable(const QueueRecord& record) {
    static_cast<void>(record);
    return Outcome::done();
  }
  // A pass over this job is due: there is a grant for it, or something else to tell. Does not wait; it may be
  // called while a pass over this very job runs.
  virtual void look_at(const JobKey& key) = 0;
};

}  // namespace emj
