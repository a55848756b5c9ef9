// SPDX-License-Identifier: Apache-2.0
// Earthquakes as a user gives them, a table of subfaults, and the motion of the sea floor that they make.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/io/input_file.hpp"
#include "apps/tsunami/io/dtopo.hpp"
#include "apps/tsunami/io/okada.hpp"
#include "apps/tsunami/io/raster.hpp"

namespace io {

/// Subfaults as a table: a line of names, then a line of values for each subfault, separated by commas; lines
/// that start with # are remarks. Columns, in any order: lon, lat (degrees), depth_km, length_km, width_km,
/// strike, dip, rake (degrees), slip_m, and if wanted reference (a name of fault_reference(); without the
/// column: top center), rupture_time_s and rise_time_s (without them: 0). Every subfault is one that may be
/// on this earth, is checked as okada() would, and has its longitude on the first one's side of 180 degrees;
/// one that begins to slip after another takes time for it. Serial. Throws FileError with the line.
std::vector<Fault> read_faults(const InputFile& file);
inline std::vector<Fault> read_faults(const std::string& path) { return read_faults(InputFile(path)); }

/// Vertical displacement (m) by okada() on nodes 2' or more apart (at most 400 a side) that reach 2 degrees
/// beyond the faults' lower and upper edges; beyond, it is taken for 0 (below 2 cm for a slip of 26 m). Needs
/// one fault.
Raster uplift(std::span<const Fault> faults);

/// How that comes about when each subfault slips evenly from its rupture_time on, for its rise_time: exact at
/// each time at which one begins or ends, as long as there are no more than 32 of these, else at 32 times
/// that are equally far apart (each frame may take 1.3 MB). Needs one fault.
Dtopo rupture(std::span<const Fault> faults);

}  // namespace io
