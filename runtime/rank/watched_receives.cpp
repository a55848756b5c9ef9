// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/watched_receives.hpp"

#include <mpi.h>

#include <cstring>
#include <mutex>
#include <vector>

#include "runtime/rank/found.hpp"

namespace empi::rank {
namespace {

using Receive = int (*)(void*, std::size_t, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

// Of Open MPI 5.0 (ompi/mca/pml/pml.h): the functions of its message layer, in their order.
constexpr int kReceive = 8;  // pml_irecv

struct OpenMpi {
  Receive* layer = found<Receive*>("mca_pml");
  // Ends the request with an error when that is due, and says whether it did.
  bool (*is_failed)(MPI_Request) = found<bool (*)(MPI_Request)>("ompi_request_is_failed_fn");
  int (*call_in_progress)(int (*)()) = found<int (*)(int (*)())>("opal_progress_register");
  int (*call_no_more)(int (*)()) = found<int (*)(int (*)())>("opal_progress_unregister");
};

const OpenMpi& open_mpi() {
  static const OpenMpi known;
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

// Open MPI keeps requests that have ended for the next one, so that none is a pointer to nowhere.
int look_after() {
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) return 0;
  int ended = 0;
  for (const MPI_Request request : watched) ended += open_mpi().is_failed(request) ? 1 : 0;
  return ended;
}

}  // namespace

bool WatchedReceives::possible() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  PMPI_Get_library_version(version, &length);
  const OpenMpi& mpi = open_mpi();
  return std::strstr(version, "Open MPI v5.0.") && mpi.layer && mpi.is_failed && mpi.call_in_progress &&
         mpi.call_no_more;
}

WatchedReceives::WatchedReceives() {
  original = open_mpi().layer[kReceive];
  open_mpi().layer[kReceive] = &receive;
  watching = true;
  open_mpi().call_in_progress(&look_after);
}

WatchedReceives::~WatchedReceives() {
  open_mpi().call_no_more(&look_after);
  watching = false;
  open_mpi().layer[kReceive] = original;
  const std::lock_guard lock(mutex);
  watched.clear();
}

}  // namespace empi::rank
