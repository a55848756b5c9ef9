// SPDX-License-Identifier: Apache-2.0
// All columns at one time, gathered on rank 0 and written as one binary file. Pictures and ParaView files are
// made from it afterwards by empi-spe10-report.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "apps/spe10/solver/simulator.hpp"

namespace spe10 {

struct SnapshotColumn {
  float x[3], y[3];    // ft: a, b, c; b is the right angle
  std::int32_t owner;  // world rank
  std::int32_t level;
};

struct Snapshot {
  double days = 0;
  std::int32_t ranks = 0, nz = 0;
  float top = 0, dz = 0;                // ft
  std::vector<SnapshotColumn> columns;  // in curve order
  std::vector<float> s, p, k;           // per prism, z contiguous: saturation, psi, mD
};

// Collective over world. Rank 0 writes `path` (renamed when complete). Throws io::FileError.
void write_snapshot(MPI_Comm world, Simulator& sim, const std::string& path);

// Throws io::FileError with file and byte.
Snapshot read_snapshot(const std::string& path);

}  // namespace spe10
