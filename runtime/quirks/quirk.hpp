// SPDX-License-Identifier: Apache-2.0
// For the programs that show a quirk of Open MPI by itself (docs/openmpi.md), without our library: a few
// ranks under mpirun, or on pods. Each prints "quirk: there" or "quirk: gone" once; one that crashes or never
// ends has it, too.
#pragma once
// clang-format off: mpi-ext.h wants mpi.h before it
#include <mpi.h>
#include <mpi-ext.h>
// clang-format on
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>

namespace quirk {

inline int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

inline void say(bool there) {
  std::printf("quirk: %s\n", there ? "there" : "gone");
  std::fflush(stdout);
}

// What the program that is named "ours" has to print, when the way that the runtime goes about it holds.
inline void say_ours_holds() {
  std::printf("ours: holds\n");
  std::fflush(stdout);
}

// Lets MPI progress until `done`, or for so long. Returns whether it was done.
template <class Done>
bool progress_until(double seconds, Done done) {
  const double end = MPI_Wtime() + seconds;
  while (!done()) {
    if (MPI_Wtime() > end) return false;
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  }
  return true;
}

inline MPI_Comm duplicate(MPI_Comm comm) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &made);
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

// A call that may never come back, in a thread of its own; what the call uses must outlive it.
class Helper {
 public:
  template <class Call>
  explicit Helper(Call call) {
    std::thread([result = result_, call]() mutable { result->store(call()); }).detach();
  }
  bool back() const { return result_->load() >= 0; }
  int result() const { return result_->load(); }  // of MPI; -1: not back

 private:
  std::shared_ptr<std::atomic<int>> result_ = std::make_shared<std::atomic<int>>(-1);
};

// With fault tolerance and ranks gone, MPI_Finalize may wait for ever.
[[noreturn]] inline void leave(int status = 0) {
  std::fflush(nullptr);
  _exit(status);
}

inline void begin(int* argc, char*** argv) {
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank_of(MPI_COMM_WORLD) == 0) std::printf("begun\n");
  std::fflush(stdout);
}

}  // namespace quirk
