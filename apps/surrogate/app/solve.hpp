#pragma once
#include <elastic_master_worker.hpp>
#include <optional>
#include <string>

#include "apps/surrogate/app/inversion.hpp"

namespace inverse {

/// Solves an inverse problem with whatever ranks there are and come, and leaves the results in `folder`
/// (results.hpp). note: JSON text of an object, what else is to be known about the problem. grid: file that
/// the inversion's surrogate is from, or empty; may lie in the folder. Collective over all ranks. Throws
/// io::FileError, and what the forward model throws.
void solve(elastic::MasterWorker& job, Inversion& inversion, const std::string& folder,
           const std::string& note = "{}", const std::string& grid = "");

/// The same for a whole program: bad input is one line on stderr. Returns the program's exit status. grid:
/// file of a surrogate to start from, as an earlier run of the same model left it; may be empty.
int solve(elastic::MasterWorker& job, const Problem& problem, const Settings& settings,
          const std::string& folder, const std::string& note = "{}", const std::string& grid = "");

}  // namespace inverse
