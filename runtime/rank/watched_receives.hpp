// SPDX-License-Identifier: Apache-2.0
// Receives that Open MPI posts for itself while it makes a communicator. When the rank that is to send is
// lost nobody looks: those of its collectives are looked after, these are not (quirk unwatched-receives), and
// the call never comes back.
#pragma once

namespace empi::rank {

// While it lives, receives that this thread posts below MPI end with an error when their sender is lost, or
// their communicator revoked. One at a time in a process.
class WatchedReceives {
 public:
  static bool possible();  // with this Open MPI
  WatchedReceives();
  ~WatchedReceives();
  WatchedReceives(const WatchedReceives&) = delete;
  WatchedReceives& operator=(const WatchedReceives&) = delete;
};

}  // namespace empi::rank
