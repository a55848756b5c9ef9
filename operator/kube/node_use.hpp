// SPDX-License-Identifier: Apache-2.0
#pragma once

// What pods ask of the nodes that they are on. Of clusters with many pods only sums are kept.

#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "operator/controller/queue_cluster.hpp"
#include "operator/kube/resource.hpp"

namespace emj::manager {

// What pods ask for, with devices by name: the nodes that have them may not have been seen yet.
struct Requests {
  queue::Resources plain;
  queue::Devices devices{};

  Requests& operator+=(const Requests& other);
  Requests& operator-=(const Requests& other);
  queue::Resources counted() const;
  bool operator==(const Requests&) const = default;
};

// Where a pod is, and what its node keeps for it.
struct Placement {
  std::string node;
  Requests requests;

  bool operator==(const Placement&) const = default;
};

// Of a pod as the API server has it. Nothing: it is on no node, or has ended and holds nothing there.
std::optional<Placement> placement_of(const nlohmann::json& pod);
// The same as a member of a pod that is kept reduced to what is needed, and from there.
void keep_placement(nlohmann::json& reduced, const std::optional<Placement>& placement);
std::optional<Placement> kept_placement(const nlohmann::json& reduced);

// Sums by node. Any thread.
class NodeUse {
 public:
  void set(const kube::ObjectKey& pod, const std::optional<Placement>& placement);
  std::vector<ForeignPod> sums() const;

 private:
  void take_out(const kube::ObjectKey& pod);  // with mutex_ held

  mutable std::mutex mutex_;
  std::map<kube::ObjectKey, Placement> pods_;
  struct Sum {
    Requests requests;
    int pods = 0;
  };
  std::map<std::string, Sum> nodes_;
};

}  // namespace emj::manager
