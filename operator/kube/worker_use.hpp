// SPDX-License-Identifier: Apache-2.0
// What the pods of workers hold, summed up by whom they are of. News of a pod bring the sums up to date: a
// plan of a thousand jobs reads no pod.
#pragma once
#include <compare>
#include <functional>
#include <mutex>
#include <string>

#include "operator/kube/pod_sums.hpp"

namespace emj::manager {

// Pods that are alike in all that a queue asks of them.
struct WorkerGroup {
  std::string job;  // uid of the ElasticMPIJob that owns them; empty: something else does
  std::string namespace_name;
  std::string queue, pool;  // as their labels say
  std::string node;
  bool ended = false;  // the program has: its node keeps the place until the pod has ended, too

  auto operator<=>(const WorkerGroup&) const = default;
};

// Any thread.
class WorkerUse {
 public:
  using Read = std::function<kube::ObjectPtr(const kube::ObjectKey&)>;
  // `read`: the newest state of a pod, reduced by reduce_placed_pod(); null: there is none.
  explicit WorkerUse(Read read) : read_(std::move(read)) {}

  // There are news of this pod. Its state is read here: two threads may bring news of one pod in any order.
  void look_at(const kube::ObjectKey& pod);
  // Each group that holds something on a node, with what it holds.
  void each(const std::function<void(const WorkerGroup&, const Requests&)>& visit) const;

 private:
  const Read read_;
  mutable std::mutex mutex_;
  PodSums<WorkerGroup> sums_;
};

}  // namespace emj::manager
