// SPDX-License-Identifier: Apache-2.0
// One pod's measurements, window by window, from the pages of its ranks.
//
// All pods cut time at the same multiples of the width (wall clock), so that their partials can be merged:
//
//   WindowReader reader(run_dir);
//   for (;;) {
//     sleep until next_boundary(wall_ns(), width_ns);
//     WindowSample s = reader.read(window_index(wall_ns(), width_ns), width_ns * 1e-9, epoch,
//     monotonic_ns());
//   }
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/clocks.hpp"
#include "runtime/profile/read/pages.hpp"
#include "runtime/protocol/ids.hpp"
#include "runtime/protocol/page.hpp"
#include "runtime/protocol/sample.hpp"

namespace empi::profile {

// Index of the window that ends at `wall_ns` (nanoseconds since 1970), and the end of the one it lies in.
std::int64_t window_index(std::int64_t wall_ns, std::int64_t width_ns);
std::int64_t next_boundary(std::int64_t wall_ns, std::int64_t width_ns);

// What one rank did between two reads. elapsed = useful + mpi + adapt. Times in nanoseconds.
struct RankWindow {
  ProcId proc;
  bool member = true;  // false: it only left its last figures (finalised, lingering or gone), useful is 0
  std::uint64_t elapsed_ns = 0, useful_ns = 0, mpi_ns = 0, mpi_collective_ns = 0, adapt_ns = 0,
                emulated_ns = 0;
  std::uint64_t mpi_calls = 0, mpi_bytes = 0;
  std::uint64_t iterations = 0, iteration_ns = 0;
  double iteration_s2 = 0;
  std::array<std::uint64_t, kIterationBounds.size() + 1> iteration_buckets{};
  double work_units = 0;
  double progress = -1;
  std::uint32_t wish_min = 0, wish_max = 0;  // as it is now; 0: not said
  TaskCounters tasks;                        // the queue as it is now; the rest: of this window
  std::uint64_t busy_ns = 0;                 // in tasks, also in the one in progress
};

// What has been handed out of a rank's counters so far. Time that a page shows late (a call or a change in
// progress) is carried over, so that sums over windows are right and no window has negative time.
class RankAccount {
 public:
  // Counts from `counters` at `now_ns` on ...
  RankAccount(const Counters& counters, std::uint64_t now_ns);
  // ... or from the end of MPI_Init.
  explicit RankAccount(std::uint64_t start_ns);

  std::uint64_t start_ns() const { return seen_.start_ns; }
  // The figures since the previous call. For a rank that is no member any more `member` is false: the time
  // outside MPI is then not known and left out.
  RankWindow advance(const Counters& counters, std::uint64_t now_ns, bool member);

 private:
  Counters seen_;              // times in it: what has been handed out
  std::uint64_t busy_ns_ = 0;  // handed out
  std::uint64_t at_ns_ = 0;
};

// The pod's partial. A rank that was unreadable for some windows counts with its rates over that time,
// `window_ns` long.
WindowSample pod_sample(const std::vector<RankWindow>& ranks, std::uint64_t window_ns);

class WindowReader {
 public:
  explicit WindowReader(std::filesystem::path run_dir) : folder_(std::move(run_dir)) {}

  // The pod's partial of the window that ends now: what its ranks did since the previous read. Ranks that
  // started meanwhile count from the end of their MPI_Init; on the first read older ranks only get their
  // starting point. A page that is in the middle of an update for long is left to the next read.
  // `epoch`: the membership now; the sample is marked mixed when the previous read had another.
  WindowSample read(std::int64_t index, double width_s, std::int64_t epoch, std::uint64_t now_ns);

  // The ranks of the last read, for series per rank and for sums over the life of the pod.
  const std::vector<RankWindow>& ranks() const { return ranks_; }

 private:
  bool measure(const std::string& key, const Page& page, std::uint64_t now_ns, std::uint64_t window_ns,
               bool gone);

  PageFolder folder_;
  std::map<std::string, RankAccount> accounts_;
  std::vector<RankWindow> ranks_;
  std::uint64_t previous_ns_ = 0;  // 0: no read yet
  std::int64_t previous_epoch_ = 0;
};

}  // namespace empi::profile
