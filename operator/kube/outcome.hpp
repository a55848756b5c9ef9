// SPDX-License-Identifier: Apache-2.0
// What the API server's refusals mean to the controller.
#pragma once
#include "operator/controller/cluster.hpp"
#include "operator/kube/result.hpp"

namespace emj::manager {

Outcome outcome_of(const kube::ApiError& error);

}  // namespace emj::manager
