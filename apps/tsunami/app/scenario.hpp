// SPDX-License-Identifier: Apache-2.0
// The physical case: sea floor, its motion and the initial surface as functions of position, and the records
// to compare with. All of them are checked against each other and against the domain.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/tsunami/app/options.hpp"
#include "apps/tsunami/io/gauge.hpp"
#include "apps/tsunami/solver/solver.hpp"

namespace tsunami {

struct Gauge : GaugeOption {
  io::TimeSeries record;  // observed; empty: none
  std::string remark;     // what was done to the record, in words
};

// Where the record of a gauge is judged in a run from `begin` to `end` (s): in its window, as far as record
// and run reach. None of less than ten minutes or two samples.
std::optional<io::GaugeWindow> judged_window(const Gauge& gauge, double begin, double end);

struct Scenario {
  std::string description;              // one line: which bathymetry and which source
  swe::SeaFloor bed = swe::Function();  // m, with what has moved at the start
  swe::Function surface;                // m, at the start: what has moved by then, lifted to the surface
  std::array<swe::Wave, 4> waves;       // that come in, in the order of kSides; without a surface: none
  std::vector<Gauge> gauges;
  std::uint64_t sources = 0;         // of what is in the files of the motion and of the waves
  std::uint64_t floor = 0;           // of what is in those of topography and of Manning's n
  std::vector<std::string> remarks;  // what will not come of the options in this run, in words
};

// Reads what the options name, or takes the built-in ocean. A wave through a border is a source, too: without
// another one the floor does not move. A source of one time, at most 1 s (as GeoClaw
// writes `at once`), has moved at the start. Serial: every rank reads for itself. Throws io::FileError: for
// files that cannot be read, that do not cover the domain (longitudes of 0..360 and -180..180 degrees are
// turned into the domain's), a source outside of it or after the end of the run, a gauge on land or in a
// sponge, and a record that has nothing of its gauge's window or of the run.
Scenario make_scenario(const Options& options);

// Mesh, physics and borders for the options, with the scenario's waves; the domain's root squares are as
// square as the domain allows.
swe::Parameters make_setup(const Options& options, const Scenario& scenario);

// All that the water depends on, in one line: two runs of one name may go on from each other's checkpoints.
std::string name_case(const Options& options, const Scenario& scenario);

}  // namespace tsunami
