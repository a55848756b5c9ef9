// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the API server's refusals mean to the controller.

#include "operator/controller/cluster.hpp"
#include "operator/kube/result.hpp"

namespace emj::manager {

Outcome outcome_of(const kube::ApiError& error);

}  // namespace emj::manager
