/* SPDX-License-Identifier: Apache-2.0
 * What the programs of the thesis (seed 000) share besides their algorithms: the data, and how a test wants
 * them varied. The data are kCells numbered cells; cell i holds i + t after t steps, so the sum is known
 * exactly. */
#ifndef EMPI_THESIS_COMMON_H
#define EMPI_THESIS_COMMON_H

#include <elastic_mpi.h>

enum { kCells = 1009 };

struct options {
  const char* stop_file;  /* the program ends when it is there */
  const char* phase_file; /* Algorithm 4.3 goes to its second loop when it is there */
  int every;              /* "Time to probe Resource Manager": each, or every n-th iteration */
  int at_top;             /* probe at the beginning of an iteration, not at its end as printed */
  int point_to_point;     /* no collective calls in an iteration */
  int broadcast;          /* a broadcast over the world after each commit */
  int own_clock;          /* probe every n-th iteration by a counter that joiners begin elsewhere: wrong */
  int silent;             /* no communication in an iteration at all */
  int asks;               /* and yet calls of MPI: for rank and size */
};

struct cell {
  long index, value;
};

/* The cells of one rank, in any order. */
struct section {
  struct cell* cells;
  int count;
};

struct totals {
  long sum, cells, stop, next_phase;
};

/* Arguments: STOP_FILE PHASE_FILE [every=N] [top] [point-to-point] [broadcast] [own-clock] [silent] [asks].
 */
struct options options_from(int argc, char** argv);

struct section initial_section(int rank, int size);

/* Cells of `from` to rank owner_of[i] of `comm`, where i is the block of the cell when all are cut into
 * `blocks` equal parts. Collective. The result is new, `from` stays. */
struct section move_cells(const struct section* from, MPI_Comm comm, const int* owner_of, int blocks);

/* By rank of the new world: its rank in `everybody`. Collective over `everybody`; the caller frees it. */
int* ranks_of_next_world(MPI_Comm everybody, MPI_Comm next, int count);

/* Sums over the world: by an allreduce, or by messages to rank 0 and back. */
struct totals sum_up(const struct options* options, const struct section* mine);

/* Ends the program with a line that begins with BAD when the sums are not those after `t` steps. */
void check(const struct totals* totals, long t);

/* Whether a commit was rolled back; ends the program when it failed in another way. */
int rolled_back(int code);

/* The last line of the program, by rank 0: "finished: size S, changes C". */
void finished(int proc_status, long changes);

#endif
