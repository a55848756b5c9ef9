// SPDX-License-Identifier: Apache-2.0
// The shared-memory page of one rank: a small file in the pod's run directory that rank, agent and sidecar
// map. No system call and no lock on the rank's side.
//
// Writers: the agent writes `Control`, the rank's main thread writes the rest. Counters are read under a
// sequence lock (`read_counters`).
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace empi {

inline constexpr std::uint64_t kPageMagic = 0x31454741504d45ull;  // "EMPAGE1"

// What the agent tells the rank without a message: the iteration at which to adapt.
// One word, so that it can never be seen half written: (probe count << 2) | ArmState.
enum class ArmState : std::uint64_t { Idle = 0, Armed = 1, Confirmed = 2 };

constexpr std::uint64_t arm_word(std::uint64_t iteration, ArmState state) {
  return iteration << 2 | static_cast<std::uint64_t>(state);
}
constexpr std::uint64_t arm_iteration(std::uint64_t word) { return word >> 2; }
constexpr ArmState arm_state(std::uint64_t word) { return static_cast<ArmState>(word & 3); }

// An iteration that no rank counts to: it adapts at its next probe, whichever that is.
inline constexpr std::uint64_t kNextProbe = 0;

enum class RankPhase : std::uint32_t {
  Starting,
  Running,
  WaitingAtIteration,
  InWindow,
  Lingering,
  Finalizing,
  Finalized
};

// Upper bounds (s) of the buckets that iteration durations are counted in; one more bucket takes the rest.
inline constexpr std::array kIterationBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                0.25,  0.5,    1.0,   2.5,  5.0,   10.0};

// How a program shares out its work, as it said itself (the calls on tasks of elastic_mpi.h).
enum class Pattern : std::uint32_t { Spmd = 0, MasterWorker = 1 };

// Tasks of a master-worker program. The queue is written by the rank that keeps it, the rest by every rank
// that computes tasks; cumulative since MPI_Init except where said.
struct TaskCounters {
  Pattern pattern = Pattern::Spmd;  // MasterWorker while this rank keeps the queue of a phase
  std::uint64_t phase = 0;          // of the program, from 1
  std::uint64_t total = 0;          // tasks of this phase
  std::uint64_t done = 0;           // of these: results have arrived
  std::uint64_t queued = 0;         // of these: not given out; the rest is with the workers
  std::uint64_t ended = 0;          // tasks this rank has computed
  std::uint64_t task_ns = 0;        // sum of their durations
  double task_s2 = 0;               // sum of squared durations (s^2)
  std::uint64_t longest_ns = 0;
  std::uint64_t in_task_since_ns = 0;  // start of the task now in progress, 0 outside
};

// Cumulative since MPI_Init; times in nanoseconds of CLOCK_MONOTONIC.
struct Counters {
  std::uint64_t start_ns = 0;           // end of MPI_Init: nothing before it counts
  std::uint64_t mpi_ns = 0;             // time in MPI calls that have returned
  std::uint64_t mpi_collective_ns = 0;  // of these, in collectives
  std::uint64_t in_mpi_since_ns = 0;    // entry time of the call now in progress, 0 outside MPI
  std::uint64_t mpi_calls = 0;
  std::uint64_t mpi_bytes = 0;    // bytes sent by this rank (payload handed to MPI)
  std::uint64_t emulated_ns = 0;  // of the useful time, slept by the slowdown emulation
  std::uint64_t iterations = 0;
  std::uint64_t iteration_ns = 0;            // sum over iterations
  double iteration_s2 = 0;                   // sum of squared durations (s^2), for confidence intervals
  double work_units = 0;                     // reported by the application
  double progress = 0;                       // 0..1, negative when unknown
  std::uint32_t wish_min = 0, wish_max = 0;  // workers that the program can use now; 0: it has not said
  std::uint64_t adapt_ns =
      0;  // in adaptation windows and waits at the agreed iteration: neither MPI nor useful
  std::uint64_t in_adapt_since_ns = 0;  // entry time of the window or wait now in progress (a joiner waiting
                                        // in begin too), 0 outside: readers see it before it is over
  std::array<std::uint64_t, kIterationBounds.size() + 1> iteration_buckets{};  // iterations by duration
  TaskCounters tasks;
};

// Counts one finished iteration. The writer of the page calls it, so that the figures of iterations agree.
inline void count_iteration(Counters& c, std::uint64_t duration_ns) {
  const double seconds = static_cast<double>(duration_ns) * 1e-9;
  std::size_t bucket = 0;
  while (bucket < kIterationBounds.size() && seconds > kIterationBounds[bucket]) ++bucket;
  ++c.iterations;
  c.iteration_ns += duration_ns;
  c.iteration_s2 += seconds * seconds;
  ++c.iteration_buckets[bucket];
}

// Counts one finished task.
inline void count_task(TaskCounters& c, std::uint64_t duration_ns) {
  const double seconds = static_cast<double>(duration_ns) * 1e-9;
  ++c.ended;
  c.task_ns += duration_ns;
  c.task_s2 += seconds * seconds;
  if (duration_ns > c.longest_ns) c.longest_ns = duration_ns;
}

struct alignas(64) Page {
  std::uint64_t magic = 0;
  std::uint32_t bytes = 0;  // sizeof(Page) of the writer: a mismatch means different builds
  std::int32_t pid = 0;
  char nspace[256] = {};
  std::uint32_t rank = 0;        // within nspace
  std::uint32_t world_rank = 0;  // now; updated at commit
  std::uint32_t world_size = 0;

  struct alignas(64) Control {
    std::atomic<std::uint64_t> armed{0};
    // From the first step of a change to its end: iterations are no measure of undisturbed ones meanwhile.
    std::atomic<bool> changing{false};
  } control;

  struct alignas(64) Rank {
    std::atomic<std::uint64_t> probes{0};  // calls of MPI_Probe_adapt since the last commit
    std::atomic<RankPhase> phase{RankPhase::Starting};
    // Where these calls stand in the program: see probe_marks.hpp. Written before `probes` is.
    std::atomic<bool> joined{false}, aligned{false}, communicated{false};
    std::atomic<std::uint64_t> first{0}, grown_at{0}, grown{0}, calls_at_first{0}, calls_at_second{0};
  } rank_state;

  alignas(64) std::atomic<std::uint64_t> sequence{0};  // odd while counters are being written
  Counters counters;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// A consistent copy of the counters, or false when the writer stayed in the middle of an update
// (it died there, or was preempted): try again later.
bool read_counters(const Page& page, Counters& out);

}  // namespace empi
