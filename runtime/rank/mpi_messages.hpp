// SPDX-License-Identifier: Apache-2.0
// What Open MPI's libraries say by themselves, apart from what the program prints.
#pragma once

namespace empi::rank {

// libevent, by which Open MPI waits for its sockets, writes to stderr when one was closed under it, as
// happens when a change is rolled back (quirk closed-sockets): from now on to where the agent has Open MPI's
// own messages go. Does nothing without an agent.
void keep_libevent_apart();

}  // namespace empi::rank
