// SPDX-License-Identifier: Apache-2.0
// Speed of one whole time step on one core: fluxes, time step, update. A wave crosses a bumpy basin on a
// uniform mesh.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "apps/tsunami/solver/solver.hpp"

namespace {

double mega_cells_per_second(int level) {
  swe::Parameters setup{.domain = {1, 1},
                        .frame = {.west = -100e3, .south = -100e3, .width = 200e3, .height = 200e3},
                        .coarsest = level,
                        .finest = level};
  swe::Solver solver(
      MPI_COMM_SELF, setup,
      [](double x, double y) { return -1000 + 100 * std::sin(x / 9e3) * std::cos(y / 7e3); },
      [](double x, double y) { return 2 * std::exp(-(x * x + y * y) / 4e8); });
  const auto seconds = [&](int steps) {
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < steps; ++k) solver.step(1e9);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const int steps = static_cast<int>(std::max(4.0, 1.6e7 / static_cast<double>(solver.cells())));
  seconds(steps);
  double best = 1e9;
  for (int trial = 0; trial < 7; ++trial) best = std::min(best, seconds(steps));
  return static_cast<double>(solver.cells()) * steps / best * 1e-6;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::printf("bench swe.hll1.131k %.1f Mcells/s\n", mega_cells_per_second(16));  // 2^17 cells
  std::printf("bench swe.hll1.1m %.1f Mcells/s\n", mega_cells_per_second(19));    // 2^20 cells
  MPI_Finalize();
}
