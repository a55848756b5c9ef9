// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/raster.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "runtime/base/hash.hpp"

namespace io {
namespace {

// Cell index and fraction of the way to the next node, clamped to the grid.
struct Located {
  int cell;
  double fraction;
};

Located locate(double x, double x0, double dx, int n) {
  const double s = std::clamp((x - x0) / dx, 0.0, static_cast<double>(n - 1));
  const int cell = std::min(static_cast<int>(s), std::max(n - 2, 0));
  return {cell, s - cell};
}

}  // namespace

std::uint64_t hash_of(const Raster& raster) {
  std::uint64_t hash =
      empi::mix64(static_cast<std::uint64_t>(raster.nx)) ^ static_cast<std::uint64_t>(raster.ny);
  const auto add = [&hash](double value) { hash = empi::mix64(hash ^ std::bit_cast<std::uint64_t>(value)); };
  for (const double place : {raster.x0, raster.y0, raster.dx, raster.dy}) add(place);
  for (const double z : raster.z) add(z);
  return hash;
}

bool Raster::contains(double lon, double lat) const {
  const double slack = 1e-6;
  return lon >= x0 - slack * dx && lon <= x0 + (nx - 1 + slack) * dx && lat >= y0 - slack * dy &&
         lat <= y0 + (ny - 1 + slack) * dy;
}

double Raster::at(double lon, double lat) const {
  const auto [i, s] = locate(lon, x0, dx, nx);
  const auto [j, t] = locate(lat, y0, dy, ny);
  const int east = std::min(i + 1, nx - 1), north = std::min(j + 1, ny - 1);
  const double low = (1 - s) * node(i, j) + s * node(east, j);
  const double high = (1 - s) * node(i, north) + s * node(east, north);
  return (1 - t) * low + t * high;
}

double nearest_turn(double west, double east, double domain_west, double domain_east) {
  double best = 0, most = 0;
  for (const double turn : {0.0, 360.0, -360.0}) {
    const double common = std::min(east + turn, domain_east) - std::max(west + turn, domain_west);
    if (common > most) most = common, best = turn;
  }
  return best;
}

Raster sample(const std::function<double(double, double)>& function, const Region& region, int nx, int ny) {
  if (nx < 2 || ny < 2) throw std::invalid_argument("sample: nx and ny must be at least 2");
  Raster raster{nx,
                ny,
                region.west,
                region.south,
                (region.east - region.west) / (nx - 1),
                (region.north - region.south) / (ny - 1),
                {}};
  raster.z.resize(static_cast<std::size_t>(nx) * ny);
  for (int j = 0; j < ny; ++j) {
    for (int i = 0; i < nx; ++i) {
      raster.node(i, j) = function(raster.x0 + i * raster.dx, raster.y0 + j * raster.dy);
    }
  }
  return raster;
}

}  // namespace io
