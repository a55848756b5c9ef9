// SPDX-License-Identifier: Apache-2.0
// PMIx_Connect, which Open MPI calls in MPI_Comm_accept and MPI_Comm_connect between the exchange of who
// takes part and the first message. It waits for all of them, has no name by which the agents could tell one
// try from the next, and so cannot be called off (quirk connect-waits). What it is for, that everybody has
// the addresses of everybody, ranks have that were in one world before.
#pragma once

namespace empi::rank {

// While it lives, PMIx_Connect comes back at once on this thread.
class Acquainted {
 public:
  explicit Acquainted(bool they_are);
  ~Acquainted();
  Acquainted(const Acquainted&) = delete;
  Acquainted& operator=(const Acquainted&) = delete;
};

}  // namespace empi::rank
