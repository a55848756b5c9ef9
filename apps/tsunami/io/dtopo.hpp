// SPDX-License-Identifier: Apache-2.0
// How the sea floor moves: read from a file of GeoClaw's, or computed from faults (faults.hpp).
#pragma once
#include <string>
#include <vector>

#include "apps/io/input_file.hpp"
#include "apps/tsunami/io/raster.hpp"

namespace io {

/// Vertical displacement of the sea floor: one raster per time, metres against the undisturbed floor,
/// linear in time between them. Outside the rasters the displacement is 0.
struct Dtopo {
  std::vector<double> times;  ///< seconds, ascending, at least one
  std::vector<Raster> frames;

  /// Displacement at time t: 0 before the first time, the last frame from the last time on.
  double at(double lon, double lat, double t) const;

  /// Displacement of the last frame.
  double final_at(double lon, double lat) const;
};

/// GeoClaw dtopo type 3: nine header lines mx, my, mt, xlower, ylower, t0, dx, dy, dt (value then name, or
/// name then value, or the values alone), then mt frames with rows from north to south. Throws FileError.
Dtopo read_dtopo(const InputFile& file);
inline Dtopo read_dtopo(const std::string& path) { return read_dtopo(InputFile(path)); }

}  // namespace io
