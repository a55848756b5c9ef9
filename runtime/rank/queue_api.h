// SPDX-License-Identifier: Apache-2.0
/* Between elastic::MasterWorker, which is part of the program, and libelastic_mpi, which talks to the agent.
 * Not a public interface. Without an agent all of it does nothing. */
#ifndef EMPI_QUEUE_API_H
#define EMPI_QUEUE_API_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
  MPIX_TASKS_ATTACH = 1, /* become a worker of the queue at `text`, then call MPIX_Tasks_attached */
  MPIX_TASKS_LEAVE = 2,  /* leave, then call MPIX_Tasks_left; text: ids, one a line: who should have the queue
                            next, then all that leave now */
  MPIX_TASKS_LOST = 3,   /* text: the ids of workers that are gone, one a line. An id is nspace/rank */
  MPIX_TASKS_QUEUE_LOST = 5, /* as MPIX_TASKS_LOST; the queue was with one of these. First line: the id of the
                               rank that mirrors it and takes it over */
  MPIX_TASKS_WORLD = 4 /* the world that was to be built is there. text: its name; if not, a line with why */
};

/* Hears what the agent wants, on a thread of the library; must not wait. */
typedef void (*MPIX_Tasks_order)(void* self, int what, const char* text);

/* Before MPI_Init_adapt: this is a master-worker program. Null: no orders any more (none is under way then).
 */
int MPIX_Tasks_declare(MPIX_Tasks_order on_order, void* self);
/* This rank keeps the queue from now on. Any thread. */
int MPIX_Tasks_queue_at(const char* address);
/* That rank mirrors the queue that this one keeps ("": none): it may be lost. After MPIX_Tasks_queue_at. Any
 * thread. */
int MPIX_Tasks_queue_mirrored(const char* id);
/* A joiner is a worker now, or cannot be one (error: why). */
int MPIX_Tasks_attached(const char* error);
/* Begins to build a world of the ranks `ids` (one a line, in their order, this one among them) and gives up
 * one that is being built; MPIX_TASKS_WORLD tells its end. `name`: the same on all of them, and never used
 * before. Does not wait. Any thread. */
int MPIX_Tasks_build_world(const char* name, const char* ids);
/* MPI_COMM_WORLD means the world `name` from now on: all its ranks have built it. */
int MPIX_Tasks_adopt_world(const char* name);
/* This rank has left: MPI_COMM_WORLD means itself alone, MPI_Finalize is to follow. */
int MPIX_Tasks_left(void);
/* The main thread was kept from tasks for so long by a change of the size. */
int MPIX_Tasks_spent_on_changes(long long nanoseconds);
/* Ranks have come or gone: the world of the start is not whole any more, MPI_Finalize must not wait for it.
 */
int MPIX_Tasks_changed(void);

#ifdef __cplusplus
}
#endif
#endif
