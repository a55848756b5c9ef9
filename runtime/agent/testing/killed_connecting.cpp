// SPDX-License-Identifier: Apache-2.0
// With EMPI_TEST_TRAP=in_connect rank 0 of the joiners is killed while all that connect look for the number
// of the communicator that they get: after the second step of that search, when the others wait for it. In
// place of what Open MPI calls, for nothing else tells when it is there.
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace {
std::atomic<int> steps_left{0};  // until it is killed; below: it is not
}

extern "C" int PMPI_Comm_connect(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made) {
  static const auto real =
      reinterpret_cast<decltype(&PMPI_Comm_connect)>(dlsym(RTLD_NEXT, "PMPI_Comm_connect"));
  const char* trap = std::getenv("EMPI_TEST_TRAP");
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  if (trap && !std::strcmp(trap, "in_connect") && rank == 0) steps_left = 3;
  return real(port, info, root, comm, made);
}

extern "C" int ompi_comm_request_schedule_append(void* request, int (*step)(void*), MPI_Request* begun,
                                                 int count) {
  static const auto real = reinterpret_cast<decltype(&ompi_comm_request_schedule_append)>(
      dlsym(RTLD_NEXT, "ompi_comm_request_schedule_append"));
  if (steps_left.fetch_sub(1) == 1) raise(SIGKILL);
  return real(request, step, begun, count);
}
