// SPDX-License-Identifier: Apache-2.0
// Algorithms 4.5, 4.6 and 4.7 of the thesis (seed 000, sections 4.4 and 4.5): a master-worker program with
// many phases, of which each is the program of Algorithm 4.5. The master alone probes; workers do when it
// tells them. Its job has spec.runtime.probe: Root. Not as printed: a leaver returns from Worker instead of
// waiting for itself to send it a message.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

enum { kJobs = 40, kNobody = -1 };
enum { Work = 1, Adapt, Terminate, Result };  // the instruction is the tag of the message

static struct options options;
static int procStatus, adaptFlag, numRanks, rank;
static long err = 1000000000, Tol = 0, changes, aggregate;
static int ignores, ends;  // adaptFlag: once, and then as printed; or at its first sight the program ends

static void Resource_Adapt(void) {
  MPI_Comm inter, next, everybody;
  int staying, leaving, joining;
  if (rolled_back(MPI_Comm_adapt_begin(&inter, &next, &staying, &leaving, &joining))) return;
  MPIX_Comm_adapt_union(&everybody);
  long counters[] = {err, changes};
  MPI_Bcast(counters, 2, MPI_LONG, 0, everybody);
  if (rolled_back(MPI_Comm_adapt_commit())) return;
  err = counters[0];
  changes = counters[1] + 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &numRanks);
}

static int todo, done;
static int* workers;  // the job of each rank, or kNobody when it is idle

static void seed_workers(void) {
  workers = (int*)realloc(workers, (size_t)numRanks * sizeof(int));
  for (int w = 0; w < numRanks; ++w) workers[w] = kNobody;
  for (int w = 1; w < numRanks && todo < kJobs; ++w) {
    MPI_Send(&todo, 1, MPI_INT, w, Work, MPI_COMM_WORLD);
    workers[w] = todo++;
  }
}

static int active(void) {
  int count = 0;
  for (int w = 1; w < numRanks; ++w) count += workers[w] != kNobody;
  return count;
}

static void receive_result(void) {
  long result = 0;
  MPI_Status status;
  MPI_Recv(&result, 1, MPI_LONG, MPI_ANY_SOURCE, Result, MPI_COMM_WORLD, &status);
  workers[status.MPI_SOURCE] = kNobody;
  aggregate += result;
  ++done;
}

static void tell_all_workers(int instruction) {
  for (int w = 1; w < numRanks; ++w) MPI_Send(&w, 1, MPI_INT, w, instruction, MPI_COMM_WORLD);
}

static void Master(void) {
  todo = done = 0;
  aggregate = 0;
  seed_workers();
  while (done < kJobs) {
    if (active()) receive_result();
    for (int w = 1; w < numRanks && todo < kJobs; ++w)
      if (workers[w] == kNobody) {
        MPI_Send(&todo, 1, MPI_INT, w, Work, MPI_COMM_WORLD);
        workers[w] = todo++;
        break;
      }
    MPI_Probe_adapt(&adaptFlag, &procStatus, NULL);
    if (adaptFlag == MPI_ADAPT_TRUE && ends) {
      while (active()) receive_result();
      err = Tol;
      break;
    }
    if (adaptFlag == MPI_ADAPT_TRUE && ignores) {
      ignores = 0;
      continue;
    }
    if (adaptFlag == MPI_ADAPT_TRUE && todo < kJobs) {
      while (active()) receive_result();
      tell_all_workers(Adapt);
      Resource_Adapt();
      seed_workers();
    }
  }
  tell_all_workers(Terminate);
}

static void Worker(void) {
  for (;;) {
    int job = 0;
    MPI_Status status;
    MPI_Recv(&job, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == Terminate) break;
    if (status.MPI_TAG == Adapt) {
      MPI_Probe_adapt(&adaptFlag, &procStatus, NULL);
      Resource_Adapt();
      if (procStatus == MPI_ADAPT_STATUS_LEAVING) return;
    }
    if (status.MPI_TAG == Work) {
      usleep(1000);
      const long result = (long)job * job;
      MPI_Send(&result, 1, MPI_LONG, 0, Result, MPI_COMM_WORLD);
    }
  }
}

// Sum of the squares below kJobs.
static void check_aggregate(void) {
  const long expected = (long)(kJobs - 1) * kJobs * (2 * kJobs - 1) / 6;
  if (aggregate == expected) return;
  printf("BAD: the results add up to %ld instead of %ld\n", aggregate, expected);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int argc, char** argv) {
  MPI_Init_adapt(&argc, &argv, &procStatus);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &numRanks);
  options = options_from(argc, argv);
  for (int i = 3; i < argc; ++i) {
    if (!strcmp(argv[i], "ignores")) ignores = 1;
    if (!strcmp(argv[i], "ends")) ends = 1;
  }

  // 1. Initialization: JOINING processes bypass
  if (procStatus == MPI_ADAPT_STATUS_JOINING) Resource_Adapt();

  // 2. Computation: multiple master-worker routines
  while (err > Tol) {
    if (rank == 0) {
      Master();
      if (err > Tol) check_aggregate();
      err = access(options.stop_file, F_OK) && err > Tol ? err - 1 : Tol;
    } else {
      Worker();
      if (procStatus == MPI_ADAPT_STATUS_LEAVING) break;
    }
    MPI_Bcast(&err, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  }

  // 3. Finalization
  finished(procStatus, changes);
  MPI_Finalize();
  return 0;
}
