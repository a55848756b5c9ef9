// SPDX-License-Identifier: Apache-2.0
// What a job of a cluster prints, and running one to its end. Throws Refusal.
#pragma once
#include <functional>
#include <ostream>
#include <string>

#include "operator/programs/empi/cluster/access.hpp"
#include "operator/programs/empi/manifest.hpp"

namespace emj::cli::cluster {

using Note = std::function<void(const std::string& line)>;  // from any thread

// The log of the worker with rank 0. With `follow` until the job has ended: also from pod to pod, as rank 0
// moves, and on when the connection is lost.
void logs(ClusterAccess& access, const std::string& job, bool follow, std::ostream& out, const Note& note,
          Millis pause = Seconds(1));

struct RunOnCluster {
  std::string manifest{};  // file
  Overrides overrides{};
  bool quiet = false;  // no output of the program
  Millis pause = Seconds(1);
};

// Creates the job and follows it. What the program exited with where it failed, else 0 (it succeeded) or 1.
int run(ClusterAccess& access, const RunOnCluster& options, bool namespace_given, std::ostream& out,
        const Note& note);

}  // namespace emj::cli::cluster
