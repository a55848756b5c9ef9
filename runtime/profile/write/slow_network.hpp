// SPDX-License-Identifier: Apache-2.0
// A network that is slower than the one beneath, emulated by sleeping: pure. By the model of two terms
// (Hockney, Parallel Computing 20 (1994) 389-398) a message of b bytes takes who sends it `delay` + b /
// `rate`, and a collective of P ranks does so in each of its ceil(log2 P) rounds. One message is sent after
// the other, also where MPI would overlap them, and messages within a pod cost the same as those between
// pods.
#pragma once
#include <bit>
#include <cstdint>

#include "runtime/profile/write/owed_sleep.hpp"

namespace empi::profile {

class SlowNetwork {
 public:
  // Microseconds, and 10^6 bits a second (0: as many as there are).
  void set_delay(double us) { delay_ns_ = 1e3 * us; }
  void set_rate(double megabits) { ns_per_byte_ = megabits > 0 ? 8e3 / megabits : 0; }
  bool slows() const { return delay_ns_ > 0 || ns_per_byte_ > 0; }

  void messages(std::uint64_t count, std::uint64_t bytes) {  // of all of them
    sleep_.owe(static_cast<double>(count) * delay_ns_ + static_cast<double>(bytes) * ns_per_byte_);
  }
  void collective(int ranks, std::uint64_t bytes) {  // that this rank hands to MPI
    const auto rounds =
        ranks > 1 ? static_cast<std::uint64_t>(std::bit_width(static_cast<unsigned>(ranks - 1))) : 0;
    messages(rounds, rounds * bytes);
  }

  std::uint64_t due() const { return sleep_.due(); }
  void slept(std::uint64_t ns) { sleep_.slept(ns); }

 private:
  double delay_ns_ = 0, ns_per_byte_ = 0;
  OwedSleep sleep_;
};

}  // namespace empi::profile
