// SPDX-License-Identifier: Apache-2.0
// What empi-tsunami is asked to compute, from the command line (or a file given by --config).
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tsunami {

struct GaugeOption {
  std::string id = {};
  double lon = 0, lat = 0;    // degrees
  std::string observed = {};  // file of the observed record; empty: none
  double begin = 0, end = 0;  // s after the earthquake: where the record is judged; end 0: all of it
};

// Cells inside have at least `level` in that time (s).
struct RegionOption {
  double west = 0, east = 0, south = 0, north = 0;  // degrees
  int level = 0;
  double from = 0, until = 1e300;
};

inline constexpr std::array<std::string_view, 4> kSides = {"west", "east", "south", "north"};

inline constexpr int kFinestLevel = 30;  // of the mesh that may be asked for

// What is at one side of the domain.
struct BorderOption {
  enum class Kind { Open, Wall, Sponge, Wave };
  Kind kind = Kind::Open;
  double sponge_km = 0;   // width, of Sponge
  std::string wave = {};  // file, of Wave
};

// Manning's n, s/m^(1/3), in water shallower than 100 m; 0: no friction.
struct ManningOption {
  double n = 0.025;
  std::string file = {};   // raster of it; empty: n everywhere
  bool elsewhere = false;  // n is for where the file has no value; else it must cover the domain
};

struct Options {
  std::string data;  // folder that holds chile2010/; empty or without it: the built-in analytic ocean
  std::vector<std::string> topography;  // files instead of the case's; the first that covers a place counts
  std::string dtopo, faults;            // file of the source, instead of the case's; not both
  bool kajiura = false;                 // water follows what is wide beside its depth only
  double west = -120, east = -60, south = -60, north = 0;  // degrees
  int roots_x = 1, roots_y = 1;                            // root squares
  int coarsest = 8, finest = 15;                           // mesh levels; two levels halve the cell
  int refine_level = -1;                                   // that waves and the source refine to; -1: finest
  int coast = -1;                             // level of cells that the shore goes through; -1: coast_level()
  double end = 32400;                         // s of simulated time
  int adapt_every = 10;                       // steps
  int buffer = -1;                            // cells; -1: as far as a wave comes in adapt_every steps
  double refine_m = 0.02, coarsen_m = 0.008;  // amplitude that refines, that may coarsen
  int order = 2;                              // of the scheme, 1 or 2
  std::string solver = "hllc";                // of the Riemann problems at edges: hllc, augrie
  std::string storage = "double";             // of what cells keep between steps: double, single
  double refine_flux = 0;                     // m/s, the thesis' criterion (5.4); 0: none
  double refine_speed = 0;                    // m/s, of the water; 0: none
  std::vector<RegionOption> regions;
  int gauge_level = -1;       // of the cells around gauges; -1: as elsewhere
  double gauge_radius = 0.5;  // degrees, half of the side of the square around a gauge
  double tide = 0;            // m: the water's rest level above the topography's 0
  ManningOption manning;
  double speed_limit = 50;              // m/s, of water shallower than 100 m; 0: none
  bool coriolis = false;                // the earth's rotation
  std::array<BorderOption, 4> borders;  // in the order of kSides
  double snapshot_every = 1800;         // s; 0: none
  double maxima = 0.25;                 // degrees between two points of the raster of maxima; 0: none
  std::vector<GaugeOption> gauges;
  std::string out = ".";
  double balance_tolerance = 0.05;
  int threads = 1;  // of each rank
  // A step takes a rank so long at least for each of its cells, and so much more on any number of ranks, in
  // microseconds. The rest is slept: a node of that speed, whatever else this machine does.
  int cell_time_us = 0, serial_time_us = 0;
};

// Levels that waves, and shores at the start, are refined to. Shores without --coast: as waves, but where
// cells of the finest level are wanted in places (a nest) and nothing is said of waves, the coarsest; a wave
// that comes there refines them.
int wave_level(const Options& options);
int coast_level(const Options& options);

// Of the finest mesh level: the longer leg, north to south.
double finest_cell_km(const Options& options);

// Whether the options fit each other. Throws empi::options::Refused.
void check(const Options& options);

// Exits with 0 after --help, and with 2 and a message for options that make no sense.
Options parse_options(int argc, char** argv);

}  // namespace tsunami
