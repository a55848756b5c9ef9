// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/solver/hypre_errors.hpp"

#include <elastic_error.hpp>
#include <utility>

namespace spe10 {
namespace {

// hypre is used by one thread of a rank.
bool g_throws = false;
long g_errors = 0;

void throw_error(MPI_Comm*, int* code, ...) {
  if (!g_throws) return;
  ++g_errors;
  elastic::check_mpi(*code, "solving for the pressure");
}

// It stays for as long as MPI does: what hypre made may still refer to it.
MPI_Errhandler thrower() {
  static const MPI_Errhandler made = [] {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    elastic::check_mpi(MPI_Comm_create_errhandler(throw_error, &handler), "making an error handler");
    return handler;
  }();
  return made;
}

}  // namespace

HypreErrors::HypreErrors(MPI_Comm comm) : comm_(comm) {
  elastic::check_mpi(MPI_Comm_get_errhandler(comm_, &before_), "asking for the error handler");
  elastic::check_mpi(MPI_Comm_set_errhandler(comm_, thrower()), "setting the error handler");
  g_throws = true;
}

HypreErrors::~HypreErrors() {
  g_throws = false;
  MPI_Comm_set_errhandler(comm_, before_);
  MPI_Errhandler_free(&before_);
}

HypreLife::HypreLife() : born_(g_errors) {}
bool HypreLife::is_whole() const { return born_ == g_errors; }
HypreLife::Destroying::Destroying() : before(std::exchange(g_throws, false)) {}
HypreLife::Destroying::~Destroying() { g_throws = before; }

}  // namespace spe10
