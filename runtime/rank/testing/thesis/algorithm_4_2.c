// SPDX-License-Identifier: Apache-2.0
// Algorithm 4.2 of the thesis (seed 000, section 4.2), line by line: an SPMD program with one loop, which
// probes at the end of its iterations. Nobody breaks out of the loop: leavers are ended in their next probe.
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "common.h"

static struct options options;
static struct section data;
static int procStatus, adaptFlag, numRanks, rank;
static long t, Tmax = LONG_MAX, changes, own_clock = 1;

static void Resource_Adapt(void) {
  MPI_Comm inter, next, everybody;
  int staying, leaving, joining;
  if (rolled_back(MPI_Comm_adapt_begin(&inter, &next, &staying, &leaving, &joining))) return;
  MPIX_Comm_adapt_union(&everybody);
  int* owners = ranks_of_next_world(everybody, next, staying + joining);
  struct section fresh = move_cells(&data, everybody, owners, staying + joining);
  free(owners);
  long counters[] = {t, changes, Tmax};
  MPI_Bcast(counters, 3, MPI_LONG, 0, everybody);
  struct totals moved = {0, fresh.count, 0, 0}, all;
  for (int i = 0; i < fresh.count; ++i) moved.sum += fresh.cells[i].value;
  MPI_Allreduce(&moved, &all, 4, MPI_LONG, MPI_SUM, everybody);
  check(&all, counters[0]);  // all ranks have come here after the same number of steps
  if (rolled_back(MPI_Comm_adapt_commit())) {
    free(fresh.cells);
    return;
  }
  free(data.cells);
  data = fresh;
  t = counters[0];
  changes = counters[1] + 1;
  Tmax = counters[2];
  if (options.broadcast) MPI_Bcast(&t, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &numRanks);
}

// A program that does not communicate has its sums checked in the next window only.
static void step(void) {
  if (options.asks) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &numRanks);
  }
  struct totals totals = {0, 0, !access(options.stop_file, F_OK), 0};
  if (!options.silent) totals = sum_up(&options, &data);
  for (int i = 0; i < data.count; ++i) ++data.cells[i].value;
  if (!options.silent && procStatus != MPI_ADAPT_STATUS_LEAVING) check(&totals, t);
  if (totals.stop) Tmax = t + 1;
}

static void probe(void) {
  if (options.own_clock ? ++own_clock % options.every : t % options.every) return;
  MPI_Probe_adapt(&adaptFlag, &procStatus, NULL);
  if (adaptFlag == MPI_ADAPT_TRUE) Resource_Adapt();
}

int main(int argc, char** argv) {
  MPI_Init_adapt(&argc, &argv, &procStatus);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &numRanks);
  options = options_from(argc, argv);

  // 1. Initialization: JOINING processes bypass
  if (procStatus == MPI_ADAPT_STATUS_JOINING) {
    Resource_Adapt();
  } else {
    data = initial_section(rank, numRanks);
    t = 0;
  }

  // 2. Computation: main loop
  while (t < Tmax) {
    if (options.at_top) probe();
    step();
    usleep(4000);
    t = t + 1;
    if (!options.at_top) probe();
  }

  // 3. Finalization
  finished(procStatus, changes);
  MPI_Finalize();
  return 0;
}
