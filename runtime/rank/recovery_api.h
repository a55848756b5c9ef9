// SPDX-License-Identifier: Apache-2.0
/* Between elastic::Loop, which is part of the program, and libelastic_mpi, which talks to the agent: going on
 * without ranks that are lost (decision R18). Not a public interface. Without an agent nobody is told of a
 * loss, and all of it returns MPI_ERR_OTHER. */
#ifndef EMPI_RECOVERY_API_H
#define EMPI_RECOVERY_API_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Leaves the MPI call or the probe that it is called in, by an exception; one that returns has the job ended.
 */
typedef void (*MPIX_Recovery_stop)(void);
/* From now on `stop` is called on this thread, in an MPI call on the world or on what inherits its error
 * handler and in a probe, when ranks are lost. Local; the thread that initialised MPI. */
int MPIX_Recovery_watch(MPIX_Recovery_stop stop);
/* What a rank has is on another pod, too: from now on the loss of ranks can be borne. Local. */
int MPIX_Recovery_ready(void);
/* After a stop, before anything of the old world is freed: revokes all of it, what the program has made with
 * it, and gives a world of those who are left, as the agents name them, which is not MPI_COMM_WORLD yet;
 * errors on it are returned. Collective over them; waits until all are known. Called again when that world
 * has lost ranks, too. */
int MPIX_Recovery_world(MPI_Comm* world);
/* So many iterations, done before the loss, are done again. Before MPIX_Recovery_adopt. Local. */
int MPIX_Recovery_repeats(long long iterations);
/* All ranks have their data, of `iteration`: MPI_COMM_WORLD means that world. MPI_ERR_OTHER: it has lost
 * ranks, too, and MPIX_Recovery_world is to be called again. Local. */
int MPIX_Recovery_adopt(long long iteration);
/* Waits instead of iterating: what has passed since the last probe, and passes until the next one, is no
 * iteration, and counts as time of changes. Local. */
int MPIX_Recovery_idle(double seconds);
/* This rank cannot go on, and with it the job. Does not return. */
void MPIX_Recovery_failed(const char* error);

#ifdef __cplusplus
}
#endif
#endif
