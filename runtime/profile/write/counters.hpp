// SPDX-License-Identifier: Apache-2.0
// Counts what one rank does in MPI and writes it to its shared-memory page.
//
// Only the thread that initialised MPI is measured, and only its outermost calls: what MPI does inside of a
// call (an I/O component that calls MPI again) is part of that call. Below 100 000 calls a second every call
// is timed. Above that, calls that cannot block are sampled: one in k at random distances is timed and stands
// for all since the last one; calls that can block are always timed, but their sums are published at most
// every 10 us. Counts of calls and bytes are always exact.
#pragma once
#include <cstdint>
#include <utility>

#include "runtime/profile/write/slow_core.hpp"
#include "runtime/profile/write/slow_network.hpp"
#include "runtime/profile/write/tick_clock.hpp"
#include "runtime/protocol/page.hpp"

namespace empi::profile {

struct ThreadState {
  bool measured = false;
  int depth = 0;                // MPI calls and adaptation windows this thread is inside of
  bool may_block = false;       // in a WaitScope
  unsigned blocking_calls = 0;  // so far, which is the number of the present one
};
extern thread_local constinit ThreadState thread_state __attribute__((tls_model("initial-exec")));

enum class Blocking : bool { No, Yes };
enum class Collective : bool { No, Yes };

class Counting {
 public:
  // `slowdown`: the rank is to behave as one on a core this many times slower (1: as it is).
  Counting();
  void set_slowdown(double factor);
  SlowNetwork& network() { return network_; }  // as it is, unless it is set

  // Ends of MPI_Init: from here on the calling thread counts into `page`.
  void start(Page& page);
  void stop();
  // A process without an agent counts for itself only.
  Page& page() { return *page_; }
  TickClock& clock() { return clock_; }

  void enter(Blocking blocking) {
    ++calls_;
    if (core_.slows()) [[unlikely]]
      emulate();
    if (blocking == Blocking::No) {
      ++quick_calls_;
      if (--until_sample_ > 0) {
        entered_ = 0;
        return;
      }
    }
    entered_ = clock_.now();
    if (blocking == Blocking::Yes || sampling_ == 1) publish_entry();
  }
  std::uint64_t calls() const { return calls_; }  // so far
  void add_bytes(std::uint64_t bytes) { bytes_ += bytes; }
  // What was handed to MPI, to be paid for within the call.
  void send(std::uint64_t messages, std::uint64_t bytes) {
    network_.messages(messages, bytes);
    wait_for_network();
  }
  void send_to_all(int ranks, std::uint64_t bytes) {
    network_.collective(ranks, bytes);
    wait_for_network();
  }
  void leave(Blocking blocking, Collective collective) {
    if (entered_ != 0) {
      const std::uint64_t now = clock_.now();
      if (blocking == Blocking::Yes && sampling_ > 1 && now - last_publish_ < spacing_ticks_) {
        mpi_ticks_ += now - entered_;
        if (collective == Collective::Yes) collective_ticks_ += now - entered_;
        write([](Counters& c) { c.in_mpi_since_ns = 0; });
      } else {
        record(now, blocking, collective);
      }
    }
    if (core_.slows()) [[unlikely]]
      begin_computing();
  }

  // Entry point that is no MPI call (MPI_Probe_adapt): the emulation takes its due there too.
  void pass() {
    if (core_.slows()) [[unlikely]] {
      emulate();
      begin_computing();
    }
  }
  // The emulation leaves out what was computed since the last exit (an adaptation window).
  void forgive_cpu() {
    if (core_.slows()) begin_computing();
  }

  void add_iteration(double seconds);
  void add_work(double units, double progress);
  void set_wish(std::uint32_t least, std::uint32_t most);
  // Master-worker: the queue as its keeper sees it (pattern, phase, total, done, queued of `queue`).
  void set_queue(const TaskCounters& queue);
  // One task on this thread, from begin to end. A begin within a task starts it anew; an end alone is
  // nothing.
  void begin_task();
  void end_task();
  void begin_adapt();  // a window, or a wait for one, opens now; shown to readers until add_adapt
  void add_adapt(std::uint64_t ns);
  void publish();  // everything counted so far, outside of MPI

 private:
  void emulate();
  void wait_for_network();
  void begin_computing() { core_.begin(thread_cpu_ns(), monotonic_ns()); }
  void record(std::uint64_t now, Blocking blocking, Collective collective);
  void choose_next_sample(std::uint64_t now);
  void publish_entry() {
    write([this](Counters& c) { c.in_mpi_since_ns = clock_.at_ns(entered_); });
  }
  template <class Write>
  void write(Write&& write_counters) {
    const std::uint64_t sequence = page_->sequence.load(std::memory_order_relaxed);
    page_->sequence.store(sequence + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    write_counters(page_->counters);
    page_->sequence.store(sequence + 2, std::memory_order_release);
  }

  Page* page_;
  TickClock clock_;
  std::uint64_t entered_ = 0;  // ticks; 0: this call is not timed
  std::uint64_t calls_ = 0, bytes_ = 0;
  std::uint64_t mpi_ticks_ = 0, collective_ticks_ = 0;
  std::int64_t until_sample_ = 1;    // calls that cannot block, until one is timed
  std::uint64_t sampling_ = 1;       // one in so many is timed
  std::uint64_t quick_calls_ = 0;    // calls that cannot block, since one was timed
  std::uint64_t chosen_at_ = 0;      // ticks: when `sampling_` was chosen,
  std::uint64_t chosen_calls_ = 0;   // and calls_ then
  std::uint64_t last_publish_ = 0;   // ticks
  std::uint64_t spacing_ticks_ = 0;  // 10 us
  std::uint64_t random_ = 0x9E3779B97F4A7C15ull;
  SlowCore core_;
  SlowNetwork network_;
};

extern Counting* const counting_instance;  // never destroyed: threads may call MPI while the process exits
inline Counting& counting() { return *counting_instance; }

// Within, this thread may have to wait for other ranks, or does not. Of any thread, measured or not.
class WaitScope {
 public:
  explicit WaitScope(Blocking blocking)
      : outer_(std::exchange(thread_state.may_block, blocking == Blocking::Yes)) {
    if (blocking == Blocking::Yes) ++thread_state.blocking_calls;
  }
  ~WaitScope() { thread_state.may_block = outer_; }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

 private:
  bool outer_;
};

// One MPI call. Constructed in the generated wrapper of that call.
class CallScope {
 public:
  CallScope(Blocking blocking, Collective collective)
      : waiting_(blocking), blocking_(blocking), collective_(collective) {
    if (!thread_state.measured) return;
    counted_ = true;
    outermost_ = thread_state.depth++ == 0;
    if (outermost_) counting().enter(blocking_);
  }
  ~CallScope() {
    if (!counted_) return;
    --thread_state.depth;
    if (outermost_) counting().leave(blocking_, collective_);
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  bool outermost() const { return outermost_; }

 private:
  WaitScope waiting_;
  Blocking blocking_;
  Collective collective_;
  bool counted_ = false, outermost_ = false;
};

}  // namespace empi::profile
