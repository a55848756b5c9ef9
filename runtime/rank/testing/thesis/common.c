// SPDX-License-Identifier: Apache-2.0
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options options_from(int argc, char** argv) {
  struct options options = {"stop", "phase", 1, 0, 0, 0, 0, 0, 0};
  if (argc > 1) options.stop_file = argv[1];
  if (argc > 2) options.phase_file = argv[2];
  for (int i = 3; i < argc; ++i) {
    if (!strncmp(argv[i], "every=", 6)) options.every = atoi(argv[i] + 6);
    if (!strcmp(argv[i], "top")) options.at_top = 1;
    if (!strcmp(argv[i], "point-to-point")) options.point_to_point = 1;
    if (!strcmp(argv[i], "broadcast")) options.broadcast = 1;
    if (!strcmp(argv[i], "own-clock")) options.own_clock = 1;
    if (!strcmp(argv[i], "silent")) options.silent = 1;
    if (!strcmp(argv[i], "asks")) options.silent = options.asks = 1;
  }
  return options;
}

static int block_of(long index, int blocks) { return (int)(index * blocks / kCells); }

struct section initial_section(int rank, int size) {
  struct section mine = {(struct cell*)malloc(kCells * sizeof(struct cell)), 0};
  for (long i = 0; i < kCells; ++i)
    if (block_of(i, size) == rank) mine.cells[mine.count++] = (struct cell){i, i};
  return mine;
}

struct section move_cells(const struct section* from, MPI_Comm comm, const int* owner_of, int blocks) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  int* numbers = (int*)calloc(5 * (size_t)size, sizeof(int));
  int *out = numbers, *out_at = out + size, *in = out_at + size, *in_at = in + size, *filled = in_at + size;
  for (int i = 0; i < from->count; ++i) out[owner_of[block_of(from->cells[i].index, blocks)]] += 2;
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
  for (int r = 1; r < size; ++r) {
    out_at[r] = out_at[r - 1] + out[r - 1];
    in_at[r] = in_at[r - 1] + in[r - 1];
  }
  struct cell* sorted = (struct cell*)malloc((size_t)(from->count + 1) * sizeof *sorted);
  for (int i = 0; i < from->count; ++i) {
    const int to = owner_of[block_of(from->cells[i].index, blocks)];
    sorted[out_at[to] / 2 + filled[to]++] = from->cells[i];
  }
  struct section moved = {(struct cell*)malloc(kCells * sizeof(struct cell)),
                          (in_at[size - 1] + in[size - 1]) / 2};
  MPI_Alltoallv(sorted, out, out_at, MPI_LONG, moved.cells, in, in_at, MPI_LONG, comm);
  free(sorted);
  free(numbers);
  return moved;
}

int* ranks_of_next_world(MPI_Comm everybody, MPI_Comm next, int count) {
  int size = 0, mine = -1;
  MPI_Comm_size(everybody, &size);
  if (next != MPI_COMM_NULL) MPI_Comm_rank(next, &mine);
  int* all = (int*)malloc((size_t)size * sizeof(int));
  int* ranks = (int*)calloc((size_t)count, sizeof(int));
  MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, everybody);
  for (int r = 0; r < size; ++r)
    if (all[r] >= 0) ranks[all[r]] = r;
  free(all);
  return ranks;
}

struct totals sum_up(const struct options* options, const struct section* mine) {
  struct totals own = {0, mine->count, !access(options->stop_file, F_OK), !access(options->phase_file, F_OK)};
  struct totals all = own;
  for (int i = 0; i < mine->count; ++i) own.sum += mine->cells[i].value;
  if (!options->point_to_point) {
    MPI_Allreduce(&own, &all, 4, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
  }
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank > 0) {
    MPI_Send(&own, 4, MPI_LONG, 0, 1, MPI_COMM_WORLD);
    MPI_Recv(&all, 4, MPI_LONG, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return all;
  }
  all = own;
  for (int r = 1; r < size; ++r) {
    MPI_Recv(&own, 4, MPI_LONG, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    all = (struct totals){all.sum + own.sum, all.cells + own.cells, all.stop + own.stop,
                          all.next_phase + own.next_phase};
  }
  for (int r = 1; r < size; ++r) MPI_Send(&all, 4, MPI_LONG, r, 2, MPI_COMM_WORLD);
  return all;
}

void check(const struct totals* totals, long t) {
  const long expected = (long)kCells * (kCells - 1) / 2 + kCells * t;
  if (totals->sum == expected && totals->cells == kCells) return;
  printf("BAD after %ld steps: sum %ld of %ld cells instead of %ld of %d\n", t, totals->sum, totals->cells,
         expected, kCells);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

int rolled_back(int code) {
  int error_class = code;
  if (code == MPI_SUCCESS) return 0;
  MPI_Error_class(code, &error_class);
  if (code == MPIX_ERR_ADAPT_ROLLED_BACK || error_class == MPIX_ERR_ADAPT_ROLLED_BACK) return 1;
  printf("BAD: begin or commit answers %d\n", code);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 4);
  return 1;
}

void finished(int proc_status, long changes) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (proc_status != MPI_ADAPT_STATUS_LEAVING && rank == 0)
    printf("finished: size %d, changes %ld\n", size, changes);
}
