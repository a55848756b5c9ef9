// SPDX-License-Identifier: Apache-2.0
// Quirk connect-waits: between the exchange of who takes part and the first message MPI_Comm_accept calls
// PMIx_Connect, which waits for the other side for good, also when that has been told that nobody will come
// and the port is closed. Two ranks. `ours`: both are in one world already, so PMIx_Connect is left out.
#include <dlfcn.h>

#include <cstring>

#include "runtime/quirks/quirk.hpp"

namespace {

enum class Connect { Asks, Fails, IsLeftOut };
std::atomic<Connect> g_connect{Connect::Asks};

}  // namespace

// In place of libpmix's.
extern "C" int PMIx_Connect(const void* procs, std::size_t proc_count, const void* infos,
                            std::size_t info_count) {
  using Function = int (*)(const void*, std::size_t, const void*, std::size_t);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "PMIx_Connect"));
  if (g_connect == Connect::Fails) return -24;  // PMIX_ERR_TIMEOUT
  return g_connect == Connect::IsLeftOut ? 0 : real(procs, proc_count, infos, info_count);
}

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const bool ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  const int rank = quirk::rank_of(MPI_COMM_WORLD);
  if (ours) g_connect = Connect::IsLeftOut;
  if (!ours && rank == 1) g_connect = Connect::Fails;
  static char port[MPI_MAX_PORT_NAME];
  static MPI_Comm inter = MPI_COMM_NULL;
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const quirk::Helper helper([rank] {
    return rank == 0 ? MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter)
                     : MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
  });
  const auto back = [&] { return helper.back(); };
  const bool came = quirk::progress_until(ours ? 15 : 1.5, back);
  if (rank == 0 && !ours) {
    MPI_Close_port(port);
    quirk::say(!came && !quirk::progress_until(1, back));
  }
  if (ours && came && helper.result() == MPI_SUCCESS) {
    MPI_Comm both = MPI_COMM_NULL;
    int one = 1, sum = 0;
    MPI_Intercomm_merge(inter, rank, &both);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, both);
    if (rank == 0 && sum == 2) quirk::say_ours_holds();
  }
  MPI_Barrier(MPI_COMM_WORLD);  // nobody has gone before all have seen what they were to see
  quirk::leave();
}
