// SPDX-License-Identifier: Apache-2.0
// empi run: jobs on this machine. The process that the user starts checks the manifests and starts itself
// again as the job process, which has as much isolation as the machine permits.
#pragma once
#include <string>
#include <vector>

#include "operator/local/isolation.hpp"
#include "operator/programs/empi/manifest.hpp"
#include "operator/programs/empi/run_queue.hpp"

namespace emj::cli {

struct RunOptions {
  std::vector<std::string> manifests;
  std::string output;   // folder, of several jobs one with a folder for each; empty: <job>-out
  Overrides overrides;  // of every manifest
  QueueOptions queue;
  std::string from;        // checkpoint that the one job goes on from; empty: its newest, if it has any
  double stagger = 0;      // seconds between the starts of two jobs
  bool show_logs = false;  // rank output on the screen also when the view is live
  bool quiet = false;      // no rank output on the screen
  bool mutual_tls = true;  // between pods and controller
};

// Checks the manifests and starts the job process. Returns the exit code: 0 all succeeded, 1 one failed or
// was cancelled, 2 bad manifest. `arguments` is argv without the program.
int run_supervisor(const RunOptions& options, const std::vector<std::string>& arguments);

// The job process: from the manifests to the last summary.json.
int run_jobs(const RunOptions& options, const local::JobNamespaces& namespaces);

}  // namespace emj::cli
