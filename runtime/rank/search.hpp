// SPDX-License-Identifier: Apache-2.0
// What Open MPI does to make a communicator of an intercommunicator, or one that joins two worlds, a search
// for a number first, so that it can be called off: where a rank is lost it is begun anew, or waits, for ever
// (quirk cid-retries).
#pragma once
#include <mpi.h>

namespace empi::rank {

// With an Open MPI that does not call what search.cpp stands before nothing is called off.
class Search {
 public:
  Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // While it lives, those for what is made of `from` are these, in whichever thread.
  class Here {
   public:
    Here(Search& search, MPI_Comm from);
    ~Here();
    Here(const Here&) = delete;
    Here& operator=(const Here&) = delete;

   private:
    Search& search_;
  };

  // From any thread. It fails when it has what it waits for, which the caller revokes, and so do all that
  // come after it. The number that it tries stays taken.
  void call_off();

 private:
  friend struct Searches;

  MPI_Comm from_ = MPI_COMM_NULL;
  const void* request_ = nullptr;    // of Open MPI, while it is under way
  const void* waits_for_ = nullptr;  // what its ranks exchange: another request of Open MPI
  bool called_off_ = false;
};

}  // namespace empi::rank
