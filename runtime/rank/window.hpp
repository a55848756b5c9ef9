// SPDX-License-Identifier: Apache-2.0
// What the wrappers of MPI (pmpi/) ask about an adaptation window, so that they need not see rank.hpp.
#pragma once
#include <mpi.h>

namespace empi::rank {

// Whether `comm` was handed out by MPI_Comm_adapt_begin and is not yet committed.
bool is_window_communicator(MPI_Comm comm);

}  // namespace empi::rank
