// SPDX-License-Identifier: Apache-2.0
// Commands that change a job of a cluster. Each returns what to tell the user, or throws Refusal.
#pragma once
#include <string>

#include "operator/programs/empi/cluster/access.hpp"

namespace emj::cli::cluster {

std::string scale(ClusterAccess& access, const std::string& name, int replicas);
std::string resume(ClusterAccess& access, const std::string& name);  // autoscaling, after a size set by hand
std::string cancel(ClusterAccess& access, const std::string& name);

}  // namespace emj::cli::cluster
