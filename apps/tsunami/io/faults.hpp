// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/tsunami/io/okada.hpp"
#include "apps/tsunami/io/raster.hpp"

namespace io {

/// Subfaults as a table: a line of names, then a line of values for each subfault, separated by commas; lines
/// that start with # are remarks. Columns, in any order: lon, lat (degrees), depth_km, length_km, width_km,
/// strike, dip, rake (degrees), slip_m, and reference (a name of fault_reference(); without the column: top
/// center). Every subfault is checked as okada() would,
/// and has its longitude on the first one's side of 180 degrees. Serial. Throws FileError with the line.
std::vector<Fault> read_faults(const std::string& path);

/// Vertical displacement (m) by okada() on nodes 2' or more apart (at most 400 a side) that reach 2 degrees
/// beyond the faults' lower and upper edges; beyond, it is taken for 0 (below 2 cm for a slip of 26 m). Needs
/// one fault.
Raster uplift(std::span<const Fault> faults);

}  // namespace io
