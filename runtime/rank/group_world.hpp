// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_create_from_group among ranks that were in one world before and have all come (decision R18). Of
// all ways of Open MPI to make a communicator it is the one that does not search for a number that is free on
// all: PMIx is to give one. These ranks know one, by the name that they use once, so that nobody is asked.
#pragma once
#include <mpi.h>

#include <string>

namespace empi::rank {

// Whether this Open MPI lets us: the same on all ranks of a job.
bool can_create_from_group();

// Collective over `group`. The communicator has the same local number on all, by which a revocation of one
// finds it on the others.
int create_from_group(MPI_Group group, const std::string& name, MPI_Comm* made);

}  // namespace empi::rank
