// SPDX-License-Identifier: Apache-2.0
// Numbers on a regular grid of longitudes and latitudes: what sea floors and their motions come as.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace io {

/// Longitudes and latitudes in degrees; longitudes are not wrapped (nearest_turn() says how to).
struct Region {
  double west = 0, east = 0, south = 0, north = 0;
  bool contains(double lon, double lat) const {
    return lon >= west && lon <= east && lat >= south && lat <= north;
  }
};

/// Values on the nodes of a regular longitude/latitude grid; node (i, j) is at (x0 + i dx, y0 + j dy),
/// i from west to east (fast in memory), j from south to north. dx, dy > 0, degrees. z in metres, upwards.
struct Raster {
  int nx = 0, ny = 0;
  double x0 = 0, y0 = 0, dx = 1, dy = 1;
  std::vector<double> z;

  double node(int i, int j) const { return z[static_cast<std::size_t>(j) * nx + i]; }
  double& node(int i, int j) { return z[static_cast<std::size_t>(j) * nx + i]; }
  Region region() const { return {x0, x0 + (nx - 1) * dx, y0, y0 + (ny - 1) * dy}; }

  /// True inside the nodes' bounding box (rounding of 1e-6 cell sizes forgiven).
  bool contains(double lon, double lat) const;

  /// Bilinear interpolation; a point outside takes the value at the nearest point of the box.
  double at(double lon, double lat) const;
};

/// Of all that it says: the same on every machine.
std::uint64_t hash_of(const Raster& raster);

/// What to add to longitudes west..east of a file so that they overlap most with those of a domain: 0, 360 or
/// -360 degrees. 0 where nothing overlaps.
double nearest_turn(double west, double east, double domain_west, double domain_east);

/// `function(lon, lat)` at the nodes of nx x ny points that span `region` (nx, ny >= 2).
Raster sample(const std::function<double(double, double)>& function, const Region& region, int nx, int ny);

}  // namespace io
