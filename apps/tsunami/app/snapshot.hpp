// SPDX-License-Identifier: Apache-2.0
// The whole mesh at one time as a VTKHDF file, for ParaView and whoever reads HDF5; each rank writes its own
// cells. Pictures are made from it by empi-tsunami-report, another process: drawing would keep one rank busy
// while all others wait.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "apps/tsunami/solver/solver.hpp"

namespace tsunami {

// All snapshots of a run as a series in time, for ParaView.
inline constexpr char kSeriesFile[] = "tsunami.vtkhdf.series";

// One cell: vertices in degrees, counter-clockwise, state in m and m^2/s.
struct SnapshotCell {
  double lon[3], lat[3];
  float eta, hu, hv, b;
  std::int32_t owner;  // world rank
  std::int32_t level;

  bool operator==(const SnapshotCell&) const = default;
};

struct Snapshot {
  double time = 0;  // s
  std::int32_t ranks = 0;
  std::vector<SnapshotCell> cells;  // in curve order
};

// Writes folder/name (renamed when complete), and its entry in the series. `title`: of the run. Collective
// over world. Throws io::FileError when the file cannot be written.
template <class Stored>
void write_snapshot(MPI_Comm world, const swe::BasicSolver<Stored>& solver, const std::string& title,
                    const std::string& folder, const std::string& name);

// Throws io::FileError with file and reason.
Snapshot read_snapshot(const std::string& path);

}  // namespace tsunami
