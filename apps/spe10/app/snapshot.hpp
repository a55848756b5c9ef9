// SPDX-License-Identifier: Apache-2.0
// All columns at one time as a VTKHDF file of prisms, for ParaView and whoever reads HDF5; each rank writes
// its own columns. Pictures are made from it afterwards by empi-spe10-report.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "apps/spe10/solver/simulator.hpp"

namespace spe10 {

// All snapshots of a run as a series in time, for ParaView.
inline constexpr char kSeriesFile[] = "spe10.vtkhdf.series";

struct SnapshotColumn {
  float x[3], y[3];    // ft, counter-clockwise
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

// Writes folder/name (renamed when complete), and its entry in the series. `title`: of the run. Collective
// over world. Throws io::FileError when the file cannot be written.
void write_snapshot(MPI_Comm world, Simulator& sim, const std::string& title, const std::string& folder,
                    const std::string& name);

// Throws io::FileError with file and reason.
Snapshot read_snapshot(const std::string& path);

}  // namespace spe10
