// SPDX-License-Identifier: Apache-2.0
// What a pod asks of the node that it is on.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "operator/decide/queue/requests.hpp"

namespace emj::manager {

using queue::Requests;

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

}  // namespace emj::manager
