// SPDX-License-Identifier: Apache-2.0
/* Elastic MPI: MPI programs whose set of ranks changes while they run.
 *
 * The four calls of the thesis "Elastic MPI" (seed 000, section 3.2; names, constants and parameters as
 * there). Link libelastic_mpi before libmpi. Run without an agent, a program simply never adapts.
 *
 *   int status, adapt, staying, leaving, joining;
 *   MPI_Init_adapt(&argc, &argv, &status);
 *   if (status == MPI_ADAPT_STATUS_JOINING) adapt_window();          // data arrives, then fall into the loop
 *   while (!done) {
 *     step(MPI_COMM_WORLD);
 *     MPI_Probe_adapt(&adapt, &status, NULL);                        // or at the top of the loop
 *     if (adapt == MPI_ADAPT_TRUE) { adapt_window(); if (status == MPI_ADAPT_STATUS_LEAVING) break; }
 *   }
 *   MPI_Finalize();
 *
 *   void adapt_window(void) {
 *     MPI_Comm inter, next;
 *     MPI_Comm_adapt_begin(&inter, &next, &staying, &leaving, &joining);
 *     ... move data to its new owners ...
 *     MPI_Comm_adapt_commit();   // from here MPI_COMM_WORLD means the new world
 *   }
 *
 * After a commit MPI_COMM_WORLD means the current world in every MPI call: libraries that keep it go on
 * working. Objects made from the old world (duplicates, windows, files, requests) stay on the old world: free
 * or complete them before the commit and make them again after it. The commit rolls back, and names them,
 * while there are communicators, windows or files that contain a rank which leaves, or requests on
 * MPI_COMM_WORLD that are persistent (MPI_Send_init, MPI_Allreduce_init, ...) or have not completed.
 *
 * Probe, begin, commit and progress are called on the thread that initialised MPI; elsewhere they return
 * MPI_ERR_OTHER and do nothing. A program whose MPI calls do not pass through libelastic_mpi (linked behind
 * libmpi, a preloaded tool, parts in Fortran) is not made malleable: MPI_Init_adapt says why on stderr, and
 * it runs with the ranks it has.
 */
#ifndef ELASTIC_MPI_H
#define ELASTIC_MPI_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  MPI_ADAPT_STATUS_NEW = 0,     /* started with the job */
  MPI_ADAPT_STATUS_JOINING = 1, /* started by an expansion; not part of the world before its first commit */
  MPI_ADAPT_STATUS_STAYING = 2, /* remains after the pending change */
  MPI_ADAPT_STATUS_LEAVING = 3  /* leaves with the pending change */
};
enum { MPI_ADAPT_FALSE = 0, MPI_ADAPT_TRUE = 1 };

/* Initialises MPI (at MPI_THREAD_MULTIPLE) and makes the process malleable. Collective like MPI_Init.
 * proc_status: MPI_ADAPT_STATUS_NEW or MPI_ADAPT_STATUS_JOINING. */
int MPI_Init_adapt(int* argc, char*** argv, int* proc_status);

/* Asks whether to adapt now. Collective over the world: every rank calls it the same number of times between
 * commits, and all get the same flag in the same call. It may stand anywhere in the loop, and need not be
 * called in every iteration: the library tells by the collective calls that the ranks make over the whole
 * world (without such calls: by whether they communicate at all) which calls of joiners and of the others are
 * the same one. A change before that can be told waits, and is given up with the reason ProbesDoNotMatch when
 * the ranks do not probe at the same places. Does not communicate; with nothing pending it reads shared
 * memory only. To a leaver that calls it after its commit it does not return: it finalises, and the process
 * exits with status 0 (exit handlers run). A rank that was told to adapt and probes again, or finalises,
 * before it has called MPI_Comm_adapt_begin withdraws the change. In a job with spec.runtime.probe: Root (a
 * master-worker program) it is not collective: rank 0 is asked, and the others, which rank 0 tells to probe
 * then, learn the same. proc_status: STAYING (also with nothing pending, JOINING never) or LEAVING. info: may
 * be NULL; else receives an MPI_Info to be freed by the caller with keys "change", "staying", "leaving",
 * "joining" when adapt_flag is MPI_ADAPT_TRUE, and MPI_INFO_NULL otherwise.
 */
int MPI_Probe_adapt(int* adapt_flag, int* proc_status, MPI_Info* info);

