// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/app/options.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "apps/io/run_folder.hpp"
#include "apps/tsunami/app/parse.hpp"
#include "runtime/base/options.hpp"
#include "runtime/base/text.hpp"

namespace tsunami {
namespace {

constexpr double kKmPerDegree = 111.2;
constexpr double kMostCells = 1e9;  // 190 GB of all ranks

double cell_km(const Options& o, int level) {
  return (o.north - o.south) / o.roots_y * std::pow(0.5, level / 2.0) * kKmPerDegree;
}

// Layers that waves find in their way one after the other, and cells that can show them.
void check_sponges(const Options& o) {
  const auto refuse = [](const std::string& what) { throw empi::options::Refused("--border", what); };
  const double steepest = std::max(std::abs(o.south), std::abs(o.north)) * std::numbers::pi / 180;
  const double widths[] = {(o.east - o.west) * kKmPerDegree * std::cos(steepest),
                           (o.north - o.south) * kKmPerDegree};
  for (std::size_t side = 0; side < o.borders.size(); ++side) {
    const double km = o.borders[side].sponge_km;
    const double cells = 4 * cell_km(o, wave_level(o));
    if (km > 0 && km < cells)
      refuse(empi::format(
          "a sponge of %g km is narrower than four of the finest cells, %.3g km, and would throw "
          "waves back: make it wider, or %s larger",
          km, cells, o.refine_level < 0 ? "--finest" : "--refine-level"));
    if (side % 2 == 0) continue;
    const double both = km + o.borders[side - 1].sponge_km, width = widths[side / 2];
    if (both >= width)
      refuse(empi::format(
          "sponges of %g km in all from %s to %s leave nothing of the %.4g km that the domain "
          "measures there at least",
          both, std::string(kSides[side - 1]).c_str(), std::string(kSides[side]).c_str(), width));
  }
}

}  // namespace

int wave_level(const Options& o) { return o.refine_level < 0 ? o.finest : o.refine_level; }

int coast_level(const Options& o) {
  if (o.coast >= 0 || o.refine_level >= 0) return o.coast >= 0 ? o.coast : o.refine_level;
  const bool nest =
      (o.gauge_level == o.finest && !o.gauges.empty()) ||
      std::ranges::any_of(o.regions, [&](const RegionOption& r) { return r.level == o.finest; });
  return nest ? o.coarsest : o.finest;
}

double finest_cell_km(const Options& o) { return cell_km(o, o.finest); }

void check(const Options& o) {
  const auto refuse = [](const std::string& what) { throw empi::options::Refused("empi-tsunami", what); };
  if (!(o.west < o.east) || !(o.south < o.north))
    refuse("the domain is empty: west < east and south < north expected");
  if (o.east - o.west > 360) refuse("the domain is wider than 360 degrees: a place would be there twice");
  if (o.south < -85 || o.north > 85)
    refuse("latitudes beyond 85 degrees: the cells would degenerate at the poles");
  if (o.coarsest > o.finest) refuse("--coarsest is finer than --finest");
  if (o.coast > o.finest) refuse("--coast is finer than --finest");
  if (o.refine_level > o.finest || (o.refine_level >= 0 && o.refine_level < o.coarsest))
    refuse("--refine-level is not from --coarsest to --finest");
  if (!o.dtopo.empty() && !o.faults.empty()) refuse("--dtopo and --faults are two sources: choose one");
  const bool wave = std::ranges::any_of(
      o.borders, [](const BorderOption& b) { return b.kind == BorderOption::Kind::Wave; });
  if (!o.topography.empty() && o.dtopo.empty() && o.faults.empty() && !wave)
    refuse(
        "--topography without a source, --dtopo, --faults or --border SIDE:wave:FILE: the default source is "
        "that "
        "of Chile 2010");
  if (o.kajiura && wave && o.dtopo.empty() && o.faults.empty())
    refuse("--kajiura is about a sea floor that moves: give --dtopo or --faults beside the wave");
  if (o.coarsen_m > o.refine_m)
    refuse("--coarsen above --refine: cells would be refined and coarsened for ever");
  if (o.maxima > 0 && (o.east - o.west) / o.maxima * ((o.north - o.south) / o.maxima) > 4e6)
    refuse("--maxima asks for more than 4,000,000 points in this domain: take a larger distance");
  if (o.gauge_level > o.finest) refuse("--gauge-level is finer than --finest");
  if (o.gauge_level >= 0 && o.gauges.empty())
    refuse("--gauge-level without a --gauge: there is none to have such cells around");
  if (const double cells = 2.0 * o.roots_x * o.roots_y * std::exp2(o.coarsest); cells > kMostCells)
    refuse(
        empi::format("%.3g cells at the start, of --coarsest %d on %d x %d roots, are more than %.3g: take a "
                     "coarser level",
                     cells, o.coarsest, o.roots_x, o.roots_y, kMostCells));
  for (const RegionOption& r : o.regions) {
    if (r.level > o.finest) refuse("a --region of a level finer than --finest");
    if (r.west >= o.east || r.east <= o.west || r.south >= o.north || r.north <= o.south)
      refuse("a --region outside of the domain");
  }
  for (const GaugeOption& g : o.gauges)
    if (g.lon <= o.west || g.lon >= o.east || g.lat <= o.south || g.lat >= o.north)
      refuse("gauge " + g.id + " is outside of the domain");
  for (std::size_t i = 0; i < o.gauges.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (o.gauges[i].id == o.gauges[k].id) refuse("two gauges are called " + o.gauges[i].id);
  check_sponges(o);
}

Options parse_options(int argc, char** argv) {
  namespace options = empi::options;
  Options o;
  o.data = io::data_folder();
  o.out = io::default_folder();
  std::vector<std::string> gauges, regions, borders;
  std::string manning = "0.025";
  bool walls = false;

  const options::Program program{
      .what =
          "A tsunami on an adaptive mesh: shallow water from an earthquake to the tide gauges.\n"
          "Malleable under an Elastic MPI agent; alone or under mpirun it runs at a fixed size.",
      .reads_file = true,
      .options = {
          {"--data",
           &o.data,
           "folder with chile2010/; without it a built-in analytic ocean is used",
           {.shows_default = true}},
          {"--topography", &o.topography,
           "bathymetry: topotype 2 or 3, ESRI ASCII or netCDF (GEBCO, ETOPO); may be repeated: the first\n"
           "that covers a place counts, the last must cover the domain"},
          {"--dtopo", &o.dtopo, "sea floor displacement: dtopo type 3, also in time"},
          {"--faults", &o.faults, "sea floor displacement: subfaults as a table, see docs/data.md"},
          {"--kajiura", &o.kajiura,
           "the surface does not follow what of the motion is narrow beside the depth (Kajiura 1963)"},
          {"--west", &o.west, "domain, degrees east", {.shows_default = true}},
          {"--east", &o.east, "domain, degrees east", {.shows_default = true}},
          {"--south", &o.south, "domain, degrees north", {.shows_default = true}},
          {"--north", &o.north, "domain, degrees north", {.shows_default = true}},
          {"--roots-x",
           &o.roots_x,
           "root squares, west to east",
           {.check = options::in_range(1, 64), .shows_default = true}},
          {"--roots-y",
           &o.roots_y,
           "root squares, south to north",
           {.check = options::in_range(1, 64), .shows_default = true}},
          {"--coarsest",
           &o.coarsest,
           "coarsest mesh level",
           {.check = options::in_range(0, kFinestLevel), .shows_default = true}},
          {"--finest",
           &o.finest,
           "finest mesh level; two levels halve the cell",
           {.check = options::in_range(0, kFinestLevel), .shows_default = true}},
          {"--coast",
           &o.coast,
           "level of cells that the shore goes through; -1: that of --refine-level, but without it "
           "--coarsest\n"
           "where --region or --gauge-level ask for the finest: no other shores are that fine before a wave "
           "comes",
           {.check = options::in_range(-1, kFinestLevel), .shows_default = true}},
          {"--refine-level",
           &o.refine_level,
           "level that waves and the source refine cells to, so that finer ones are in a --region or around "
           "a\n"
           "--gauge (--gauge-level) only; -1: the finest",
           {.check = options::in_range(-1, kFinestLevel), .shows_default = true}},
          {"--end", &o.end, "simulated time, s", {.check = options::positive(), .shows_default = true}},
          {"--adapt-every",
           &o.adapt_every,
           "steps between adaptions of the mesh",
           {.check = options::in_range(1, 10000), .shows_default = true}},
          {"--buffer",
           &o.buffer,
           "layers of cells refined around those that need it; -1: as far as a wave comes in --adapt-every",
           {.check = options::in_range(-1, 20), .shows_default = true}},
          {"--refine",
           &o.refine_m,
           "amplitude that refines a cell, m",
           {.check = options::positive(), .shows_default = true}},
          {"--coarsen",
           &o.coarsen_m,
           "amplitude below which cells may coarsen, m",
           {.check = options::not_negative(), .shows_default = true}},
          {"--refine-flux",
           &o.refine_flux,
           "change of depth (m/s), times a cell's area over the finest cell's, that refines it; 0: none",
           {.check = options::not_negative(), .shows_default = true}},
          {"--refine-speed",
           &o.refine_speed,
           "speed of the water that refines a cell, m/s; below half of it cells may coarsen; 0: none",
           {.check = options::not_negative(), .shows_default = true}},
          {"--region", &regions,
           "WEST:EAST:SOUTH:NORTH:LEVEL[:FROM-UNTIL], cells inside are that fine in that time (s); may be "
           "repeated"},
          {"--gauge-level",
           &o.gauge_level,
           "level of the cells around each --gauge; -1: as elsewhere",
           {.check = options::in_range(-1, kFinestLevel), .shows_default = true}},
          {"--gauge-radius",
           &o.gauge_radius,
           "degrees around a gauge that --gauge-level means",
           {.check = options::positive(), .shows_default = true}},
          {"--tide",
           &o.tide,
           "m: the water's rest level above the topography's 0",
           {.check = options::number_between(-20, 20), .shows_default = true}},
          {"--order",
           &o.order,
           "of the scheme in space and time, 1 or 2; 1 flattens waves that cross an ocean",
           {.check = options::in_range(1, 2), .shows_default = true}},
          {"--solver",
           &o.solver,
           "of the Riemann problems: hllc, or augrie, the augmented one (George 2008)",
           {.check = options::one_of("hllc", "augrie"), .shows_default = true}},
          {"--storage",
           &o.storage,
           "of what cells hold between two steps, which are computed in double: double, or single, for a "
           "fifth\n"
           "less memory",
           {.check = options::one_of("double", "single"), .shows_default = true}},
          {"--manning",
           &manning,
           "friction in water shallower than 100 m: N, Manning's n in s/m^(1/3), 0: none; or FILE[:N], a "
           "raster\n"
           "of it in a format of --topography, N where it has no value (without N it must cover the domain)",
           {.shows_default = true}},
          {"--speed-limit",
           &o.speed_limit,
           "m/s that water shallower than 100 m reaches at most; 0: no limit",
           {.check = options::not_negative(), .shows_default = true}},
          {"--coriolis", &o.coriolis, "with the force of the earth's rotation"},
          {"--border", &borders,
           "[SIDE:]open, wall, sponge:KM or wave:FILE for the west, east, south or north, or for all that "
           "no\n"
           "other names; may be repeated. open, the default: waves leave; sponge: a layer so wide calms "
           "them\n"
           "before; wave: one comes in, FILE with seconds and metres, and others leave"},
          {"--walls", &walls, "the same as --border wall"},
          {"--snapshot-every",
           &o.snapshot_every,
           "simulated seconds between pictures; 0: none",
           {.check = options::not_negative(), .shows_default = true}},
          {"--maxima",
           &o.maxima,
           "degrees between points of maxima.nc, the highest that the water has been; 0: none",
           {.check = options::not_negative(), .shows_default = true}},
          {"--gauge", &gauges,
           "ID:LON:LAT[:FILE[:BEGIN-END]], FILE with the observed record, judged in that window (s); may be "
           "repeated"},
          {"--balance",
           &o.balance_tolerance,
           "imbalance that moves cells",
           {.check = options::in_range(0.0, 10.0), .shows_default = true}},
          {"--threads",
           &o.threads,
           "threads of each rank that compute the steps; the same results for any number",
           {.check = options::in_range(1, 1024), .shows_default = true}},
          {"--cell-time",
           &o.cell_time_us,
           "microseconds more that a step takes for each cell: slept, as a slower node would compute",
           {.check = options::not_negative(), .shows_default = true}},
          {"--serial-time",
           &o.serial_time_us,
           "microseconds more of a step, on any number of ranks: slept, too",
           {.check = options::not_negative(), .shows_default = true}},
          {"--out", &o.out, "folder for results", {.shows_default = true}},
      }};
  options::read_or_exit(program, argc, argv, [&] {
    o.manning = parse_manning(manning);
    o.borders = parse_borders(borders, walls);
    for (const std::string& region : regions) {
      o.regions.push_back(parse_region(region));
      RegionOption& r = o.regions.back();
      for (const double turn : {360.0, -360.0})
        if ((r.west >= o.east || r.east <= o.west) && r.west + turn < o.east && r.east + turn > o.west)
          r.west += turn, r.east += turn;
    }
    for (const std::string& gauge : gauges) {
      o.gauges.push_back(parse_gauge(gauge));
      double& lon = o.gauges.back().lon;  // in the domain's convention
      for (const double turn : {360.0, -360.0})
        if ((lon <= o.west || lon >= o.east) && lon + turn > o.west && lon + turn < o.east) lon += turn;
    }
    check(o);
  });
  return o;
}

}  // namespace tsunami
