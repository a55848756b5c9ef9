// SPDX-License-Identifier: Apache-2.0
// hypre does not look at what MPI returns. Where a rank is lost it goes on with what was never received, and
// a rank that was to survive crashes in it. So what MPI reports is thrown through hypre, whose stack frames
// can be unwound as all of Debian's can; and what hypre was working on is left as it is: messages may still
// be under way to it.
#pragma once
#include <mpi.h>

namespace spe10 {

/// While one exists, an MPI error in hypre's calls on `comm`, or on what hypre made from it, throws
/// elastic::Error. Local.
class HypreErrors {
 public:
  explicit HypreErrors(MPI_Comm comm);
  ~HypreErrors();
  HypreErrors(const HypreErrors&) = delete;
  HypreErrors& operator=(const HypreErrors&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

/// Beside an object of hypre's: calls `destroy` unless an error was thrown through hypre since it was made.
/// Local.
class HypreLife {
 public:
  HypreLife();
  template <class Destroy>
  void end(Destroy destroy) const {
    if (!is_whole()) return;
    const Destroying no_exceptions;
    destroy();
  }

 private:
  struct Destroying {  // errors of what is freed are nobody's
    Destroying();
    ~Destroying();
    bool before;
  };
  bool is_whole() const;
  long born_;
};

}  // namespace spe10
