/* SPDX-License-Identifier: Apache-2.0
 * The guide's loop in C: a thousand numbers, shared by all ranks, grow by 1 in each of a hundred steps. */
#include <elastic_loop.h>
#include <stdio.h>

struct numbers {
  double* values;
  const elastic_block* rows;
  int step;
  double sum;
};

static int grow(MPI_Comm world, void* state) {
  struct numbers* n = state;
  double sum = 0;
  for (long long i = 0; i < elastic_block_count(n->rows); ++i) sum += n->values[i] += 1;
  MPI_Allreduce(&sum, &n->sum, 1, MPI_DOUBLE, MPI_SUM, world);
  return ++n->step < 100;
}

int main(int argc, char** argv) {
  struct numbers n = {0};
  elastic_loop* loop;
  elastic_loop_create(&argc, &argv, &loop);
  elastic_loop_replicate(loop, &n.step, sizeof n.step);
  elastic_loop_block(loop, (void**)&n.values, MPI_DOUBLE, 1000, 1, &n.rows);
  elastic_loop_checkpoint(loop, 0, NULL);
  elastic_loop_run(loop, grow, &n);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!elastic_loop_left(loop) && rank == 0) printf("own-loop: %d steps, sum %.0f\n", n.step, n.sum);
  return elastic_loop_free(&loop);
}
