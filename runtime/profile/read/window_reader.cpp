// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile/read/window_reader.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

namespace empi::profile {
namespace {

// The time since `since_ns` (0: nothing is in progress).
std::uint64_t in_progress(std::uint64_t since_ns, std::uint64_t now_ns) {
  return since_ns != 0 && now_ns > since_ns ? now_ns - since_ns : 0;
}

// Hands out what `total` has gained over `handed`, at most `limit`; the rest stays for the next time.
std::uint64_t hand_out(std::uint64_t& handed, std::uint64_t total, std::uint64_t limit) {
  const std::uint64_t gain = total > handed ? std::min(total - handed, limit) : 0;
  handed += gain;
  return gain;
}

std::uint64_t gain(std::uint64_t& seen, std::uint64_t now) { return hand_out(seen, now, UINT64_MAX); }

bool computes(RankPhase phase) {
  return phase == RankPhase::Running || phase == RankPhase::WaitingAtIteration ||
         phase == RankPhase::InWindow;
}

}  // namespace

std::int64_t window_index(std::int64_t wall_ns, std::int64_t width_ns) { return wall_ns / width_ns; }

std::int64_t next_boundary(std::int64_t wall_ns, std::int64_t width_ns) {
  return (wall_ns / width_ns + 1) * width_ns;
}

RankAccount::RankAccount(const Counters& counters, std::uint64_t now_ns) : seen_(counters), at_ns_(now_ns) {
  seen_.mpi_ns += in_progress(counters.in_mpi_since_ns, now_ns);
  seen_.adapt_ns += in_progress(counters.in_adapt_since_ns, now_ns);
  busy_ns_ = counters.tasks.task_ns + in_progress(counters.tasks.in_task_since_ns, now_ns);
}

RankAccount::RankAccount(std::uint64_t start_ns) : at_ns_(start_ns) { seen_.start_ns = start_ns; }

RankWindow RankAccount::advance(const Counters& c, std::uint64_t now_ns, bool member) {
  RankWindow w;
  w.member = member;
  const std::uint64_t passed = now_ns > at_ns_ ? now_ns - at_ns_ : 0;
  // Calls made inside an adaptation window are part of it, so the window is taken out first.
  const std::uint64_t adapt = c.adapt_ns + (member ? in_progress(c.in_adapt_since_ns, now_ns) : 0);
  const std::uint64_t mpi = c.mpi_ns + (member ? in_progress(c.in_mpi_since_ns, now_ns) : 0);
  w.adapt_ns = hand_out(seen_.adapt_ns, adapt, passed);
  w.mpi_ns = hand_out(seen_.mpi_ns, mpi, passed - w.adapt_ns);
  w.mpi_collective_ns = hand_out(seen_.mpi_collective_ns, c.mpi_collective_ns, w.mpi_ns);
  w.elapsed_ns = member ? passed : w.adapt_ns + w.mpi_ns;
  w.useful_ns = w.elapsed_ns - w.adapt_ns - w.mpi_ns;
  w.emulated_ns = hand_out(seen_.emulated_ns, c.emulated_ns, w.useful_ns);
  w.mpi_calls = gain(seen_.mpi_calls, c.mpi_calls);
  w.mpi_bytes = gain(seen_.mpi_bytes, c.mpi_bytes);
  w.iterations = gain(seen_.iterations, c.iterations);
  w.iteration_ns = gain(seen_.iteration_ns, c.iteration_ns);
  w.iteration_s2 = std::max(0.0, c.iteration_s2 - seen_.iteration_s2);
  seen_.iteration_s2 = std::max(seen_.iteration_s2, c.iteration_s2);
  for (std::size_t i = 0; i < c.iteration_buckets.size(); ++i)
    w.iteration_buckets[i] = gain(seen_.iteration_buckets[i], c.iteration_buckets[i]);
  w.work_units = c.work_units - seen_.work_units;
  seen_.work_units = c.work_units;
  w.progress = c.progress;
  w.wish_min = c.wish_min;
  w.wish_max = c.wish_max;
  w.tasks = c.tasks;
  w.tasks.ended = gain(seen_.tasks.ended, c.tasks.ended);
  w.tasks.task_ns = gain(seen_.tasks.task_ns, c.tasks.task_ns);
  w.tasks.task_s2 = std::max(0.0, c.tasks.task_s2 - seen_.tasks.task_s2);
  seen_.tasks.task_s2 = std::max(seen_.tasks.task_s2, c.tasks.task_s2);
  const std::uint64_t busy = c.tasks.task_ns + (member ? in_progress(c.tasks.in_task_since_ns, now_ns) : 0);
  w.busy_ns = hand_out(busy_ns_, busy, passed);
  at_ns_ = std::max(at_ns_, now_ns);
  return w;
}

WindowSample pod_sample(const std::vector<RankWindow>& ranks, std::uint64_t window_ns) {
  WindowSample s;
  for (const RankWindow& r : ranks) {
    const double share =
        r.elapsed_ns > window_ns ? static_cast<double>(window_ns) / static_cast<double>(r.elapsed_ns) : 1.0;
    const auto seconds = [share](std::uint64_t ns) { return static_cast<double>(ns) * 1e-9 * share; };
    if (!r.member) {  // it has left: that took time, too
      s.elapsed_s += seconds(r.adapt_ns);
      s.adapt_s += seconds(r.adapt_ns);
      continue;
    }
    ++s.ranks;
    s.elapsed_s += seconds(r.elapsed_ns);
    s.useful_s += seconds(r.useful_ns);
    s.max_useful_s = std::max(s.max_useful_s, seconds(r.useful_ns));
    s.mpi_s += seconds(r.mpi_ns);
    s.mpi_collective_s += seconds(r.mpi_collective_ns);
    s.adapt_s += seconds(r.adapt_ns);
    s.emulated_s += seconds(r.emulated_ns);
    s.mpi_calls += r.mpi_calls;
    s.mpi_bytes += r.mpi_bytes;
    if (r.iterations > s.iterations) {
      s.iterations = r.iterations;
      s.iteration_s = static_cast<double>(r.iteration_ns) * 1e-9;
      s.iteration_s2 = r.iteration_s2;
    }
    s.work_units += r.work_units;
    s.progress = std::max(s.progress, r.progress);
    s.add_wish(static_cast<int>(r.wish_min), static_cast<int>(r.wish_max));
    s.tasks.add_queue({r.tasks.pattern, r.tasks.phase, r.tasks.total, r.tasks.done, r.tasks.queued});
    s.tasks.ended += r.tasks.ended;
    s.tasks.task_s += static_cast<double>(r.tasks.task_ns) * 1e-9;
    s.tasks.task_s2 += r.tasks.task_s2;
    s.tasks.longest_s = std::max(s.tasks.longest_s, static_cast<double>(r.tasks.longest_ns) * 1e-9);
    s.tasks.busy_s += seconds(r.busy_ns);
  }
  s.pods = s.ranks > 0 ? 1 : 0;
  s.max_pod_useful_s = s.useful_s;
  return s;
}

// False when the page was in the middle of an update and has to be tried again.
bool WindowReader::measure(const std::string& key, const Page& page, std::uint64_t now_ns,
                           std::uint64_t window_ns, bool gone) {
  Counters counters;
  if (!read_counters(page, counters)) return false;
  if (counters.start_ns == 0) return true;  // still in MPI_Init
  auto account = accounts_.find(key);
  const bool restarted = account != accounts_.end() && account->second.start_ns() != counters.start_ns;
  if (restarted) account = (accounts_.erase(account), accounts_.end());
  if (account == accounts_.end()) {
    const bool started_in_window = previous_ns_ != 0 || counters.start_ns + window_ns >= now_ns;
    account =
        accounts_
            .emplace(key, started_in_window ? RankAccount(counters.start_ns) : RankAccount(counters, now_ns))
            .first;
    if (!started_in_window) return true;
  }
  RankWindow w = account->second.advance(counters, now_ns, !gone && computes(page.rank_state.phase));
  w.proc = {std::string(page.nspace, ::strnlen(page.nspace, sizeof page.nspace)), page.rank};
  ranks_.push_back(std::move(w));
  return true;
}

WindowSample WindowReader::read(std::int64_t index, double width_s, std::int64_t epoch,
                                std::uint64_t now_ns) {
  const std::uint64_t window_ns =
      previous_ns_ != 0 ? now_ns - previous_ns_ : static_cast<std::uint64_t>(width_s * 1e9);
  ranks_.clear();
  for (const auto& [key, page] : folder_.refresh()) {  // last figures of ranks whose page has gone
    if (accounts_.contains(key)) measure(key, *page, now_ns, window_ns, true);
    accounts_.erase(key);
  }
  std::vector<std::string> torn;
  for (const auto& [key, page] : folder_.pages())
    if (!measure(key, *page, now_ns, window_ns, false)) torn.push_back(key);
  // A writer that was preempted inside its update wants the processor we are on.
  for (int attempt = 0; attempt < 3 && !torn.empty(); ++attempt) {
    std::this_thread::yield();
    std::erase_if(torn, [&](const std::string& key) {
      return measure(key, *folder_.pages().at(key), now_ns, window_ns, false);
    });
  }
  WindowSample s = pod_sample(ranks_, window_ns);
  s.index = index;
  s.width_s = width_s;
  s.epoch = epoch;
  s.mixed = previous_ns_ != 0 && previous_epoch_ != epoch;
  previous_ns_ = now_ns;
  previous_epoch_ = epoch;
  return s;
}

}  // namespace empi::profile
