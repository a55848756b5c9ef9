// Measurements of one window of time: mergeable over ranks and pods, and the efficiencies derived from them.
// Definitions: POP / DLB-TALP efficiencies (PE = LB x CommE), seed 000's MTCT = TMT / (TLT - TMT) = 1/PE - 1.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace empi {

// Sums and maxima over the ranks seen so far. All pods cut time at the same multiples of the width (wall
// clock), so that partials of one index belong together.
struct WindowSample {
  std::int64_t index = 0;  // floor(wall-clock end / width)
  double width_s = 0;      // length of the window
  std::int64_t epoch = 0;  // membership during the window; windows that saw a commit are marked mixed
  bool mixed = false;
  int ranks = 0;
  int pods = 0;
  double elapsed_s = 0;     // sum over ranks of measured time (a rank that started late has less than width)
  double useful_s = 0;      // sum over ranks: measured time - MPI - adaptation
  double max_useful_s = 0;  // largest of one rank
  double max_pod_useful_s = 0;  // largest of one pod (sum over its ranks)
  double mpi_s = 0;             // sum over ranks
  double mpi_collective_s = 0;  // of these in collectives
  double adapt_s = 0;           // sum over ranks: windows of changes and waits before them
  double emulated_s = 0;
  std::uint64_t mpi_calls = 0;
  std::uint64_t mpi_bytes = 0;
  std::uint64_t iterations = 0;  // of the rank with most
  double iteration_s = 0;        // sum of the durations of that rank's iterations
  double iteration_s2 = 0;       // sum of their squares
  double work_units = 0;         // sum over ranks
  double progress = -1;          // largest reported, negative when unknown
};

// Adds the ranks of `other` (same index and width) to `into`.
void merge(WindowSample& into, const WindowSample& other);

struct Efficiency {
  bool known = false;           // false when no rank was measured
  double parallel = 0;          // PE = sum U / (E N)
  double load_balance = 0;      // LB = sum U / (N max U)
  double load_balance_in = 0;   // within pods
  double load_balance_out = 0;  // between pods
  double communication = 0;     // CommE = max U / E
  double mtct = 0;              // 1/PE - 1
  double wait_s = 0;            // sum over ranks of max U - U: waiting for the slowest (decision R9)
  double transfer_s = 0;        // time in MPI beyond that
};
Efficiency efficiency(const WindowSample& sample);

// Half-width of the 95 % confidence interval of the mean iteration time over its mean, over some windows;
// 1 when there are too few iterations to tell.
double relative_half_width(const std::vector<WindowSample>& windows);

}  // namespace empi
