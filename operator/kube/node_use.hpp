// SPDX-License-Identifier: Apache-2.0
// What pods ask of the nodes that they are on, as sums by node.
#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "operator/controller/queue_cluster.hpp"
#include "operator/kube/pod_sums.hpp"

namespace emj::manager {

// Any thread.
class NodeUse {
 public:
  void set(const kube::ObjectKey& pod, const std::optional<Placement>& placement);
  std::vector<ForeignPod> sums() const;

 private:
  mutable std::mutex mutex_;
  PodSums<std::string> by_node_;
};

}  // namespace emj::manager
