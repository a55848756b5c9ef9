// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/node_use.hpp"

namespace emj::manager {

void NodeUse::set(const kube::ObjectKey& pod, const std::optional<Placement>& placement) {
  const std::lock_guard lock(mutex_);
  by_node_.remove(pod);
  if (placement) by_node_.set(pod, placement->node, placement->requests);
}

std::vector<ForeignPod> NodeUse::sums() const {
  const std::lock_guard lock(mutex_);
  std::vector<ForeignPod> sums;
  by_node_.each(
      [&](const std::string& node, const Requests& requests) { sums.push_back({node, requests.counted()}); });
  return sums;
}

}  // namespace emj::manager
