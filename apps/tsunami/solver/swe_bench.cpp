// SPDX-License-Identifier: Apache-2.0
// Speed of one whole time step on one core: at order 1 fluxes, time step, update; at order 2 both stages with
// their reconstruction. A wave crosses a bumpy basin on a uniform mesh. Then the memory that this takes, by
// the allocator and on another mesh than the first, with single storage too, and the share of this core's
// bandwidth that a step of order 2 must take at least. Arguments: rows to be measured (hll2.1m ...) instead
// of all.
#include <malloc.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "apps/tsunami/solver/solver.hpp"

namespace {

// Of this process: what else the machine does shall not count.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double bytes_in_use() {
  const struct mallinfo2 m = mallinfo2();
  return static_cast<double>(m.uordblks + m.hblkhd);
}

// B that a step of order 2 brings from memory and to it at least, per cell and stage: the state with the bed
// is read once (32) and written once (24), so is the state before the step, in one stage or the other (24);
// of the mesh, faces (12), cells (12) and classes (6) of edges, the cell's kind (1) and area (8).
constexpr double kLeastTraffic = 2 * (32 + 24 + 24 + 12 + 12 + 6 + 1 + 8);

// B/s of a = b + s c on arrays that no cache holds, in which 24 B count for each element (STREAM's triad).
double bandwidth() {
  constexpr std::size_t count = 1 << 24;
  std::vector<double> a(count), b(count, 1), c(count, 2);
  double best = 1e9;
  for (int trial = 0; trial < 7; ++trial) {
    const double start = processor_seconds();
    for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + 0.5 * trial * c[i];
    const volatile double used = a[count / 2];
    static_cast<void>(used);
    best = std::min(best, processor_seconds() - start);
  }
  return 24.0 * count / best;
}

struct Figures {
  double mega_cells_per_second, bytes_per_cell;
};

template <class Solver = swe::Solver>
Figures measure(int level, int order, swe::RiemannSolver riemann) {
  const double before = bytes_in_use();
  swe::Parameters setup{.domain = {1, 1},
                        .frame = {.west = -100e3, .south = -100e3, .width = 200e3, .height = 200e3},
                        .coarsest = level - 1,
                        .finest = level};
  setup.criterion.regions = {{-1e9, 1e9, -1e9, 1e9, level}};
  setup.physics.order = order;
  setup.physics.solver = riemann;
  Solver solver(
      MPI_COMM_SELF, setup,
      [](double x, double y) { return -1000 + 100 * std::sin(x / 9e3) * std::cos(y / 7e3); },
      [](double x, double y) { return 2 * std::exp(-(x * x + y * y) / 4e8); });
  const auto cells = static_cast<double>(solver.cells());
  const auto seconds = [&](int steps) {
    const double start = processor_seconds();
    for (int k = 0; k < steps; ++k) solver.step(1e9);
    return processor_seconds() - start;
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
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  using enum swe::RiemannSolver;
  Figures figures{};  // of the last row
  for (const auto& [riemann, solver] : {std::pair{"augrie", Augmented}, {"hll", Hllc}})
    for (const int order : {1, 2})
      for (const auto& [size, level] :
           {std::pair{"8k", 12}, {"131k", 16}, {"1m", 19}}) {  // 2^13, 2^17, 2^20 cells
        const std::string name = std::string(riemann) + std::to_string(order) + "." + size;
        if (!wanted.empty() && std::ranges::find(wanted, name) == wanted.end()) continue;
        figures = measure(level, order, solver);
        std::printf("bench swe.%s %.1f Mcells/s\n", name.c_str(), figures.mega_cells_per_second);
      }
  if (wanted.empty() || std::ranges::find(wanted, "hll2.1m.single") != wanted.end()) {
    const Figures single = measure<swe::SingleSolver>(19, 2, Hllc);
    std::printf("bench swe.hll2.1m.single %.1f Mcells/s\n", single.mega_cells_per_second);
    std::printf("bench swe.single.bytes_per_cell %.0f bytes\n", single.bytes_per_cell);
  }
  if (wanted.empty() || wanted.back() == "hll2.1m") {
    std::printf("bench swe.bandwidth_share %.2f ratio\n",
                figures.mega_cells_per_second * 1e6 * kLeastTraffic / bandwidth());
    // After the mesh was made by an adaption, with what the next one uses again.
    std::printf("bench swe.bytes_per_cell %.0f bytes\n", figures.bytes_per_cell);
  }
  MPI_Finalize();
}
