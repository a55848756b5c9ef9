// SPDX-License-Identifier: Apache-2.0
// Requests that Open MPI makes for itself. When the rank that they wait for is lost it looks after those of
// its collectives, and no others (quirk unwatched-receives).
#pragma once
#include <mpi.h>

#include "runtime/rank/found.hpp"

namespace empi::rank {

struct FailedRequests {
  // Ends the request with an error when that is due, and says whether it did. Open MPI keeps requests that
  // have ended for the next ones, so that none is a pointer to nowhere.
  bool (*end)(MPI_Request) = found<bool (*)(MPI_Request)>("ompi_request_is_failed_fn");
  // Calls back whenever some thread is in MPI.
  int (*call_in_progress)(int (*)()) = found<int (*)(int (*)())>("opal_progress_register");
  int (*call_no_more)(int (*)()) = found<int (*)(int (*)())>("opal_progress_unregister");

  bool there() const { return end && call_in_progress && call_no_more; }
};

inline const FailedRequests& failed_requests() {
  static const FailedRequests known;
  return known;
}

}  // namespace empi::rank
