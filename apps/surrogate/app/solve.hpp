#pragma once
#include <elastic_master_worker.hpp>
#include <optional>
#include <string>

#include "apps/surrogate/app/inversion.hpp"

namespace inverse {

/// Solves an inverse problem with whatever ranks there are and come, and leaves the results in `folder`
/// (results.hpp). note: JSON text of an object, what else is to be known about the problem. Collective over
/// all ranks. Throws io::FileError, and what the forward model throws.
void solve(elastic::MasterWorker& job, Inversion& inversion, const std::string& folder,
           const std::string& note = "{}");

/// The same for a whole program: bad input is one line on stderr. Returns the program's exit status. grid:
/// file of a surrogate to use instead of building one; may be empty.
int solve(elastic::MasterWorker& job, const Problem& problem, const Settings& settings,
          const std::string& folder, const std::string& note = "{}", const std::string& grid = "");

}  // namespace inverse
