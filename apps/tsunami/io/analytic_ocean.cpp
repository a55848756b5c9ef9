#include "apps/tsunami/io/analytic_ocean.hpp"

#include <cmath>
#include <numbers>

namespace io {
namespace {

double square(double x) { return x * x; }

double coast(double lat) {
  return -70.5 - 4 * std::exp(-square((lat + 47) / 12)) - 5.25 * (1 + std::tanh((lat + 11) / 6));
}

}  // namespace

double analytic_ocean(double lon, double lat) {
  const double d = (coast(lat) - lon) * std::cos(lat * std::numbers::pi / 180) * 111.134;
  if (d < 0) return 200 * (1 - std::exp(d / 15)) + 3800 * (1 - std::exp(-square(d / 150)));
  const double shelf = 150 * (1 - std::exp(-d / 10));
  const double floor = 4200 * (1 - std::exp(-square(d / 90)));
  const double trench = 2600 * d * d / (d * d + 900) * std::exp(-square((d - 115) / 35));
  return -(shelf + floor + trench);
}

Region chile_region() { return {-120, -60, -60, 0}; }

Raster analytic_ocean_raster() { return sample(analytic_ocean, chile_region(), 361, 361); }

std::vector<Fault> maule_2010() {
  Fault fault;
  fault.lon = -72.668;
  fault.lat = -35.826;
  fault.depth = 35e3;
  fault.strike = 16;
  fault.dip = 14;
  fault.rake = 104;
  fault.slip = 15;
  fault.length = 450e3;
  fault.width = 100e3;
  fault.reference = FaultReference::TopCenter;
  return {fault};
}

}  // namespace io
