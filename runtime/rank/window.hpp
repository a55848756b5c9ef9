// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

namespace empi::adapt {

// Whether `comm` was handed out by MPI_Comm_adapt_begin and is not yet committed.
bool is_window_communicator(MPI_Comm comm);

}  // namespace empi::adapt
