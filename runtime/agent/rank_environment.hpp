// SPDX-License-Identifier: Apache-2.0
// The environment of a rank: the agent's own, cleaned, plus what stock Open MPI needs here
// (mpi_parameters.hpp). Pure.
#pragma once
#include <string>
#include <vector>

#include "runtime/agent/options.hpp"
#include "runtime/protocol/ids.hpp"

namespace empi::agent {

struct RankPlace {
  ProcId proc = {};
  bool joining = false;                // started by a change
  std::string socket = {}, page = {};  // of the agent and of this rank
  std::string shm_folder = {};         // for Open MPI's shared-memory segments
  std::string library = {};            // libelastic_mpi.so, "" when there is none
  bool crowded = false;                // more ranks than processors: waiting ranks must yield
};

// `inherited` and `pmix`: "NAME=value" entries of the agent, and of PMIx_server_setup_fork.
std::vector<std::string> rank_environment(const Options& options, const RankPlace& place,
                                          const std::vector<std::string>& inherited,
                                          const std::vector<std::string>& pmix);

}  // namespace empi::agent
