// SPDX-License-Identifier: Apache-2.0
// Algorithms 5.2 and 5.3 of the thesis (seed 000, section 5.3): the tsunami, which balances its load at the
// beginning of each iteration, so that an adaptation moves the leavers' sections and nothing else. Compiled
// with EMPI_PRESSURE it is Algorithms 6.2 and 6.3, the oil reservoir: each iteration solves for the pressure,
// in a number of collective calls that nobody knows before.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common.h"

enum { K = 50 };

static struct options options;
static struct section grid;
static int procStatus, adaptFlag, numRanks, rank;
static long t, tmax = LONG_MAX, changes;

// As Algorithm 5.3: no load balancing, it occurs at the beginning of the next iteration.
static void Resource_Adapt(void) {
  MPI_Comm inter, next, everybody;
  int staying, leaving, joining;
  if (rolled_back(MPI_Comm_adapt_begin(&inter, &next, &staying, &leaving, &joining))) return;
  MPIX_Comm_adapt_union(&everybody);
  // Whoever stays keeps its section; those of the leavers go to staying ranks; joiners begin with none.
  int* next_ranks = ranks_of_next_world(everybody, next, staying + joining);
  int everybody_rank = 0;
  MPI_Comm_rank(everybody, &everybody_rank);
  const int owner = next == MPI_COMM_NULL ? next_ranks[everybody_rank % staying] : everybody_rank;
  struct section fresh = move_cells(&grid, everybody, &owner, 1);
  free(next_ranks);
  long counters[] = {t, changes, tmax};
  MPI_Bcast(counters, 3, MPI_LONG, 0, everybody);
  if (rolled_back(MPI_Comm_adapt_commit())) {
    free(fresh.cells);
    return;
  }
  free(grid.cells);
  grid = fresh;
  t = counters[0];
  changes = counters[1] + 1;
  tmax = counters[2];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &numRanks);
}

static void balance_load(void) {
  int* owners = (int*)malloc((size_t)numRanks * sizeof(int));
  for (int r = 0; r < numRanks; ++r) owners[r] = r;
  struct section balanced = move_cells(&grid, MPI_COMM_WORLD, owners, numRanks);
  free(owners);
  free(grid.cells);
  grid = balanced;
}

#ifdef EMPI_PRESSURE
static void solve_for_pressure(void) {
  double residual = 0.5 / numRanks, sum = 1;
  for (long wanted = t % 4; wanted >= 0 && sum > 0.1; --wanted) {
    MPI_Allreduce(&residual, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (wanted == 0) residual = 0;
  }
}
#else
static void solve_for_pressure(void) {}
#endif

int main(int argc, char** argv) {
  MPI_Init_adapt(&argc, &argv, &procStatus);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &numRanks);
  options = options_from(argc, argv);

  // 1. Initialization: JOINING processes bypass
  if (procStatus == MPI_ADAPT_STATUS_JOINING) {
    Resource_Adapt();
  } else {
    grid = initial_section(rank, numRanks);
    solve_for_pressure();
    for (int flags = 3; flags > 0; --flags) {
      balance_load();
      solve_for_pressure();
    }
    t = 0;
  }

  // 2. Computation: simulation main loop
  while (t < tmax) {
    balance_load();
    solve_for_pressure();
    long dt = rank == 0, step = 0;
    MPI_Allreduce(&dt, &step, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    const struct totals totals = sum_up(&options, &grid);
    for (int i = 0; i < grid.count; ++i) grid.cells[i].value += step;
    if (procStatus != MPI_ADAPT_STATUS_LEAVING) check(&totals, t);
    if (totals.stop) tmax = t + 1;
    usleep(4000);
    t = t + step;
    if (t % K == 0 && rank == 0) fprintf(stderr, "output at t = %ld\n", t);
    if (t % options.every == 0) {
      MPI_Probe_adapt(&adaptFlag, &procStatus, NULL);
      if (adaptFlag == MPI_ADAPT_TRUE) Resource_Adapt();
    }
  }

  // 3. Finalization
  finished(procStatus, changes);
  MPI_Finalize();
  return 0;
}
