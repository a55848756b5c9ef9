// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "apps/tsunami/io/raster.hpp"

namespace io {

struct TopographyOptions {
  /// Read only the nodes that cover this region (netCDF only: the way to use a global GEBCO file).
  std::optional<Region> region;
  /// Value for missing nodes, metres; without it a file with missing nodes is refused.
  std::optional<double> fill;
};

/// Bathymetry and topography, metres above sea level. The format is recognised by the content:
/// - text: GeoClaw topotype 2 or 3, ESRI ASCII grid (header `value name` or `name value`; an xllcorner
///   grid is shifted by half a cell to its values' points; rows from north to south);
/// - netCDF: GEBCO, ETOPO, GMT, GDAL (variable z, Band1, elevation, altitude or the only 2-D one);
/// - raw int16 little endian, with NAME.txt beside NAME.bin: lines `nx`, `ny`, `x0_lonE`, `y0_lat`,
///   `dx_deg`, `dy_deg` and a value each; rows from south to north.
/// Serial. Throws FileError.
std::unique_ptr<Raster> read_topography(const std::string& path, const TopographyOptions& options = {});

}  // namespace io
