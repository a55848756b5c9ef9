// SPDX-License-Identifier: Apache-2.0
// What a run leaves for people and programs at its end: production curves and figures.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "apps/spe10/solver/simulator.hpp"

namespace spe10 {

// Removes what an earlier run left in the folder (made if it is not there), but for what clear_series()
// removes: pictures and the course of the run, which a run that goes on from a checkpoint goes on with. Rank
// 0 only. Throws io::FileError.
void clear_results(const std::string& folder);
void clear_series(const std::string& folder);

// What is known when the run begins, for those who draw while it goes on: spe10.json {case,
// mobile_saturation: [least, most], wells: [{name, injector, block, at_ft}]}. Rank 0 only. Throws
// io::FileError.
void announce_results(const std::string& folder, const std::string& description, const Setup& setup);

// One line of the production curves per step: day, length of the step, substeps, iterations, ranks, mean
// pressure, then for each well oil and water rate (STB/day) and bottom hole pressure (psi).
inline constexpr std::size_t kCurveHead = 6, kCurvePerWell = 3;
void add_to_curves(std::vector<double>& curves, const Simulator& sim, const StepReport& step, int ranks);

// production.csv, and the same for tools that read summaries of Eclipse (eclipse_summary.hpp), as far as it
// is known. Rank 0 only. Throws io::FileError.
void write_curves(const std::string& folder, const Deck& deck, const std::vector<double>& curves);

// Share of the water in what comes out; 0 where nothing does.
inline double water_cut(double oil, double water) { return oil + water > 1e-9 ? water / (oil + water) : 0; }

struct Summary {
  std::int64_t columns = 0, prisms = 0, pressure_iterations = 0, pressure_solves = 0, setups = 0;
  double seconds_pressure = 0, seconds_transport = 0;
  double pore_volume = 0, water_start = 0, water_end = 0, oil_start = 0, oil_end = 0;  // ft3
  double lowest_s = 0, highest_s = 0;
  std::string description;
};
// All of that, and spe10.json.
void write_results(const std::string& folder, const Summary& summary, Simulator& sim,
                   const std::vector<double>& curves);

}  // namespace spe10
