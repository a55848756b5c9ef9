// SPDX-License-Identifier: Apache-2.0
// The threads that this library starts in a program that is not ours.
#pragma once
#include <atomic>
#include <functional>

namespace empi::rank {

// Threads of one kind. They are detached: one may hang in MPI for ever, which must not keep the program from
// its end.
class Threads {
 public:
  // `name` (at most 15 characters) is what debuggers show. Throws std::system_error when there is no thread
  // to have.
  void start(const char* name, std::function<void()> work);

  // Whether all have ended, but for what the C++ library itself does at a thread's end. One that works on
  // while the process exits uses objects that are destroyed already.
  bool all_ended() const { return running_.load(std::memory_order_acquire) == 0; }

 private:
  std::atomic<int> running_{0};
};

}  // namespace empi::rank
