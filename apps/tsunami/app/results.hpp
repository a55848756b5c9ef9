// SPDX-License-Identifier: Apache-2.0
// What a run leaves for people and programs: gauges and figures at its end.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "apps/tsunami/app/scenario.hpp"
#include "apps/tsunami/app/task_times.hpp"
#include "apps/tsunami/solver/solver.hpp"

namespace tsunami {

// Removes what an earlier run left in the folder (made if it is not there), but for what clear_series()
// removes: pictures and the course of the run, which a run that goes on from a checkpoint goes on with. Rank
// 0 only. Throws io::FileError.
void clear_results(const std::string& folder);
void clear_series(const std::string& folder);

// What is known when the run begins, for those who draw while it goes on: tsunami.json {case, gauges: [{id,
// lon, lat, observed}]}. Rank 0 only. Throws io::FileError.
void announce_results(const std::string& folder, const Scenario& scenario);

// The highest that the water has been (maxima.hpp).
inline constexpr char kMaximaFile[] = "maxima.nc";

// gauge-ID.csv as far as they are known. Rank 0 only. Throws io::FileError.
void write_gauges(const std::string& folder, const Scenario& scenario,
                  const std::vector<swe::GaugeSeries>& series);

// Hash of all cell states, the same for every number of ranks and every cut. Collective over world.
template <class Stored>
std::uint64_t state_hash(MPI_Comm world, const swe::BasicSolver<Stored>& solver);

// gauge-ID.csv and tsunami.json {cells_final, steps, cell_updates, state_hash, volume_drift, volume_added,
// volume_came_in, seconds_by_task, gauges: [{id, rms_m, correlation, max_m, arrival_of_max_s, ...}]};
// comparisons in each gauge's window, shortened to what the record and the run cover; `not_judged` says why
// there is none.
struct Summary {
  std::int64_t cells = 0, steps = 0, updates = 0;
  // Of the volume at the start: what refining added, what came in through borders (or has left, below 0), and
  // what is missing or too much besides.
  double volume_added = 0, volume_came_in = 0, volume_drift = 0;
  double finest_cell_km = 0;
  std::uint64_t hash = 0;
  std::string description;
  TaskTimes tasks{};
};
void write_results(const std::string& folder, const Summary& summary, const Scenario& scenario,
                   const std::vector<swe::GaugeSeries>& series);

}  // namespace tsunami
