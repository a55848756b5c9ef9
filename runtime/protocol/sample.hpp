// SPDX-License-Identifier: Apache-2.0
// Measurements of one window of time: mergeable over ranks and pods, and the efficiencies derived from them.
// Definitions: POP / DLB-TALP efficiencies (PE = LB x CommE), seed 000's MTCT = TMT / (TLT - TMT) = 1/PE - 1.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/protocol/page.hpp"

namespace empi {

// The queue of a master-worker program at the end of the window, as the rank that keeps it says.
struct TaskQueue {
  Pattern pattern = Pattern::Spmd;
  std::uint64_t phase = 0, total = 0, done = 0, queued = 0;
};

// Tasks of a master-worker program.
struct TaskSample {
  TaskQueue queue;
  std::uint64_t ended = 0;  // tasks that ended in the window, over all ranks
  double task_s = 0;        // sum of their durations,
  double task_s2 = 0;       // of the squares of these,
  double longest_s = 0;     // and the longest since the start of the program
  double busy_s = 0;        // sum over ranks of the time of the window spent in tasks

  // Of two ranks that say they keep the queue (it is being handed over) the one further on is right.
  void add_queue(const TaskQueue& other);
};

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
  // Workers that the program says it can use (MPIX_Wish_adapt): largest minimum and smallest maximum of its
  // ranks at the end of the window; 0 when none has said so.
  int wish_min = 0, wish_max = 0;
  TaskSample tasks;

  void add_wish(int least, int most);
  bool master_worker() const { return tasks.queue.pattern == Pattern::MasterWorker; }
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

// How the ranks of a master-worker program were used.
struct TaskEfficiency {
  bool known = false;      // a phase is running, and ranks were measured
  double mean_s = 0;       // of the tasks that ended in the window, 0 when none did
  double deviation_s = 0;  // standard deviation of their durations, 0 below two tasks
  double idle_s = 0;       // sum over ranks: outside of tasks and of changes
  double idle_share = 0;   // of the measured time
};
TaskEfficiency task_efficiency(const WindowSample& sample);

// Half-width of the 95 % confidence interval of the mean iteration time over its mean, over some windows;
// 1 when there are too few iterations to tell.
double relative_half_width(const std::vector<WindowSample>& windows);

}  // namespace empi
