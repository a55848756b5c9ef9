// SPDX-License-Identifier: Apache-2.0
// The commands about jobs of a cluster. They throw Refusal.
#pragma once
#include <ostream>
#include <string>

#include "operator/programs/empi/cluster/access.hpp"

namespace emj::cli::cluster {

// The table of jobs, or of the one named; drawn anew every two seconds where `live`, until Ctrl-C.
void top(ClusterAccess& access, const std::string& job, bool all_namespaces, bool live, std::ostream& out);
// The queues of the cluster, or the one named, and the jobs of the namespace, or of all, that are in them.
void queue(ClusterAccess& access, const std::string& name, bool all_namespaces, std::ostream& out);
void history(ClusterAccess& access, const std::string& job, bool events, std::ostream& out);
void why(ClusterAccess& access, const std::string& job, std::ostream& out);

}  // namespace emj::cli::cluster
