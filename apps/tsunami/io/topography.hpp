// SPDX-License-Identifier: Apache-2.0
// Sea floors, and other rasters, from the formats that they are published in: a user need not convert them.
#pragma once
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/tsunami/io/raster.hpp"

namespace io {

/// What the values of a raster are: for messages, to find them in a netCDF file, and to refuse what they
/// cannot be.
struct Quantity {
  std::string name = "elevation";
  std::vector<const char*> variables = {"z", "Band1", "elevation", "altitude", "topo", "bathymetry"};
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
};

struct TopographyOptions {
  /// Read only the nodes that cover this region (netCDF only: the way to use a global GEBCO file).
  std::optional<Region> region;
  /// Value for missing nodes, metres; without it a file with missing nodes is refused.
  std::optional<double> fill;
  Quantity quantity = {};
};

/// Bathymetry and topography, metres above sea level, or another quantity on such a grid. The format is
/// recognised by the content:
/// - text: GeoClaw topotype 2 or 3, ESRI ASCII grid (header `value name` or `name value`; an xllcorner
///   grid is shifted by half a cell to its values' points; rows from north to south);
/// - netCDF: GEBCO, ETOPO, GMT, GDAL (variable z, Band1, elevation, altitude or the only 2-D one);
/// - raw int16 little endian, with NAME.txt beside NAME.bin: lines `nx`, `ny`, `x0_lonE`, `y0_lat`,
///   `dx_deg`, `dy_deg` and a value each; rows from south to north.
/// Serial. Throws FileError.
std::unique_ptr<Raster> read_topography(const std::string& path, const TopographyOptions& options = {});

}  // namespace io
