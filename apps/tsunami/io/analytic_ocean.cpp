// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/analytic_ocean.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace io {
namespace {

// Towns and capes, from common knowledge. A few points lie outside of the domain, so that distances at its
// border are right.
constexpr Place kPacific[] = {
    {-77.5, 4.0},    {-78.8, 1.8},    {-80.05, 0.7},   {-80.1, 0.0},    {-80.5, -0.6},   {-80.9, -1.05},
    {-80.75, -1.7},  {-81.0, -2.2},   {-80.3, -2.7},   {-79.9, -2.5},   {-79.95, -3.2},  {-80.5, -3.5},
    {-81.2, -4.2},   {-81.33, -4.7},  {-81.1, -5.1},   {-81.15, -5.9},  {-80.6, -6.3},   {-79.95, -6.85},
    {-79.4, -7.7},   {-79.05, -8.2},  {-78.6, -9.1},   {-78.2, -10.05}, {-77.65, -11.1}, {-77.15, -12.05},
    {-76.7, -12.6},  {-76.4, -13.2},  {-76.2, -13.7},  {-76.35, -14.1}, {-75.9, -14.7},  {-75.15, -15.4},
    {-74.2, -15.9},  {-73.2, -16.4},  {-72.0, -17.05}, {-71.35, -17.7}, {-70.8, -18.1},  {-70.35, -18.5},
    {-70.15, -19.6}, {-70.15, -20.3}, {-70.1, -21.4},  {-70.2, -22.1},  {-70.3, -22.8},  {-70.6, -23.1},
    {-70.4, -23.7},  {-70.5, -25.4},  {-70.65, -26.4}, {-70.85, -27.1}, {-71.2, -28.5},  {-71.5, -29.3},
    {-71.35, -29.9}, {-71.7, -30.4},  {-71.6, -31.5},  {-71.5, -32.3},  {-71.65, -33.0}, {-71.65, -33.7},
    {-72.0, -34.4},  {-72.4, -35.3},  {-72.8, -36.2},  {-73.2, -36.7},  {-73.2, -37.1},  {-73.65, -37.5},
    {-73.45, -38.4}, {-73.25, -39.3}, {-73.5, -39.9},  {-73.75, -40.6}, {-73.8, -41.5},  {-74.1, -42.1},
    {-74.3, -43.3},  {-74.2, -43.9},  {-74.7, -44.7},  {-75.2, -45.7},  {-75.65, -46.6}, {-74.9, -47.1},
    {-74.8, -47.8},  {-75.4, -48.6},  {-75.6, -49.7},  {-75.3, -50.7},  {-75.0, -51.7},  {-74.6, -52.6},
    {-74.0, -53.2},  {-73.0, -53.9},  {-71.8, -54.5},  {-70.2, -55.1},  {-68.7, -55.6},  {-67.3, -55.95}};

constexpr Place kAtlantic[] = {
    {-48.5, -26.0},  {-48.7, -28.5},  {-50.5, -31.0},  {-52.3, -33.0},  {-54.0, -34.6}, {-56.7, -36.4},
    {-57.5, -38.1},  {-59.5, -38.7},  {-61.0, -38.95}, {-62.1, -38.95}, {-62.3, -39.6}, {-62.2, -40.6},
    {-62.8, -41.05}, {-63.9, -41.1},  {-64.9, -40.8},  {-65.1, -41.4},  {-65.0, -42.0}, {-64.4, -42.2},
    {-63.7, -42.15}, {-63.6, -42.6},  {-64.4, -42.9},  {-65.05, -43.3}, {-65.3, -44.3}, {-65.7, -44.9},
    {-66.7, -45.2},  {-67.5, -45.9},  {-67.0, -46.5},  {-65.9, -47.1},  {-65.9, -47.8}, {-67.0, -48.7},
    {-67.7, -49.4},  {-68.4, -50.2},  {-69.0, -51.5},  {-68.4, -52.3},  {-68.1, -53.3}, {-66.7, -54.1},
    {-65.3, -54.7},  {-66.3, -55.15}, {-67.3, -55.95}};

// What closes the outline, far from the domain: back from the Atlantic's first point to the Pacific's.
constexpr Place kElsewhere[] = {{-38.0, -15.0}, {-35.0, -7.0}, {-45.0, 0.0}, {-60.0, 9.0}, {-75.0, 11.0}};

constexpr double kKmPerDegree = 111.134;

double square(double x) { return x * x; }

// Kilometres from a place to a coast, on the plane that touches the earth there.
double distance(double lon, double lat, std::span<const Place> coast) {
  const double stretch = std::cos(lat * std::numbers::pi / 180);
  double nearest = std::numeric_limits<double>::infinity();  // squared, in degrees of latitude
  for (std::size_t k = 1; k < coast.size(); ++k) {
    const double ax = (coast[k - 1].lon - lon) * stretch, ay = coast[k - 1].lat - lat;
    const double ux = (coast[k].lon - coast[k - 1].lon) * stretch, uy = coast[k].lat - coast[k - 1].lat;
    const double along = std::clamp(-(ax * ux + ay * uy) / (ux * ux + uy * uy), 0.0, 1.0);
    nearest = std::min(nearest, square(ax + along * ux) + square(ay + along * uy));
  }
  return std::sqrt(nearest) * kKmPerDegree;
}

// Whether a ray to the east leaves the outline an odd number of times.
bool on_land(double lon, double lat) {
  bool inside = false;
  const auto cross = [&](const Place& a, const Place& b) {
    if ((a.lat > lat) != (b.lat > lat) && lon < a.lon + (lat - a.lat) / (b.lat - a.lat) * (b.lon - a.lon))
      inside = !inside;
  };
  const auto cross_all = [&](std::span<const Place> line) {
    for (std::size_t k = 1; k < line.size(); ++k) cross(line[k - 1], line[k]);
  };
  cross_all(kPacific);
  cross_all(kAtlantic);
  cross_all(kElsewhere);
  cross(kAtlantic[0], kElsewhere[0]);
  cross(std::end(kElsewhere)[-1], kPacific[0]);
  return inside;
}

double land_height(double pacific, double atlantic, double lat) {
  const double plains = 250 * (1 - std::exp(-std::min(pacific, atlantic) / 40));
  const double andes = 4000 * (1 - std::exp(-square(pacific / 60))) *
                       std::exp(-square((pacific - 230) / 150)) * (1 - std::exp(-square(atlantic / 150)));
  return plains + andes * (0.65 + 0.35 * std::tanh((lat + 40) / 4));
}

double sea_depth(double pacific, double atlantic) {
  const double shelf = 150 * (1 - std::exp(-pacific / 10));
  const double floor = 4200 * (1 - std::exp(-square(pacific / 90)));
  const double trench =
      2600 * square(pacific) / (square(pacific) + 900) * std::exp(-square((pacific - 115) / 35));
  const double wide_shelf =
      100 * (1 - std::exp(-atlantic / 20)) + 4250 * (1 - std::exp(-square(square(atlantic / 600))));
  const double p = square(square(pacific)), a = square(square(atlantic));
  return p + a > 0 ? ((shelf + floor + trench) * a + wide_shelf * p) / (p + a) : 0;
}

}  // namespace

double analytic_ocean(double lon, double lat) {
  // At least 1400 km from both coasts, where the formula gives this to the last bit, and two fifths of the
  // domain.
  if (lon < -95) return -4350;
  const double pacific = distance(lon, lat, kPacific), atlantic = distance(lon, lat, kAtlantic);
  return on_land(lon, lat) ? land_height(pacific, atlantic, lat) : -sea_depth(pacific, atlantic);
}

std::span<const Place> pacific_coast() { return kPacific; }
std::span<const Place> atlantic_coast() { return kAtlantic; }

Region chile_region() { return {-120, -60, -60, 0}; }

Raster analytic_ocean_raster() { return sample(analytic_ocean, chile_region(), 241, 241); }

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
