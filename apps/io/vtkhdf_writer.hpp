// SPDX-License-Identifier: Apache-2.0
// All ranks write one file of VTKHDF, each its own cells, without gathering them and without MPI-IO.
#pragma once
#include <mpi.h>

#include <string>

#include "apps/io/vtkhdf.hpp"

namespace io {

/// Writes `path` with a piece from each rank, in the order of the ranks; it has its name when it is whole.
/// Rank 0 lays it out, then each rank writes in place. A rank that does not see rank 0's file, as where hosts
/// have no file system in common, sends its piece to rank 0, which writes it: one piece at a time is in
/// memory there. `head` counts on rank 0. Collective over world; all ranks' pieces have the same kind of
/// cells and the same arrays. Throws FileError, with the same words on every rank; nothing is left of the
/// file then.
void write_vtkhdf(MPI_Comm world, const GridHead& head, const GridPiece& piece, const std::string& path);

}  // namespace io
