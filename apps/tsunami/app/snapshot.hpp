// SPDX-License-Identifier: Apache-2.0
// The whole mesh at one time, gathered on rank 0 and written as one binary file. Pictures and ParaView files
// are made from it by empi-tsunami-report, another process: drawing would keep one rank busy while all others
// wait.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "apps/tsunami/solver/solver.hpp"

namespace tsunami {

// One cell: vertices in degrees (a, b, c; b is the right angle), state in m and m^2/s.
struct SnapshotCell {
  float lon[3], lat[3];
  float eta, hu, hv, b;
  std::int32_t owner;  // world rank
  std::int32_t level;
};

struct Snapshot {
  double time = 0;  // s
  std::int32_t ranks = 0;
  std::vector<SnapshotCell> cells;  // in curve order
};

// Collective over world. Rank 0 writes `path` (renamed when complete). Throws std::runtime_error when the
// file cannot be written.
void write_snapshot(MPI_Comm world, const swe::Solver& solver, const std::string& path);

// Throws std::runtime_error with file and reason.
Snapshot read_snapshot(const std::string& path);

}  // namespace tsunami
