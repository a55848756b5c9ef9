// SPDX-License-Identifier: Apache-2.0
// All that a program does that solves an inverse problem: programs differ in how they come by the problem.
#pragma once
#include <elastic_master_worker.hpp>
#include <optional>
#include <string>

#include "apps/surrogate/app/inversion.hpp"

namespace surrogate {

/// Solves an inverse problem with whatever ranks there are and come, and leaves the results in `folder`
/// (results.hpp). note: JSON text of an object, what else is to be known about the problem. grid: file of a
/// surrogate to start from, as an earlier run of the same model left it; may be empty, may lie in the folder.
/// Bad input, results that cannot be written, and what a part of the work throws, the forward model too, are
/// one line on stderr; the last ends all ranks (MPI_Abort). Returns the program's exit status. Collective
/// over all ranks.
int solve(elastic::MasterWorker& job, const Problem& problem, const Settings& settings,
          const std::string& folder, const std::string& note = "{}", const std::string& grid = "");

}  // namespace surrogate
