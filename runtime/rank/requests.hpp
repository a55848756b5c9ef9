// SPDX-License-Identifier: Apache-2.0
// Requests that the program has made on its world and not ended. They keep the world they were made on: one
// that is started or completed after a commit would meet the ranks of the old world, and not an error. So a
// commit refuses them. Threads: all of it, from any.
#pragma once
#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/rank/world.hpp"

namespace empi::rank {

class WorldRequests {
 public:
  // Of a malleable program only: others pay one load per call.
  void watch() { watched_.store(true, std::memory_order_release); }

  // `comm` has made `request` by the MPI call `by`; nothing is kept of other communicators than the world.
  void made(MPI_Comm comm, MPI_Request request, const char* by) {
    if (watched_.load(std::memory_order_acquire) && comm == current_world()) keep(request, by);
  }
  // Those that a change must not leave behind, with how many of each: "2 persistent requests of
  // MPI_Recv_init". One that has completed, and was only not asked for, is none. Local.
  std::vector<std::string> live();
  // The world that they were made on has lost a process (R18): nobody completes them.
  void forget();

  // Around a call that may end requests: those that it makes null.
  class Ending {
   public:
    Ending(int count, MPI_Request* requests);
    ~Ending();
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;

   private:
    struct Watched {
      MPI_Request handle;
      std::uint64_t number;
    };
    MPI_Request* requests_;
    int count_ = 0;
    Watched one_{};              // if there is but one,
    std::vector<Watched> many_;  // else; number 0: not watched
  };

 private:
  // An entry of the hash table; handle null: free.
  struct Entry {
    MPI_Request handle = nullptr;
    const char* by = nullptr;
    std::uint64_t number = 0;  // another thread may end a request whose handle comes again at once
  };
  void keep(MPI_Request request, const char* by);
  void end(MPI_Request request, std::uint64_t number);
  std::uint64_t number_of(MPI_Request request) const;
  // All with mutex_ held.
  std::size_t place_of(MPI_Request request) const;
  void grow();

  std::atomic<bool> watched_{false};
  std::atomic<std::size_t> kept_{0};
  mutable std::mutex mutex_;
  std::vector<Entry> table_;
  std::uint64_t last_number_ = 0;
};

WorldRequests& world_requests();

}  // namespace empi::rank
