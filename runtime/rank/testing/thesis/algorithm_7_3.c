// SPDX-License-Identifier: Apache-2.0
// Algorithms 7.3 and 7.4 of the thesis (seed 000, section 7.3): a surrogate is built and refined in phases,
// each a master-worker routine whose workers write what they compute to a file, and joiners read the grid
// from one. Its job has spec.runtime.probe: Root. The "forward simulation" is a polynomial and the error
// counts phases, so that what is in the files is known exactly. A file is of one process (MPI_COMM_SELF): one
// of the world would hold leavers and stayers. Not as printed: a leaver returns from Worker instead of
// waiting for itself to send it a message.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

enum { kAdded = 40, kNobody = -1 };         // grid points that a refinement adds: each is a job
enum { Work = 1, Adapt, Terminate, Done };  // the instruction is the tag of the message

static struct options options;
static int procStatus, adaptFlag, numRanks, rank;
static const long Tol = 0;
static long err = 1, changes;
static long points, added_from;  // of the grid; those from added_from on have no value yet
static char grid_name[4096], data_name[4096];
static MPI_File data = MPI_FILE_NULL;

static void fail(const char* what, long got, long expected) {
  printf("BAD: %s is %ld instead of %ld\n", what, got, expected);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void expect(const char* what, long got, long expected) {
  if (got != expected) fail(what, got, expected);
}

static MPI_File opened(const char* name, int mode) {
  MPI_File file = MPI_FILE_NULL;
  if (MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) fail(name, 0, 1);
  return file;
}

static long f(long x) { return x * x + 3 * x + 1; }

// Over all points below `count`.
static long sum_of_f(long count) {
  return (count - 1) * count * (2 * count - 1) / 6 + 3 * (count - 1) * count / 2 + count;
}

static void write_grid(void) {
  const long grid[] = {points, added_from};
  MPI_File file = opened(grid_name, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  MPI_File_write_at(file, 0, grid, 2, MPI_LONG, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

static void read_grid(void) {
  long grid[2] = {0, 0};
  MPI_File file = opened(grid_name, MPI_MODE_RDONLY);
  MPI_File_read_at(file, 0, grid, 2, MPI_LONG, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  points = grid[0];
  added_from = grid[1];
}

static void Resource_Adapt(void) {
  MPI_Comm inter, next, everybody;
  int staying, leaving, joining;
  if (rolled_back(MPI_Comm_adapt_begin(&inter, &next, &staying, &leaving, &joining))) return;
  if (procStatus == MPI_ADAPT_STATUS_JOINING) read_grid();
  MPIX_Comm_adapt_union(&everybody);
  long counters[] = {err, changes, points};
  MPI_Bcast(counters, 3, MPI_LONG, 0, everybody);
  expect("the grid that was read", points, counters[2]);
  if (rolled_back(MPI_Comm_adapt_commit())) return;
  err = counters[0];
  changes = counters[1] + 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &numRanks);
  if (procStatus == MPI_ADAPT_STATUS_JOINING) procStatus = MPI_ADAPT_STATUS_STAYING;
}

static long todo, done;
static long* workersArray;  // the job of each rank, or kNobody when it is idle

static void send_job(int worker) {
  const long job = added_from + todo++;
  MPI_Send(&job, 1, MPI_LONG, worker, Work, MPI_COMM_WORLD);
  workersArray[worker] = job;
}

static void seed_workers(void) {
  workersArray = (long*)realloc(workersArray, (size_t)numRanks * sizeof *workersArray);
  for (int w = 0; w < numRanks; ++w) workersArray[w] = kNobody;
  for (int w = 1; w < numRanks && todo < kAdded; ++w) send_job(w);
}

static int active(void) {
  int count = 0;
  for (int w = 1; w < numRanks; ++w) count += workersArray[w] != kNobody;
  return count;
}

static void receive_notification(void) {
  long job = 0;
  MPI_Status status;
  MPI_Recv(&job, 1, MPI_LONG, MPI_ANY_SOURCE, Done, MPI_COMM_WORLD, &status);
  expect("the job that is done", job, workersArray[status.MPI_SOURCE]);
  workersArray[status.MPI_SOURCE] = kNobody;
  ++done;
}

static void signal_all_workers(int instruction) {
  const long nothing = 0;
  for (int w = 1; w < numRanks; ++w) MPI_Send(&nothing, 1, MPI_LONG, w, instruction, MPI_COMM_WORLD);
}

static void Master(void) {
  todo = done = 0;
  seed_workers();
  while (done < kAdded) {
    if (active()) receive_notification();
    for (int w = 1; w < numRanks && todo < kAdded; ++w)
      if (workersArray[w] == kNobody) {
        send_job(w);
        break;
      }
    if (done % options.every == 0) {
      MPI_Probe_adapt(&adaptFlag, &procStatus, NULL);
      if (adaptFlag == MPI_ADAPT_TRUE && todo < kAdded) {
        while (active()) receive_notification();
        signal_all_workers(Adapt);
        Resource_Adapt();
        seed_workers();
      }
    }
  }
  signal_all_workers(Terminate);
}

static void Worker(void) {
  for (;;) {
    long job = 0;
    MPI_Status status;
    MPI_Recv(&job, 1, MPI_LONG, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == Terminate) break;
    if (status.MPI_TAG == Adapt) {
      MPI_Probe_adapt(&adaptFlag, &procStatus, NULL);
      Resource_Adapt();
      if (procStatus == MPI_ADAPT_STATUS_LEAVING) return;
    }
    if (status.MPI_TAG == Work) {
      usleep(1000);
      const long value = f(job);
      MPI_File_write_at(data, job * (MPI_Offset)sizeof value, &value, 1, MPI_LONG, MPI_STATUS_IGNORE);
      MPI_Send(&job, 1, MPI_LONG, 0, Done, MPI_COMM_WORLD);
    }
  }
}

// Each rank adds up its part of what all have written.
static void hierarchize(void) {
  long own = 0, all = 0;
  const long begin = points * rank / numRanks, end = points * (rank + 1) / numRanks;
  long* values = (long*)calloc((size_t)(end - begin) + 1, sizeof *values);
  MPI_File_read_at(data, begin * (MPI_Offset)sizeof *values, values, (int)(end - begin), MPI_LONG,
                   MPI_STATUS_IGNORE);
  for (long i = begin; i < end; ++i) {
    expect("the value of a grid point", values[i - begin], f(i));
    own += values[i - begin];
  }
  free(values);
  MPI_Reduce(&own, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) expect("the sum of all values", all, sum_of_f(points));
}

static void Build_Surrogate(void) {
  // 1.1. Initialization: JOINING processes bypass
  if (procStatus == MPI_ADAPT_STATUS_JOINING) {
    Resource_Adapt();
  } else {
    added_from = points;
    points += kAdded;
    if (rank == 0) write_grid();
  }
  // 1.2. Computation
  if (rank == 0) {
    Master();
  } else {
    Worker();
    if (procStatus == MPI_ADAPT_STATUS_LEAVING) return;
  }
  // 1.3. Compute hierarchical surpluses collectively
  hierarchize();
}

int main(int argc, char** argv) {
  MPI_Init_adapt(&argc, &argv, &procStatus);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &numRanks);
  options = options_from(argc, argv);
  snprintf(grid_name, sizeof grid_name, "%s.grid", options.stop_file);
  snprintf(data_name, sizeof data_name, "%s.data", options.stop_file);
  data = opened(data_name, MPI_MODE_CREATE | MPI_MODE_RDWR);

  // 1. Surrogate construction
  while (err > Tol) {
    Build_Surrogate();
    if (procStatus == MPI_ADAPT_STATUS_LEAVING) break;
    const long own = rank == 0 && !access(options.stop_file, F_OK) ? Tol : err;
    MPI_Reduce(&own, &err, 1, MPI_LONG, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Bcast(&err, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  }

  // 3. Finalization
  MPI_File_close(&data);
  finished(procStatus, changes);
  MPI_Finalize();
  return 0;
}
