// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/sample.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace empi {

void TaskSample::add_queue(const TaskQueue& other) {
  const auto key = [](const TaskQueue& q) { return std::tuple(q.pattern, q.phase, q.done, q.total); };
  if (key(other) > key(queue)) queue = other;
}

void WindowSample::add_wish(int least, int most) {
  if (most <= 0) return;
  wish_min = std::max(wish_min, least);
  wish_max = wish_max > 0 ? std::min(wish_max, most) : most;
}

void merge(WindowSample& into, const WindowSample& other) {
  into.mixed = into.mixed || other.mixed || into.epoch != other.epoch;
  into.epoch = std::max(into.epoch, other.epoch);
  into.ranks += other.ranks;
  into.pods += other.pods;
  into.elapsed_s += other.elapsed_s;
  into.useful_s += other.useful_s;
  into.max_useful_s = std::max(into.max_useful_s, other.max_useful_s);
  into.max_pod_useful_s = std::max(into.max_pod_useful_s, other.max_pod_useful_s);
  into.mpi_s += other.mpi_s;
  into.mpi_collective_s += other.mpi_collective_s;
  into.adapt_s += other.adapt_s;
  into.emulated_s += other.emulated_s;
  into.mpi_calls += other.mpi_calls;
  into.mpi_bytes += other.mpi_bytes;
  if (other.iterations > into.iterations) {
    into.iterations = other.iterations;
    into.iteration_s = other.iteration_s;
    into.iteration_s2 = other.iteration_s2;
  }
  into.work_units += other.work_units;
  into.progress = std::max(into.progress, other.progress);
  into.add_wish(other.wish_min, other.wish_max);
  into.tasks.add_queue(other.tasks.queue);
  into.tasks.ended += other.tasks.ended;
  into.tasks.task_s += other.tasks.task_s;
  into.tasks.task_s2 += other.tasks.task_s2;
  into.tasks.longest_s = std::max(into.tasks.longest_s, other.tasks.longest_s);
  into.tasks.busy_s += other.tasks.busy_s;
}

TaskEfficiency task_efficiency(const WindowSample& s) {
  TaskEfficiency e;
  const double measured = s.elapsed_s - s.adapt_s;
  if (!s.master_worker() || s.ranks <= 0 || measured <= 0) return e;
  e.known = true;
  const auto n = static_cast<double>(s.tasks.ended);
  if (n > 0) e.mean_s = s.tasks.task_s / n;
  if (n > 1) e.deviation_s = std::sqrt(std::max(0.0, (s.tasks.task_s2 - n * e.mean_s * e.mean_s) / (n - 1)));
  e.idle_s = std::max(0.0, measured - s.tasks.busy_s);
  e.idle_share = e.idle_s / measured;
  return e;
}

Efficiency efficiency(const WindowSample& s) {
  Efficiency e;
  const double measured = s.elapsed_s - s.adapt_s;  // a resize is no property of the size
  if (s.ranks <= 0 || measured <= 0 || s.useful_s <= 0 || s.max_useful_s <= 0) return e;
  e.known = true;
  e.parallel = std::min(1.0, s.useful_s / measured);
  e.load_balance = s.useful_s / (s.ranks * s.max_useful_s);
  if (s.pods > 0 && s.max_pod_useful_s > 0) {
    e.load_balance_out = s.useful_s / (s.max_pod_useful_s * s.pods);
    e.load_balance_in = e.load_balance / e.load_balance_out;
  }
  e.communication = std::min(1.0, e.parallel / e.load_balance);
  e.mtct = 1 / e.parallel - 1;
  e.wait_s = std::max(0.0, std::min(s.ranks * s.max_useful_s - s.useful_s, s.mpi_s));
  e.transfer_s = std::max(0.0, s.mpi_s - e.wait_s);
  return e;
}

double relative_half_width(const std::vector<WindowSample>& windows) {
  double n = 0, sum = 0, squares = 0;
  for (const WindowSample& w : windows) {
    n += static_cast<double>(w.iterations);
    sum += w.iteration_s;
    squares += w.iteration_s2;
  }
  if (n < 3 || sum <= 0) return 1;
  const double mean = sum / n;
  const double variance = std::max(0.0, (squares - n * mean * mean) / (n - 1));
  return 1.96 * std::sqrt(variance / n) / mean;
}

}  // namespace empi
