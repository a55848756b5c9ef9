// SPDX-License-Identifier: Apache-2.0
// hypre does not look at what MPI returns: where a rank is lost it would go on with what was never received.
// What MPI reports has to leave it by an exception, that of the loop or of elastic::Error, through stack
// frames that can be unwound as all of Debian's can. What hypre was making then is half made: it is left as
// it is, for freeing it crashes, and messages may still be under way to it.
#pragma once
#include <mpi.h>

namespace spe10 {

/// While one exists, an MPI error in hypre's calls on `comm`, or on what hypre made from it, is noted for
/// HypreLife, given to the error handler that comm had, and thrown as elastic::Error where that returns.
/// Local.
class HypreErrors {
 public:
  explicit HypreErrors(MPI_Comm comm);
  ~HypreErrors();
  HypreErrors(const HypreErrors&) = delete;
  HypreErrors& operator=(const HypreErrors&) = delete;

 private:
  MPI_Comm comm_;
};

/// Beside an object of hypre's: calls `destroy` unless an error has come out of hypre since it was made.
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
