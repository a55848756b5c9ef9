// SPDX-License-Identifier: Apache-2.0
// Durations of the application's iterations (from probe to probe), and what a change cost them (decision R7).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace empi::rank {

class Iterations {
 public:
  static constexpr std::size_t kBaseline = 128;  // the baseline is the mean of the last so many iterations
  static constexpr std::size_t kFewest = 8;      // with fewer there is no baseline
  static constexpr int kAfterCommit = 5;         // so many iterations after a commit still count as affected

  // A probe at `now` (ns); `undisturbed`: no change is being prepared, so that the iteration may serve as a
  // baseline. Returns the duration of the iteration that it ends, in nanoseconds; nothing for
  // the first one and for one that an adaptation window interrupted, which is no measure of an iteration.
  std::optional<std::uint64_t> probe(std::uint64_t now_ns, bool undisturbed) {
    const std::uint64_t begun = last_;
    last_ = now_ns;
    if (begun == 0) return std::nullopt;
    const std::uint64_t duration = now_ns - begun;
    if (change_ != 0) [[unlikely]]
      account(duration);
    if (interrupted_) [[unlikely]] {
      interrupted_ = false;
      return std::nullopt;
    }
    if (change_ == 0 && undisturbed) {
      recent_[next_] = duration;
      next_ = (next_ + 1) % kBaseline;
      if (known_ < kBaseline) ++known_;
    }
    return duration;
  }

  // The building of a change has begun: from here on time beyond the baseline is lost. `change`: any number
  // but 0 that tells this change from the one before; calling it again for the same change does nothing.
  // Without a baseline (changes that follow each other at once, or soon after the start) only the window
  // counts.
  void change_begins(std::uint64_t change);
  void change_dropped() { change_ = 0; }
  void window_opens() { interrupted_ = true; }
  // The next probes count down to the end of the change's effect; `lost_ms` is there when it is reached.
  // window_ns: how long the window was open.
  void committed(std::uint64_t window_ns) {
    countdown_ = kAfterCommit + 1;  // the interrupted iteration ends with the first of them
    if (!baseline_ns_) lost_ns_ += static_cast<double>(window_ns);
  }
  std::optional<double> lost_ms();
  // For a rank that has no further iterations: what it has lost until now.
  double lost_until(std::uint64_t now_ns) const;

  std::uint64_t change() const { return change_; }

 private:
  void account(std::uint64_t duration_ns);

  std::array<std::uint64_t, kBaseline> recent_{};
  std::size_t next_ = 0, known_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t change_ = 0;
  std::optional<double> baseline_ns_;
  double lost_ns_ = 0;
  int countdown_ = 0;
  bool interrupted_ = false, complete_ = false;
};

}  // namespace empi::rank
