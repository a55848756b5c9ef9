// SPDX-License-Identifier: Apache-2.0
// Attributes that the program sets on MPI_COMM_WORLD and MPI_COMM_SELF: MPI has no call that lists them.
#pragma once
#include <mpi.h>

namespace empi::rank {

// Copies the user's attributes of the world `from` to `to` as MPI_Comm_dup would, then deletes them from
// `from`.
void move_attributes(MPI_Comm from, MPI_Comm to);

// Deletes the attributes of MPI_COMM_SELF, the last set first, as MPI_Finalize must before anything else.
void delete_self_attributes();

}  // namespace empi::rank
