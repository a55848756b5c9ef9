// SPDX-License-Identifier: Apache-2.0
// What local time steps could save: cell updates of a run with one time step for all cells over those that it
// would take if every cell had the largest power of two of the smallest step that is stable in it and differs
// by a factor of two at most from what its neighbours have (Osher and Sanders, Math. Comp. 41 (1983) 321).
// Dry cells have what their neighbours allow. An upper bound: order 2 needs a layer of cells between two step
// sizes twice, and ranks would have to share out what cells cost.
// Options are those of empi-tsunami; without any, Chile 2010 at level 17, and a nest around a gauge.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "apps/tsunami/app/options.hpp"
#include "apps/tsunami/app/scenario.hpp"
#include "apps/tsunami/solver/solver.hpp"

namespace {

constexpr int kLevels = 12;  // powers of two at most

// log2 of each own cell's step over the smallest.
std::vector<int> step_levels(const swe::Solver& solver) {
  const std::size_t count = solver.cells();
  std::vector<double> rate(count);
  for (std::size_t i = 0; i < count; ++i) {
    const swe::Cell cell = solver.cell(i);
    const double depth = cell.eta - cell.b;
    if (depth <= solver.setup().physics.dry_tolerance) continue;  // nothing moves in it
    const double speed = std::hypot(cell.hu, cell.hv) / depth + std::sqrt(9.81 * depth);
    rate[i] = speed / std::sqrt(solver.area(i));
  }
  const double fastest = *std::ranges::max_element(rate);
  std::vector<int> level(count, kLevels);
  for (std::size_t i = 0; i < count; ++i)
    if (rate[i] > 0) level[i] = std::min(kLevels, static_cast<int>(std::log2(fastest / rate[i])));
  const auto& edges = solver.mesh().edges();
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const auto a = static_cast<std::size_t>(edges.left[e]), b = static_cast<std::size_t>(edges.right[e]);
      if (a >= count || b >= count) continue;  // a border
      const int low = std::min(level[a], level[b]) + 1;
      for (const std::size_t i : {a, b})
        if (level[i] > low) level[i] = low, changed = true;
    }
  }
  return level;
}

double saving(const tsunami::Options& options) {
  const tsunami::Scenario scenario = tsunami::make_scenario(options);
  swe::Solver solver(MPI_COMM_SELF, tsunami::make_setup(options, scenario), scenario.bed, scenario.surface);
  double all = 0, local = 0;
  while (solver.time() < options.end) {
    solver.step(options.end - solver.time());
    if (solver.steps() % options.adapt_every != 0) continue;
    for (const int level : step_levels(solver)) local += std::ldexp(1, -level);
    all += static_cast<double>(solver.cells());
    solver.adapt();
  }
  return all / local;
}

}  // namespace

int main(int argc, char** argv) {
  tsunami::Options options = tsunami::parse_options(argc, argv);
  MPI_Init(&argc, &argv);
  if (argc == 1) {
    options.end = 14400;
    options.finest = 17;
  }
  std::printf("bench local-steps.%s %.2f ratio\n", argc == 1 ? "chile" : "saving", saving(options));
  if (argc == 1) {
    options.finest = 21, options.refine_level = 13;
    options.regions = {{.west = -90, .east = -82, .south = -22, .north = -14, .level = 21}};
    std::printf("bench local-steps.nest %.2f ratio\n", saving(options));
  }
  MPI_Finalize();
}
