// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/revocation.hpp"

#include <mpi-ext.h>

#include <mutex>
#include <set>

#include "runtime/profile/write/tick_clock.hpp"

namespace empi::rank {

namespace {

struct Begun {
  std::mutex mutex;                    // guards the next one
  std::multiset<std::uint64_t> times;  // ns
  std::mutex sending;                  // held while somebody does
};

// Lives for ever: other threads use it while the process exits.
Begun& begun() {
  static Begun& instance = *new Begun;
  return instance;
}

// An error handler of the program may leave it by an exception.
class Watched {
 public:
  Watched() {
    const std::lock_guard lock(begun().mutex);
    begun().times.insert(since_);
  }
  ~Watched() {
    const std::lock_guard lock(begun().mutex);
    begun().times.erase(begun().times.find(since_));
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  const std::uint64_t since_ = profile::monotonic_ns();
};

}  // namespace

void revoke(std::span<const MPI_Comm> comms) {
  const Watched watched;
  const std::lock_guard lock(begun().sending);
  for (const MPI_Comm comm : comms)
    if (comm != MPI_COMM_NULL) PMPIX_Comm_revoke(comm);
}

std::uint64_t revoking_since_ns() {
  const std::lock_guard lock(begun().mutex);
  return begun().times.empty() ? 0 : *begun().times.begin();
}

}  // namespace empi::rank
