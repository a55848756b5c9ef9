// SPDX-License-Identifier: Apache-2.0
// Processor time for adaption and balancing over that for the time steps themselves, adapting every 1 and
// every 10 steps, at order 1 and at order 2, on the ranks this is started with. A circular wave runs outward;
// refinement follows its crest. Arguments: rows to be measured (every10 ...) instead of all.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "apps/tsunami/solver/solver.hpp"

namespace {

// Of this process: what else the machine does shall not count.
struct Clock {
  static double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
};
double since(double start) { return Clock::now() - start; }

double ratio(int order, int every, int steps) {
  swe::Parameters setup{.domain = {1, 1},
                        .frame = {.west = -100e3, .south = -100e3, .width = 200e3, .height = 200e3},
                        .coarsest = 12,
                        .finest = 19};
  setup.criterion = {.refine_amplitude = 0.1, .coarsen_amplitude = 0.05, .buffer = 2};
  setup.physics.order = order;
  swe::Solver solver(
      MPI_COMM_WORLD, setup,
      [](double x, double y) { return -1000 + 100 * std::sin(x / 9e3) * std::cos(y / 7e3); },
      [](double x, double y) { return 3 * std::exp(-(x * x + y * y) / 1e9); });
  double stepping = 0, adapting = 0;
  for (int k = 1; k <= steps; ++k) {
    auto start = Clock::now();
    solver.step(1e9);
    stepping += since(start);
    if (k % every != 0) continue;
    start = Clock::now();
    if (solver.adapt()) solver.balance();
    adapting += since(start);
  }
  double times[] = {adapting, stepping};
  MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return times[0] / times[1];
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  for (const int order : {1, 2})
    for (const int every : {1, 10}) {
      const std::string name = (order == 1 ? "every" : "order2.every") + std::to_string(every);
      if (!wanted.empty() && std::ranges::find(wanted, name) == wanted.end()) continue;
      const double value = ratio(order, every, every == 1 ? 60 : 200);
      if (rank == 0) std::printf("bench adaption.%s %.3f ratio\n", name.c_str(), value);
    }
  MPI_Finalize();
}
