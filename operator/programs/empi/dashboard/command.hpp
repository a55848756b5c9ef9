// SPDX-License-Identifier: Apache-2.0
// empi dashboard: serves the page until the program is ended.
#pragma once
#include "operator/programs/empi/cluster/access.hpp"
#include "operator/programs/empi/dashboard/data.hpp"

namespace emj::cli::dashboard {

inline constexpr int kDefaultPort = 7480;

Looked look_at_local_jobs();
// Throws Refusal. The split is of jobs whose pods the user may ask through the API server (pods/proxy).
Looked look_at_cluster(ClusterAccess& access, const ClusterOptions& options);

int show_local_jobs(int port);
int show_cluster(int port, ClusterAccess& access, const ClusterOptions& options);

}  // namespace emj::cli::dashboard
