// SPDX-License-Identifier: Apache-2.0
/* A program of one's own, in C: a thousand rows are counted in every step, each by one rank. It goes on until
 * it has been in as many worlds as its argument says (1), and for a hundred steps at least. */
#include <elastic_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kRows = 1000 };
static long worlds = 1, steps; /* the same on every rank */
static long counted;           /* by this rank */

/* Returns whether this rank leaves. */
static int adapt(int leaving) {
  MPI_Comm joining_ranks, next, all;
  int staying_count, leaving_count, joining_count, rank;
  long shared[2] = {worlds, steps}, total = 0;
  MPI_Comm_adapt_begin(&joining_ranks, &next, &staying_count, &leaving_count, &joining_count);
  MPIX_Comm_adapt_union(&all);
  int failed = MPI_Bcast(shared, 2, MPI_LONG, 0, all); /* joiners learn where the others are */
  if (!failed) failed = MPI_Allreduce(&counted, &total, 1, MPI_LONG, MPI_SUM, all);
  if (failed) MPIX_Comm_adapt_abort();
  if (MPI_Comm_adapt_commit() != MPI_SUCCESS) return 0; /* rolled back: as if nothing had been */
  if (leaving) return 1;
  worlds = shared[0] + 1;
  steps = shared[1];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  counted = rank == 0 ? total : 0;
  return 0;
}

int main(int argc, char** argv) {
  const struct timespec pause = {0, 10 * 1000 * 1000};
  int status, pending, rank, size, left = 0;
  MPI_Init_adapt(&argc, &argv, &status);
  const long wanted = argc > 1 ? atol(argv[1]) : 1;
  if (status == MPI_ADAPT_STATUS_JOINING) adapt(0);
  do {
    MPI_Probe_adapt(&pending, &status, NULL);
    if (pending == MPI_ADAPT_TRUE) left = adapt(status == MPI_ADAPT_STATUS_LEAVING);
    if (left) break;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    counted += kRows / size + (rank < kRows % size);
    nanosleep(&pause, NULL);
    ++steps;
  } while (steps < 100 || worlds < wanted);
  if (!left) {
    long total = 0;
    MPI_Reduce(&counted, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("own-c: %ld worlds, %ld steps, sum %ld\n", worlds, steps, total);
  }
  return MPI_Finalize();
}
