// SPDX-License-Identifier: Apache-2.0
// What containers and pods ask for, as Kubernetes' scheduler counts it. Pure. Fractions are rounded up; a
// tenant may write any number, so all are bounded (kMostOfOne).
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "operator/decide/queue/resources.hpp"

namespace emj::queue {

// With devices by name: the nodes that have them may not have been seen yet.
struct Requests {
  Resources plain;
  Devices devices{};

  Requests& operator+=(const Requests& other);
  Requests& operator-=(const Requests& other);
  Resources counted() const;
  bool operator==(const Requests&) const = default;
};

// Of a list of amounts by name: "cpu" and "memory", and those of the devices of which there are some.
Requests requests_of_list(const nlohmann::json& amounts);

// Of a container: what it requests, and where it requests none of something, its limit.
Requests requests_of_container(const nlohmann::json& container);
// By a pod's spec: its containers, or what starts before them where that is more; what it says of itself as a
// whole; and what its RuntimeClass takes besides. `unsaid`: of its containers, besides what they say.
Requests requests_of_pod(const nlohmann::json& spec, const Resources& unsaid = {});

}  // namespace emj::queue