/* Opens the adaptation window. Collective over stayers, leavers and joiners; joiners call it right after
 * MPI_Init_adapt and may wait in it: until rank 0 of the old world has called it, so that they may read what
 * that rank wrote to a file before.
 * intercomm: (stayers + leavers) | joiners; MPI_COMM_NULL when nobody joins.
 * new_comm_world: the next world; MPI_COMM_NULL on leavers.
 * Both are freed by the commit. Errors on them are returned, not fatal. */
int MPI_Comm_adapt_begin(MPI_Comm* intercomm, MPI_Comm* new_comm_world, int* staying_count,
                         int* leaving_count, int* joining_count);

/* Agrees on the outcome and ends the window. Collective over stayers, leavers and joiners.
 * MPI_SUCCESS: MPI_COMM_WORLD means the new world; leavers go on alone until they call MPI_Finalize or probe.
 * An error of class MPIX_ERR_ADAPT_ROLLED_BACK: a rank aborted or a joiner was lost; the old world holds
 * and nothing of it was touched. (Joiners do not return from a rolled back commit: they are dismissed.) */
int MPI_Comm_adapt_commit(void);

/* --- beyond the thesis --- */

/* Error class of a commit that was rolled back. Valid after MPI_Init_adapt. */
extern int MPIX_ERR_ADAPT_ROLLED_BACK;

/* After a joiner's commit: its first MPI_Probe_adapt is the same call as the others' first one since then.
 * Only needed in programs whose ranks do not communicate between two probes, where the library cannot tell.
 * Local. */
int MPIX_Probe_adapt_aligned(void);

/* The intracommunicator of stayers, leavers and joiners, in this order: old ranks keep their numbers,
 * joiners follow. Valid between begin and commit; not to be freed. Local. */
int MPIX_Comm_adapt_union(MPI_Comm* union_comm);

/* Declares that this rank cannot go on with the change (out of memory, say): every pending operation on the
 * window's communicators fails everywhere and the commit, which must still be called, rolls back. Local. */
int MPIX_Comm_adapt_abort(void);

/* Reports how much data this rank moved in the window (for summaries and cost models). Local. */
int MPIX_Comm_adapt_moved(double milliseconds, long long bytes);

/* Reports work done since the last call (any unit, for example cells updated) and progress in 0..1 (negative:
 * unknown). Local, no communication; works in rigid programs too. */
int MPIX_Progress_adapt(double work_units, double progress);

/* Says what became of a checkpoint (elastic::Loop does it); it is shown in the job's status. error: NULL when
 * it is whole, else why there is none. seconds: taken to write it. Local. */
int MPIX_Checkpoint_adapt(long long number, long long iteration, long long bytes, double seconds,
                          const char* error);

/* Says that the program goes on from a checkpoint. path: its file. Local. */
int MPIX_Checkpoint_restored_adapt(long long iteration, const char* path);

/* Narrows the range of workers that the program can use from now on (the invade and retreat of seed 001,
 * without waiting): fewer than the manifest allows when there is little to do, all of them later. What is not
 * within minReplicas and maxReplicas is cut off; 0, 0 takes it back. In a queue `max_workers` bounds what the
 * job asks for, and it is not taken below `min_workers`, as far as it has so many, for who comes later.
 * The size follows within some windows, by ordinary changes. Say the same on every rank, joiners too; where
 * they differ the largest minimum and the smallest maximum count. Local, no communication; some 100 ns; on
 * the thread that initialised MPI (MPI_ERR_OTHER elsewhere). MPI_ERR_ARG unless 1 <= min_workers <=
 * max_workers. */
int MPIX_Wish_adapt(int min_workers, int max_workers);

/* --- what a master-worker program says of itself (elastic::MasterWorker does it for you) ---
 * All three are local, without communication, cost some 100 ns, work in rigid programs too, and are called on
 * the thread that initialised MPI (MPI_ERR_OTHER elsewhere, or before MPI_Init). */

/* The queue, by the rank that keeps it, whenever it changes. phase: counts the phases of the program from 1.
 * total: tasks of this phase. done: results that have arrived. queued: tasks not given out yet; the rest,
 * total - done - queued, is with the workers. total 0: no phase is running (an SPMD part, the end).
 * MPI_ERR_ARG for a negative number or done + queued > total. */
int MPIX_Task_queue_adapt(long long phase, long long total, long long done, long long queued);

/* Around each task, by every rank that computes tasks: gives their mean time and spread, and what is outside
 * of tasks while a phase runs counts as idle. A begin within a task starts it anew, an end alone is ignored.
 */
int MPIX_Task_begin_adapt(void);
int MPIX_Task_end_adapt(void);

#ifdef __cplusplus
}
#endif
#endif
