// SPDX-License-Identifier: Apache-2.0
// Revoking communicators, watched: where a process of one is lost Open MPI may never come back from it,
// whichever thread calls, and the others then do not come back from MPI either (quirk revoke-threads). So the
// control thread does not call, unless it has to, nobody calls with a mutex held that it takes, and it ends a
// process that is caught (Rank::check_revoking).
#pragma once
#include <mpi.h>

#include <cstdint>
#include <span>

namespace empi::rank {

// Of each that is not MPI_COMM_NULL. From any thread, one at a time: whoever comes back knows that all has
// been sent. Local.
void revoke(std::span<const MPI_Comm> comms);
inline void revoke(MPI_Comm comm) { revoke({&comm, 1}); }

// When the oldest call of revoke() that has not come back began (profile::monotonic_ns); 0: there is none.
std::uint64_t revoking_since_ns();

}  // namespace empi::rank
