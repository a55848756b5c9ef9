// SPDX-License-Identifier: Apache-2.0
// Where a loss ends the search for the number of a new communicator, Open MPI keeps that search noted as
// being under way, and those for communicators with higher numbers wait for its end for ever (quirk
// blocked-search). One that succeeds, and is for none higher, ends what is noted.
#pragma once
#include <mpi.h>

namespace empi::rank {

// Once, before any of the others: makes what they need. Local.
void expect_blocked_searches();

// After making a communicator has failed. From any thread. Local.
void end_blocked_search();

// A duplicate of MPI_COMM_SELF, whatever has failed before. Local.
int make_alone(MPI_Comm* made);

}  // namespace empi::rank
