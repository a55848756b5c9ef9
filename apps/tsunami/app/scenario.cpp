// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/app/scenario.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "apps/tsunami/io/analytic_ocean.hpp"
#include "apps/tsunami/io/dtopo.hpp"
#include "apps/tsunami/io/okada.hpp"
#include "apps/tsunami/io/topography.hpp"

namespace tsunami {
namespace {

constexpr double kDart32412Lon = -86.392, kDart32412Lat = -17.975;

std::string first_existing(const std::string& chosen, const std::string& folder, const char* name) {
  if (!chosen.empty()) return chosen;
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  return !folder.empty() && std::filesystem::exists(path) ? path.string() : "";
}

// Displacement on a raster: Okada's formula is far too slow to be asked for every cell.
std::shared_ptr<const io::Raster> okada_raster() {
  const std::vector<io::Fault> faults = io::maule_2010();
  const io::Region around{-80, -66, -43, -30};
  return std::make_shared<io::Raster>(
      io::sample([&](double lon, double lat) { return io::okada(faults, lon, lat).up; }, around, 281, 261));
}

// Of a global file only the domain is read.
std::shared_ptr<const io::Raster> read_bathymetry(const std::string& path, const Options& o) {
  return io::read_topography(path, {.region = io::Region{o.west, o.east, o.south, o.north}, .fill = {}});
}

}  // namespace

Scenario make_scenario(const Options& options) {
  const std::string chile = options.data.empty() ? "" : options.data + "/chile2010";
  const std::string topography = first_existing(options.topography, chile, "etopo10min120W60W60S0S.asc");
  const std::string dtopo = first_existing(options.dtopo, chile, "dtopo_usgs100227.tt3");

  Scenario scenario;
  std::shared_ptr<const io::Raster> depth = topography.empty()
                                                ? std::make_shared<io::Raster>(io::analytic_ocean_raster())
                                                : read_bathymetry(topography, options);
  std::function<double(double, double)> lift;
  if (dtopo.empty()) {
    lift = [raster = okada_raster()](double lon, double lat) {
      return raster->contains(lon, lat) ? raster->at(lon, lat) : 0.0;
    };
  } else {
    lift = [source = std::make_shared<io::Dtopo>(io::read_dtopo(dtopo))](double lon, double lat) {
      return source->final_at(lon, lat);
    };
  }
  scenario.description = "bathymetry: " + (topography.empty() ? "built-in analytic ocean" : topography) +
                         ", source: " + (dtopo.empty() ? "Okada, Maule 2010" : dtopo);
  scenario.bed = [depth, lift](double lon, double lat) { return depth->at(lon, lat) + lift(lon, lat); };
  scenario.surface = lift;
  scenario.gauges = options.gauges;
  if (scenario.gauges.empty() && options.west < kDart32412Lon && kDart32412Lon < options.east)
    scenario.gauges.push_back({"32412", kDart32412Lon, kDart32412Lat,
                               topography.empty() ? "" : first_existing("", chile, "32412_notide.txt")});
  return scenario;
}

swe::Parameters make_setup(const Options& options) {
  swe::Parameters setup;
  setup.domain = {options.roots_x, options.roots_y};
  setup.frame.coordinates = swe::Coordinates::Sphere;
  setup.frame.west = options.west;
  setup.frame.south = options.south;
  setup.frame.width = (options.east - options.west) / options.roots_x;
  setup.frame.height = (options.north - options.south) / options.roots_y;
  setup.coarsest = options.coarsest;
  setup.finest = options.finest;
  setup.borders.fill(options.walls ? swe::BorderKind::Wall : swe::BorderKind::Radiation);
  setup.criterion.refine_amplitude = options.refine_m;
  setup.criterion.coarsen_amplitude = options.coarsen_m;
  setup.criterion.buffer = options.buffer;
  setup.physics.manning =
      0.025;                // s/m^(1/3), the usual value for sea floors; without it run-off races down slopes
  setup.physics.order = 2;  // order 1 flattens the wave to half of its height before it reaches DART 32412
  return setup;
}

}  // namespace tsunami
