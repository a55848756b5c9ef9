// What a run leaves for people and programs: progress while it runs, gauges and figures at its end.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "apps/tsunami/app/scenario.hpp"
#include "apps/tsunami/solver/solver.hpp"

namespace tsunami {

// Removes what an earlier run left in the folder (made if it is not there), so that results never mix. Rank 0
// only.
void clear_results(const std::string& folder);

struct Progress {
  double time = 0, end = 0;  // s, simulated
  std::int64_t steps = 0, cells = 0;
  int ranks = 0;
};

// Writes progress.json (renamed, so that a reader never sees half of it) and appends a line to cells.csv:
// wall-clock time, simulated time, cells, ranks. At most once in half a second unless `force`. Rank 0 only.
void write_progress(const std::string& folder, const Progress& progress, bool force = false);

// Hash of all cell states, the same for every number of ranks and every cut. Collective over world.
std::uint64_t state_hash(MPI_Comm world, swe::Solver& solver);

// Adds up over world. Collective.
double total(MPI_Comm world, double mine);

// gauge-ID.csv and tsunami.json {cells_final, steps, cell_updates, state_hash, volume_drift, gauges: [{id,
// rms_m, correlation, max_m, arrival_of_max_s, ...}]}; comparisons by decision R12's window, shortened to the
// run's end.
struct Summary {
  std::int64_t cells = 0, steps = 0;
  double updates = 0, volume_drift = 0, finest_cell_km = 0;
  std::uint64_t hash = 0;
  std::string description;
};
void write_results(const std::string& folder, const Summary& summary, const Scenario& scenario,
                   const std::vector<swe::GaugeSeries>& series);

}  // namespace tsunami
