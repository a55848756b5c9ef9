// SPDX-License-Identifier: Apache-2.0
// Calls of MPI that never come back, as Open MPI has them where a process is lost (docs/openmpi.md). Part of
// a program that is linked before libmpi.
//   EMPI_TEST_STUCK_REVOCATION: "RANK program" or "RANK order": in that process of the job's first world
//     revoking never comes back, in the program's thread or in another one
//   EMPI_TEST_NEVER_CONNECTS: whoever joins does not come to the old world
//   EMPI_TEST_TELL_ACCEPTS: FOLDER, where the file all-accept is made when all ranks have come to await
//     those that join
#include <dlfcn.h>
#include <elastic_mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

// clang-format off: needs mpi.h before it
#include <mpi-ext.h>
// clang-format on

namespace {

[[noreturn]] void never_come_back() {
  for (;;) pause();
}

bool is_stuck_here() {
  const char* told = std::getenv("EMPI_TEST_STUCK_REVOCATION");
  const char* status = std::getenv("EMPI_STATUS");
  const char* rank = std::getenv("PMIX_RANK");
  if (!told || !rank || (status && std::string(status) == "joining")) return false;
  return told == std::string(rank) + (gettid() == getpid() ? " program" : " order");
}

}  // namespace

extern "C" int PMPIX_Comm_revoke(MPI_Comm comm) {
  static auto* const real = reinterpret_cast<int (*)(MPI_Comm)>(dlsym(RTLD_NEXT, "PMPIX_Comm_revoke"));
  if (is_stuck_here()) never_come_back();
  return real(comm);
}

extern "C" int PMPI_Comm_connect(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made) {
  using Call = int (*)(const char*, MPI_Info, int, MPI_Comm, MPI_Comm*);
  static auto* const real = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "PMPI_Comm_connect"));
  if (std::getenv("EMPI_TEST_NEVER_CONNECTS")) never_come_back();
  return real(port, info, root, comm, made);
}

extern "C" int PMPI_Comm_accept(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made) {
  using Call = int (*)(const char*, MPI_Info, int, MPI_Comm, MPI_Comm*);
  static auto* const real = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "PMPI_Comm_accept"));
  if (const char* folder = std::getenv("EMPI_TEST_TELL_ACCEPTS")) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Barrier(comm);
    if (rank == 0) std::ofstream(std::string(folder) + "/all-accept") << "\n";
  }
  return real(port, info, root, comm, made);
}
