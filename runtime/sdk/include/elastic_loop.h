// SPDX-License-Identifier: Apache-2.0
/* elastic::Loop for programs in C, and in other languages that can call C: an iteration that is called again
 * and again, data that moves itself when the job grows and shrinks, copies to go on from when ranks are lost,
 * and checkpoints. Without it the four calls of elastic_mpi.h are there, with neither.
 *
 *   struct wave { double* u; const elastic_block* rows; int step; } wave = {0};
 *   elastic_loop* loop;
 *   elastic_loop_create(&argc, &argv, &loop);                    // MPI_Init_adapt
 *   elastic_loop_replicate(loop, &wave.step, sizeof wave.step);  // the same on every rank
 *   elastic_loop_block(loop, (void**)&wave.u, MPI_DOUBLE, rows, columns, &wave.rows);
 *   elastic_loop_recoverable(loop, 0);
 *   if (!elastic_loop_joining(loop)) fill(&wave);
 *   elastic_loop_run(loop, iterate, &wave);                      // int iterate(MPI_Comm world, void* wave)
 *   if (!elastic_loop_left(loop)) write_result(&wave);
 *   elastic_loop_free(&loop);                                    // MPI_Finalize
 *
 * Link ElasticMPI::cxx (pkg-config: elastic_mpi_cxx) and the C++ library; with elastic_loop_checkpoint also
 * ElasticMPI::checkpoint. What is collective and what holds in a change, a loss and a restart is said of
 * elastic::Loop (elastic_mpi.hpp), of which each call here is the one with the same name.
 *
 * All functions that return int, but those that ask, return MPI_SUCCESS, or MPI_ERR_ARG with a sentence on
 * stderr. When ranks are lost, the iteration of a program that is recoverable is left from within an MPI
 * call, as by longjmp: what it has allocated for itself is not freed. Its objects must have unwind tables, as
 * compilers make them on x86-64 and arm64 unless they are told not to (-fexceptions makes them everywhere).
 */
#ifndef ELASTIC_LOOP_H
#define ELASTIC_LOOP_H

#include <stddef.h>

#include "elastic_mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct elastic_loop elastic_loop;
typedef struct elastic_block elastic_block;

/* One loop per program. Collective like MPI_Init, and like MPI_Finalize. */
int elastic_loop_create(int* argc, char*** argv, elastic_loop** loop);
int elastic_loop_free(elastic_loop** loop);

/* `bytes` bytes at `value` that are the same on every rank: no pointers. They outlive run. Local. */
int elastic_loop_replicate(elastic_loop* loop, void* value, size_t bytes);

/* A row-block array of `rows` rows of `columns` values of a predefined type for all ranks together. *data is
 * NULL, and becomes this rank's rows, zeros at first: memory of malloc that belongs to the loop and changes
 * its place in every change. Local. */
int elastic_loop_block(elastic_loop* loop, void** data, MPI_Datatype type, long long rows, long long columns,
                       const elastic_block** block);
long long elastic_block_first(const elastic_block* block);
long long elastic_block_count(const elastic_block* block);

/* A distributed sequence of elements without pointers: the concatenation over the ranks keeps its order.
 * *data: memory of malloc, or NULL, that is the loop's from here on, with *count elements of this rank.
 * weight: an element's load, any unit, >= 0 (NULL: 1 each). may_cut: whether a rank's part may begin there
 * (NULL: anywhere). Local. */
int elastic_loop_sequence(elastic_loop* loop, void** data, long long* count, size_t element_bytes,
                          double (*weight)(const void* element, void* state),
                          int (*may_cut)(const void* element, void* state), void* state);

/* Data that moves itself. move: collective over `everybody`; capacity 0: this rank leaves; puts the new data
 * aside and returns the bytes that this rank has sent, or a negative number when it cannot. accept: makes the
 * new data current. For copies and checkpoints: save gives this rank's data as bytes that stay until the next
 * save, and load gets those of some ranks, puts them aside as move does, and is collective over `world`; both
 * return 0 when they cannot. Without those both are NULL. Local. */
int elastic_loop_data(elastic_loop* loop, long long (*move)(MPI_Comm everybody, double capacity, void* state),
                      void (*accept)(void* state),
                      int (*save)(const void** bytes, size_t* length, void* state),
                      int (*load)(MPI_Comm world, int parts, const void* const* bytes, const size_t* lengths,
                                  void* state),
                      void* state);

/* Before data moves: free what was made from the old world. And with each new world: make it again. Local. */
int elastic_loop_on_release(elastic_loop* loop, void (*hook)(void* state), void* state);
int elastic_loop_on_rebuild(elastic_loop* loop, void (*hook)(MPI_Comm world, void* state), void* state);

/* Goes on without ranks that are lost, from copies that are made every so many iterations; 0: as their cost
 * asks for. Local. */
int elastic_loop_recoverable(elastic_loop* loop, long long every);
/* Checkpoints every so many iterations (0: as their cost asks for) in `folder` (NULL: where the job says).
 * Local. */
int elastic_loop_checkpoint(elastic_loop* loop, long long every, const char* folder);
/* Probes after every n-th iteration only. Local. */
int elastic_loop_probe_every(elastic_loop* loop, int iterations);

/* Calls iteration(world, state) until it returns 0 (the last one is done) or this rank has left. It returns 1
 * to go on, and a negative number when it cannot: that ends the job. Collective. */
int elastic_loop_run(elastic_loop* loop, int (*iteration)(MPI_Comm world, void* state), void* state);

/* What is asked of a loop. Local. */
int elastic_loop_joining(const elastic_loop* loop);  /* this process joins a job, and is in no run yet */
int elastic_loop_left(const elastic_loop* loop);     /* it has left the job */
int elastic_loop_restored(const elastic_loop* loop); /* run went on from a checkpoint */
int elastic_loop_recovering(
    const elastic_loop* loop); /* in a hook: for the loss of ranks, and data is set back */
int elastic_loop_recoveries(const elastic_loop* loop); /* losses that this process went on after */
int elastic_loop_changes(const elastic_loop* loop);    /* changes of size that were committed */

#ifdef __cplusplus
}
#endif
#endif
