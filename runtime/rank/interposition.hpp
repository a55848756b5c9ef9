// SPDX-License-Identifier: Apache-2.0
// Whether the program's MPI calls reach this library first. One that does not goes to libmpi untranslated,
// where MPI_COMM_WORLD is for ever the world that MPI_Init made.
#pragma once
#include <string>

namespace empi::rank {

// The MPI functions that this library defines, and a null (generated).
extern const char* const kWrappedFunctions[];

// What is in the way, and what to do, as a clause ("MPI_Send is taken from ..."); empty when nothing is.
// Local.
std::string interposition_fault();

}  // namespace empi::rank
