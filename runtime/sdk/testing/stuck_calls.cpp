// SPDX-License-Identifier: Apache-2.0
// Calls of MPI that never come back, as Open MPI has them where a process is lost (docs/openmpi.md), or in
// which a process is lost. Part of a program that is linked before libmpi.
//   EMPI_TEST_STUCK_REVOCATION: "RANK program" or "RANK order": in that process of the job's first world
//     revoking never comes back, in the program's thread or in another one
//   EMPI_TEST_NEVER_CONNECTS: whoever joins does not come to the old world
//   EMPI_TEST_DIES_IN: "split": the process dies there before it looks for a number; "merge": while all look
//     for one; "activate": in the merge, once all have found one
//   EMPI_TEST_TELL_ACCEPTS: FOLDER, where the file all-accept is made when all ranks have come to await
//     those that join
#include <dlfcn.h>
#include <elastic_mpi.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
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

thread_local std::string dies_in;
std::atomic<bool> searches = false, exchanges = false;

// A call in which this process may have to die.
class DiesIn {
 public:
  explicit DiesIn(const char* call) {
    const char* told = std::getenv("EMPI_TEST_DIES_IN");
    if (told && std::string(told) == call) dies_in = call;
  }
  ~DiesIn() { dies_in.clear(); }
};

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

extern "C" int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  static auto* const real =
      reinterpret_cast<int (*)(MPI_Comm, int, int, MPI_Comm*)>(dlsym(RTLD_NEXT, "PMPI_Comm_split"));
  const DiesIn here("split");
  return real(comm, color, key, made);
}

extern "C" int PMPI_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm* made) {
  static auto* const real =
      reinterpret_cast<int (*)(MPI_Comm, int, MPI_Comm*)>(dlsym(RTLD_NEXT, "PMPI_Intercomm_merge"));
  const DiesIn here("merge");
  const DiesIn there("activate");
  return real(comm, high, made);
}

// Open MPI's own: begins a search for a number.
extern "C" int ompi_comm_nextcid_nb(void* made, void* of, void* bridge, const void* first, const void* second,
                                    bool send_first, int mode, void** request) {
  using Call = int (*)(void*, void*, void*, const void*, const void*, bool, int, void**);
  static auto* const real = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "ompi_comm_nextcid_nb"));
  if (dies_in == "split") raise(SIGKILL);
  searches = dies_in == "merge";
  return real(made, of, bridge, first, second, send_first, mode, request);
}

// Open MPI's own: begins what comes after it.
extern "C" int ompi_comm_activate_nb(void* made, void* of, void* bridge, const void* first,
                                     const void* second, bool send_first, int mode, void** request) {
  using Call = int (*)(void*, void*, void*, const void*, const void*, bool, int, void**);
  static auto* const real = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "ompi_comm_activate_nb"));
  if (dies_in == "activate") raise(SIGKILL);
  return real(made, of, bridge, first, second, send_first, mode, request);
}

// Says what a search does next, in whichever thread lets MPI progress. Once the sides of an intercommunicator
// have exchanged something all ranks of both are in the search.
extern "C" int ompi_comm_request_schedule_append(void* request, int (*next)(void*), void** begun, int count) {
  using Call = int (*)(void*, int (*)(void*), void**, int);
  static auto* const real = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "ompi_comm_request_schedule_append"));
  if (searches && exchanges.exchange(count == 2)) raise(SIGKILL);
  return real(request, next, begun, count);
}
