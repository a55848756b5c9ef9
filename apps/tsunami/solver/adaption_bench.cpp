// SPDX-License-Identifier: Apache-2.0
// Time for adaption and balancing over time for the time steps themselves, adapting every 1 and every 10
// steps, at order 1 and at order 2, on the ranks this is started with. A circular wave runs outward;
// refinement follows its crest.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "apps/tsunami/solver/solver.hpp"

namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

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
  for (const int order : {1, 2})
    for (const int every : {1, 10}) {
      const double value = ratio(order, every, every == 1 ? 60 : 200);
      if (rank == 0)
        std::printf("bench adaption.%severy%d %.3f ratio\n", order == 1 ? "" : "order2.", every, value);
    }
  MPI_Finalize();
}
