// SPDX-License-Identifier: Apache-2.0
// Algorithm 4.3 of the thesis (seed 000, section 4.3), line by line: an SPMD program with two loops. Joiners
// learn in the window in which of them the others are.
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "common.h"

static struct options options;
static struct section data;
static int procStatus, adaptFlag, numRanks, rank;
static long t, i, phaseID, Tmax = LONG_MAX, changes;

static void Resource_Adapt(void) {
  MPI_Comm inter, next, everybody;
  int staying, leaving, joining;
  if (rolled_back(MPI_Comm_adapt_begin(&inter, &next, &staying, &leaving, &joining))) return;
  MPIX_Comm_adapt_union(&everybody);
  int* owners = ranks_of_next_world(everybody, next, staying + joining);
  struct section fresh = move_cells(&data, everybody, owners, staying + joining);
  free(owners);
  long counters[] = {t, i, phaseID, changes, Tmax};
  MPI_Bcast(counters, 5, MPI_LONG, 0, everybody);
  if (rolled_back(MPI_Comm_adapt_commit())) {
    free(fresh.cells);
    return;
  }
  free(data.cells);
  data = fresh;
  t = counters[0];
  i = counters[1];
  phaseID = counters[2];
  changes = counters[3] + 1;
  Tmax = counters[4];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &numRanks);
}

static struct totals step(long steps) {
  const struct totals totals = sum_up(&options, &data);
  for (int c = 0; c < data.count; ++c) ++data.cells[c].value;
  if (procStatus != MPI_ADAPT_STATUS_LEAVING) check(&totals, steps);
  usleep(4000);
  return totals;
}

static void probe(long iteration) {
  if (iteration % options.every) return;
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
    i = 1;
    phaseID = 1;
  }

  // 2. Computation: first loop
  if (phaseID == 1) {
    while (t < Tmax) {
      if (options.at_top) probe(t);
      if (step(t).next_phase) Tmax = t + 1;
      t = t + 1;
      if (!options.at_top) probe(t);
    }
    phaseID = 2;
  }

  // 2. Computation: second loop
  if (phaseID == 2) {
    for (int stop = 0; !stop;) {
      if (options.at_top) probe(i);
      stop = step(t + i - 1).stop > 0;
      i = i + 1;
      if (!options.at_top) probe(i);
    }
  }

  // 3. Finalization
  finished(procStatus, changes);
  MPI_Finalize();
  return 0;
}
