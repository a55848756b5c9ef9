/* SPDX-License-Identifier: Apache-2.0
 * elastic_loop.h in C: rows in a block, elements in a sequence, and a tally that moves itself, each checked
 * in every iteration. Ends when the file `stop` is there. loop_c_program FOLDER [CHECKPOINT_EVERY] */
#include <elastic_loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 103, COLUMNS = 4, ELEMENTS = 1501 };

struct element {
  long long number, visits;
};

struct program {
  elastic_loop* loop;
  const char* folder;
  int step, began_at;
  double* u;
  const elastic_block* rows;
  struct element* elements;
  long long count;
  long long tally, next_tally;
  MPI_Comm duplicate;
};

static int wrong(const char* what) {
  fprintf(stderr, "loop_c_program: %s\n", what);
  return -1;
}

static int there(const struct program* p, const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", p->folder, name);
  return access(path, F_OK) == 0;
}

static long long sum(MPI_Comm comm, long long mine) {
  long long all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_LONG_LONG, MPI_SUM, comm);
  return all;
}

static double weight(const void* element, void* state) {
  (void)state;
  return 1 + (double)((const struct element*)element)->number / ELEMENTS;
}

/* What leavers have goes to the first rank that stays. */
static long long move_tally(MPI_Comm everybody, double capacity, void* state) {
  struct program* p = state;
  int rank = 0, size = 0, heir = 0;
  MPI_Comm_rank(everybody, &rank);
  MPI_Comm_size(everybody, &size);
  const int candidate = capacity > 0 ? rank : size;
  if (MPI_Allreduce(&candidate, &heir, 1, MPI_INT, MPI_MIN, everybody) != MPI_SUCCESS) return -1;
  const long long given = sum(everybody, capacity > 0 ? 0 : p->tally);
  p->next_tally = capacity > 0 ? p->tally + (rank == heir ? given : 0) : 0;
  return capacity > 0 ? 0 : (long long)sizeof p->tally;
}

static void accept_tally(void* state) {
  struct program* p = state;
  p->tally = p->next_tally;
}

static int save_tally(const void** bytes, size_t* length, void* state) {
  struct program* p = state;
  *bytes = &p->tally;
  *length = sizeof p->tally;
  return 1;
}

static int load_tally(MPI_Comm world, int parts, const void* const* bytes, const size_t* lengths,
                      void* state) {
  struct program* p = state;
  (void)world;
  p->next_tally = 0;
  for (int i = 0; i < parts; ++i) {
    long long tally = 0;
    if (lengths[i] != sizeof tally) return 0;
    memcpy(&tally, bytes[i], sizeof tally);
    p->next_tally += tally;
  }
  return 1;
}

static void release(void* state) {
  struct program* p = state;
  if (p->duplicate != MPI_COMM_NULL) MPI_Comm_free(&p->duplicate);
}

static void rebuild(MPI_Comm world, void* state) {
  struct program* p = state;
  MPI_Comm_dup(world, &p->duplicate);
  if (p->step > 0) return;
  for (long long i = 0; i < elastic_block_count(p->rows) * COLUMNS; ++i)
    p->u[i] = 1000 * (double)(elastic_block_first(p->rows) * COLUMNS + i);
}

static int iterate(MPI_Comm world, void* state) {
  struct program* p = state;
  int rank = 0, size = 0, size_then = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  MPI_Comm_size(p->duplicate, &size_then);
  if (size != size_then) return wrong("the duplicate is of another world");
  if (p->began_at < 0) p->began_at = p->step;
  if (sum(world, elastic_block_count(p->rows)) != ROWS) return wrong("rows were lost");
  for (long long i = 0; i < elastic_block_count(p->rows) * COLUMNS; ++i)
    if (p->u[i] != 1000 * (double)(elastic_block_first(p->rows) * COLUMNS + i) + p->step)
      return wrong("a value of the block is wrong");
  if (sum(world, p->count) != ELEMENTS) return wrong("elements were lost");
  for (long long i = 0; i < p->count; ++i)
    if (p->elements[i].visits != p->step || p->elements[i].number != p->elements[0].number + i)
      return wrong("an element is old or out of order");
  if (sum(world, p->tally) != 7) return wrong("the tally was lost or counted twice");
  for (long long i = 0; i < elastic_block_count(p->rows) * COLUMNS; ++i) p->u[i] += 1;
  for (long long i = 0; i < p->count; ++i) ++p->elements[i].visits;
  ++p->step;
  usleep(4000);
  int stop = rank == 0 && there(p, "stop");
  MPI_Bcast(&stop, 1, MPI_INT, 0, world);
  return !stop;
}

int main(int argc, char** argv) {
  struct program p = {.began_at = -1, .duplicate = MPI_COMM_NULL};
  if (elastic_loop_create(&argc, &argv, &p.loop) != MPI_SUCCESS) return 1;
  if (argc < 2) return 2;
  p.folder = argv[1];
  const int joining = elastic_loop_joining(p.loop);
  if (!joining) {
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int first = rank * ELEMENTS / size, end = (rank + 1) * ELEMENTS / size;
    p.count = end - first;
    p.elements = malloc((size_t)p.count * sizeof *p.elements);
    for (int i = first; i < end; ++i) p.elements[i - first] = (struct element){i, 0};
    p.tally = rank == 0 ? 7 : 0;
  }
  if (elastic_loop_replicate(p.loop, &p.step, 0) != MPI_ERR_ARG)
    return wrong("a value of no bytes was taken");
  if (elastic_loop_block(p.loop, (void**)&p.u, MPI_DATATYPE_NULL, ROWS, COLUMNS, &p.rows) != MPI_ERR_ARG)
    return wrong("a block without a type was taken");
  elastic_loop_replicate(p.loop, &p.step, sizeof p.step);
  elastic_loop_block(p.loop, (void**)&p.u, MPI_DOUBLE, ROWS, COLUMNS, &p.rows);
  elastic_loop_sequence(p.loop, (void**)&p.elements, &p.count, sizeof *p.elements, weight, NULL, NULL);
  elastic_loop_data(p.loop, move_tally, accept_tally, save_tally, load_tally, &p);
  elastic_loop_on_release(p.loop, release, &p);
  elastic_loop_on_rebuild(p.loop, rebuild, &p);
  elastic_loop_recoverable(p.loop, 20);
  if (argc > 2) elastic_loop_checkpoint(p.loop, atoll(argv[2]), p.folder);
  elastic_loop_run(p.loop, iterate, &p);
  if (!elastic_loop_left(p.loop)) {
    int rank = 0, size = 0;
    release(&p);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
      printf("finished ranks %d, changes %d, recoveries %d, %s\n", size, elastic_loop_changes(p.loop),
             elastic_loop_recoveries(p.loop),
             elastic_loop_restored(p.loop) && p.began_at > 0 ? "went on" : "began");
  }
  elastic_loop_free(&p.loop);
  free(p.u);
  free(p.elements);
  return 0;
}
