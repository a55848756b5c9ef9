// SPDX-License-Identifier: Apache-2.0
// What this rank has communicated since the last commit, as far as it tells where in the program a probe
// stands (decision R2', runtime/protocol/probe_marks.hpp). Only the outermost calls of the thread that
// initialised MPI are noted: the generated wrappers ask.
#pragma once
#include <mpi.h>

#include <cstdint>

namespace empi::rank {

class WorldCalls {
 public:
  // From a start or a commit on, in a world of `size` ranks.
  void begin(int size) {
    size_ = size;
    collectives_ = 0;
    communicated_ = false;
  }
  // Until the next commit nobody asks any more, and nothing is counted.
  void end() { size_ = kNotNoted; }
  // A collective call over `comm`. It counts when all ranks of the world take part: in it, too, nobody gets
  // past the others, whichever communicator the program has made for itself or a library.
  void collective(MPI_Comm comm) {
    if (size_ == kNotNoted) return;
    int size = 0;
    if (comm != MPI_COMM_NULL) PMPI_Comm_size(comm, &size);
    communicated_ = size != size_;
    if (size == size_) ++collectives_;
  }
  // Any other communication.
  void other() { communicated_ = true; }

  std::uint64_t collectives() const { return collectives_; }
  bool communicated() const { return communicated_; }  // otherwise, since the last of these

 private:
  static constexpr int kNotNoted = -1;  // before the first world, too: rigid programs never probe

  int size_ = kNotNoted;
  std::uint64_t collectives_ = 0;
  bool communicated_ = false;
};

inline WorldCalls world_calls;  // of the thread that initialised MPI

}  // namespace empi::rank
