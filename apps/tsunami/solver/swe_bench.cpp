// SPDX-License-Identifier: Apache-2.0
// Speed of one whole time step on one core: at order 1 fluxes, time step, update; at order 2 both stages with
// their reconstruction. A wave crosses a bumpy basin on a uniform mesh. Then the memory that this takes.
#include <malloc.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include "apps/tsunami/solver/solver.hpp"

namespace {

double bytes_in_use() {
  const struct mallinfo2 m = mallinfo2();
  return static_cast<double>(m.uordblks + m.hblkhd);
}

struct Figures {
  double mega_cells_per_second, bytes_per_cell;
};

Figures measure(int level, int order, swe::RiemannSolver riemann) {
  const double before = bytes_in_use();
  swe::Parameters setup{.domain = {1, 1},
                        .frame = {.west = -100e3, .south = -100e3, .width = 200e3, .height = 200e3},
                        .coarsest = level - 1,
                        .finest = level};
  setup.criterion.regions = {{-1e9, 1e9, -1e9, 1e9, level}};
  setup.physics.order = order;
  setup.physics.solver = riemann;
  swe::Solver solver(
      MPI_COMM_SELF, setup,
      [](double x, double y) { return -1000 + 100 * std::sin(x / 9e3) * std::cos(y / 7e3); },
      [](double x, double y) { return 2 * std::exp(-(x * x + y * y) / 4e8); });
  const auto cells = static_cast<double>(solver.cells());
  const auto seconds = [&](int steps) {
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < steps; ++k) solver.step(1e9);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const int steps = static_cast<int>(std::max(4.0, 1.6e7 / cells));
  seconds(steps);
  double best = 1e9;
  for (int trial = 0; trial < 7; ++trial) best = std::min(best, seconds(steps));
  return {cells * steps / best * 1e-6, (bytes_in_use() - before) / cells};
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Figures figures{};
  using enum swe::RiemannSolver;
  for (const auto& [riemann, solver] : {std::pair{"augrie", Augmented}, {"hll", Hllc}})
    for (const int order : {1, 2})
      for (const auto& [name, level] : {std::pair{"131k", 16}, {"1m", 19}}) {  // 2^17 and 2^20 cells
        figures = measure(level, order, solver);
        std::printf("bench swe.%s%d.%s %.1f Mcells/s\n", riemann, order, name, figures.mega_cells_per_second);
      }
  // After the mesh was made by an adaption, with what the next one uses again.
  std::printf("bench swe.bytes_per_cell %.0f bytes\n", figures.bytes_per_cell);
  MPI_Finalize();
}
