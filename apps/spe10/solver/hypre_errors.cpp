// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/solver/hypre_errors.hpp"

#include <elastic_error.hpp>
#include <utility>

namespace spe10 {
namespace {

// hypre is used by one thread of a rank.
bool g_listens = false;
long g_errors = 0;
MPI_Errhandler g_before = MPI_ERRHANDLER_NULL;

void leave_hypre(MPI_Comm* comm, int* code, ...);

// It stays for as long as MPI does: what hypre made may still refer to it.
MPI_Errhandler own_handler() {
  static const MPI_Errhandler made = [] {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    elastic::check_mpi(MPI_Comm_create_errhandler(leave_hypre, &handler), "making an error handler");
    return handler;
  }();
  return made;
}

void leave_hypre(MPI_Comm* comm, int* code, ...) {
  if (!g_listens) return;
  ++g_errors;
  const MPI_Comm here = *comm;
  const int error = *code;
  MPI_Comm_set_errhandler(here, g_before);
  MPI_Comm_call_errhandler(here, error);
  MPI_Comm_set_errhandler(here, own_handler());
  elastic::check_mpi(error, "solving for the pressure");
}

}  // namespace

HypreErrors::HypreErrors(MPI_Comm comm) : comm_(comm) {
  elastic::check_mpi(MPI_Comm_get_errhandler(comm_, &g_before), "asking for the error handler");
  elastic::check_mpi(MPI_Comm_set_errhandler(comm_, own_handler()), "setting the error handler");
  g_listens = true;
}

HypreErrors::~HypreErrors() {
  g_listens = false;
  MPI_Comm_set_errhandler(comm_, g_before);
  MPI_Errhandler_free(&g_before);
}

HypreLife::HypreLife() : born_(g_errors) {}
bool HypreLife::is_whole() const { return born_ == g_errors; }
HypreLife::Destroying::Destroying() : before(std::exchange(g_listens, false)) {}
HypreLife::Destroying::~Destroying() { g_listens = before; }

}  // namespace spe10
