// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/watched_receives.hpp"

#include <mpi.h>

#include <cstring>
#include <mutex>
#include <vector>

#include "runtime/rank/failed_requests.hpp"

namespace empi::rank {
namespace {

using Receive = int (*)(void*, std::size_t, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

// Of Open MPI 5.0 (ompi/mca/pml/pml.h): the functions of its message layer, in their order.
constexpr int kReceive = 8;  // pml_irecv

Receive* layer() {
  static Receive* const known = found<Receive*>("mca_pml");
  return known;
}

Receive original = nullptr;
thread_local bool watching = false;
std::mutex mutex;
std::vector<MPI_Request> watched;

int receive(void* to, std::size_t count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
            MPI_Request* request) {
  const int result = original(to, count, type, from, tag, comm, request);
  if (watching && result == MPI_SUCCESS) {
    const std::lock_guard lock(mutex);
    watched.push_back(*request);
  }
  return result;
}

int look_after() {
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) return 0;
  int ended = 0;
  for (const MPI_Request request : watched) ended += failed_requests().end(request) ? 1 : 0;
  return ended;
}

}  // namespace

bool WatchedReceives::possible() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  PMPI_Get_library_version(version, &length);
  return std::strstr(version, "Open MPI v5.0.") && layer() && failed_requests().there();
}

WatchedReceives::WatchedReceives() {
  original = layer()[kReceive];
  layer()[kReceive] = &receive;
  watching = true;
  failed_requests().call_in_progress(&look_after);
}

WatchedReceives::~WatchedReceives() {
  failed_requests().call_no_more(&look_after);
  watching = false;
  layer()[kReceive] = original;
  const std::lock_guard lock(mutex);
  watched.clear();
}

}  // namespace empi::rank
