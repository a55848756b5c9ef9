// SPDX-License-Identifier: Apache-2.0
// What a thread that waits in MPI does after a pass of Open MPI's through its transports in which none of
// them told of anything.
#pragma once
#include <algorithm>
#include <chrono>
#include <utility>

namespace empi::rank {

class Pause {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;
  static constexpr Duration kYield{0}, kNone{-1};
  // How long it yields before it sleeps, and how long it sleeps at a time.
  static constexpr Duration kAwake{200'000}, kShortest{50'000}, kLongest{1'000'000};

  // How long it may sleep (less, when a socket has something), kYield, or kNone when it is to look at once.
  // It has made `passes` since the pause before, and sockets have had `news`; `call` is the one in which it
  // waits, by any number of its own. An eighth of what it has waited for, since something came last: what no
  // socket tells of is late by no more than that.
  Duration after(unsigned passes, bool news, unsigned call, Time now) {
    if (passes == 0) return kYield;  // Open MPI waits for a lock
    // In a pass that does not end in a pause something came, through memory.
    const bool came = news || passes > 1;
    if (std::exchange(call_, call) != call || came) since_ = now;
    if (news) return kNone;  // perhaps what it waits for
    const Duration waited = now - since_;
    return waited < kAwake ? kYield : std::clamp(waited / 8, kShortest, kLongest);
  }

 private:
  unsigned call_ = 0;
  Time since_;
};

}  // namespace empi::rank
