// SPDX-License-Identifier: Apache-2.0
// How a rank waits for messages where others want its processor, too (mpi_yield_when_idle): asleep, until one
// of Open MPI's sockets has something. By itself Open MPI goes from transport to transport for ever and gives
// way after each pass, to ranks that do the same.
//
// Only in calls of the program that may block, and in helper threads that make a world: who looks by himself
// (MPI_Test) computes between two looks. And not at once, for to sleep and be woken takes longer than most
// messages do. A thread sleeps for an eighth of what it has waited for so far, since something came last, and
// for 1 ms at most: of what other ranks of the pod send through memory, and of what another thread of the
// process has received, no socket tells.
#pragma once

namespace empi::rank {

// After MPI_Init, by the thread that called it, once. Does nothing where Open MPI does not yield, where the
// environment chooses one of its own ways (OMPI_MCA_threads_pthreads_yield_strategy), or where this library
// does not see how it looks at its sockets. Local.
void wait_asleep();

}  // namespace empi::rank
