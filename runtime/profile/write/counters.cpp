// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile/write/counters.hpp"

#include <algorithm>
#include <utility>

namespace empi::profile {

thread_local constinit ThreadState thread_state{};

namespace {

Page unshared_page;  // for a process without an agent

void sleep_for(std::uint64_t ns) {
  const timespec length{static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
  nanosleep(&length, nullptr);
}

}  // namespace

Counting* const counting_instance = new Counting;

Counting::Counting() : page_(&unshared_page) {}

void Counting::set_slowdown(double factor) { core_.set_factor(factor); }

void Counting::start(Page& page) {
  clock_.anchor();
  page_ = &page;
  spacing_ticks_ = 10000 * 1000 / std::max<std::uint64_t>(1, clock_.to_ns(1000));
  chosen_at_ = last_publish_ = clock_.now();
  calls_ = bytes_ = mpi_ticks_ = collective_ticks_ = quick_calls_ = chosen_calls_ = 0;
  write([&](Counters& c) {
    c = Counters{};
    c.start_ns = monotonic_ns();
    c.progress = -1;
  });
  begin_computing();
  thread_state.measured = true;
  thread_state.depth = 0;
}

void Counting::stop() {
  publish();
  thread_state.measured = false;
}

void Counting::publish() {
  write([&](Counters& c) {
    // The rate is measured ever better: never step back.
    c.mpi_ns = std::max(c.mpi_ns, clock_.to_ns(mpi_ticks_));
    c.mpi_collective_ns = std::max(c.mpi_collective_ns, clock_.to_ns(collective_ticks_));
    c.in_mpi_since_ns = 0;
    c.mpi_calls = calls_;
    c.mpi_bytes = bytes_;
  });
}

void Counting::record(std::uint64_t now, Blocking blocking, Collective collective) {
  std::uint64_t spent = now - entered_;
  if (blocking == Blocking::No) {
    // Stands for all since the last timed one, but never for more time than there was.
    if (quick_calls_ > 1) spent = std::min(spent * quick_calls_, now - chosen_at_);
    quick_calls_ = 0;
  }
  mpi_ticks_ += spent;
  if (collective == Collective::Yes) collective_ticks_ += spent;
  choose_next_sample(now);
  if (clock_.anchor_age(now) > 1000000000u) clock_.anchor();
  publish();
  last_publish_ = now;
}

// Aims at 100 000 timed calls a second. Distances are random, so that a loop's rhythm is not sampled in step.
void Counting::choose_next_sample(std::uint64_t now) {
  const std::uint64_t calls = std::max<std::uint64_t>(1, calls_ - chosen_calls_);
  const std::uint64_t per_call = std::max<std::uint64_t>(1, (now - chosen_at_) / calls);
  chosen_at_ = now;
  chosen_calls_ = calls_;
  const std::uint64_t wanted = std::clamp<std::uint64_t>((spacing_ticks_ + per_call - 1) / per_call, 1, 64);
  // Smoothed, except for the way back to timing every call.
  sampling_ = wanted == 1 ? 1 : std::max<std::uint64_t>(2, (3 * sampling_ + wanted) / 4);
  if (sampling_ == 1) {
    until_sample_ = 1;
    return;
  }
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  until_sample_ = 1 + static_cast<std::int64_t>((random_ >> 32) * (2 * sampling_ - 1) >> 32);
}

// The sleep is useful time.
void Counting::emulate() {
  const std::uint64_t before = monotonic_ns();
  const std::uint64_t due = core_.due(thread_cpu_ns(), before);
  if (due == 0) return;
  sleep_for(due);
  const std::uint64_t slept = monotonic_ns() - before;
  core_.slept(slept);
  write([&](Counters& c) { c.emulated_ns += slept; });
}

// The sleep is time in MPI, also where that of this call is not taken.
void Counting::wait_for_network() {
  const std::uint64_t due = network_.due();
  if (due == 0) return;
  const std::uint64_t before = clock_.now();
  sleep_for(due);
  const std::uint64_t slept = clock_.now() - before;
  network_.slept(clock_.to_ns(slept));
  if (entered_ == 0) mpi_ticks_ += slept;
}

void Counting::add_iteration(double seconds) {
  write([&](Counters& c) { count_iteration(c, static_cast<std::uint64_t>(seconds * 1e9)); });
}

void Counting::add_work(double units, double progress) {
  publish();
  write([&](Counters& c) {
    c.work_units += units;
    c.progress = progress;
  });
}

void Counting::set_wish(std::uint32_t least, std::uint32_t most) {
  write([&](Counters& c) {
    c.wish_min = least;
    c.wish_max = most;
  });
}

void Counting::set_queue(const TaskCounters& queue) {
  write([&](Counters& c) {
    c.tasks.pattern = queue.pattern;
    c.tasks.phase = queue.phase;
    c.tasks.total = queue.total;
    c.tasks.done = queue.done;
    c.tasks.queued = queue.queued;
  });
}

void Counting::begin_task() {
  write([](Counters& c) { c.tasks.in_task_since_ns = monotonic_ns(); });
}

void Counting::end_task() {
  write([](Counters& c) {
    const std::uint64_t since = std::exchange(c.tasks.in_task_since_ns, 0);
    const std::uint64_t now = monotonic_ns();
    if (since != 0 && now >= since) count_task(c.tasks, now - since);
  });
}

void Counting::begin_adapt() {
  write([](Counters& c) { c.in_adapt_since_ns = monotonic_ns(); });
}

void Counting::add_adapt(std::uint64_t ns) {
  write([&](Counters& c) {
    c.adapt_ns += ns;
    c.in_adapt_since_ns = 0;
  });
}

}  // namespace empi::profile
