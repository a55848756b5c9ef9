// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "operator/local/isolation.hpp"
#include "operator/programs/empi/manifest.hpp"

namespace emj::cli {

struct RunOptions {
  std::string manifest;
  std::string output;  // folder; empty: <job>-out
  Overrides overrides;
  bool show_logs = false;  // rank output on the screen also when the view is live
  bool quiet = false;      // no rank output on the screen
};

// Checks the manifest and starts the job process. Returns the exit code: 0 succeeded, 1 failed or cancelled,
// 2 bad manifest. `arguments` is argv without the program.
int run_supervisor(const RunOptions& options, const std::vector<std::string>& arguments);

// The job process: from the manifest to summary.json.
int run_job(const RunOptions& options, const local::JobNamespaces& namespaces);

}  // namespace emj::cli
