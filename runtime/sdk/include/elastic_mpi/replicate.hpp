// SPDX-License-Identifier: Apache-2.0
// Values that every rank holds alike, brought to ranks that do not have them yet.
#pragma once
#include <mpi.h>

#include <cstddef>
#include <elastic_error.hpp>
#include <vector>

namespace elastic {

/// Gives every rank the bytes of rank `root` (of any length, also beyond 2 GB; other ranks' input is
/// ignored). Collective on comm. Throws Error when an MPI call fails.
void broadcast_bytes(MPI_Comm comm, int root, std::vector<std::byte>& bytes);

}  // namespace elastic
