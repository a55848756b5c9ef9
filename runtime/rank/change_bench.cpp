// SPDX-License-Identifier: Apache-2.0
// ./dev bench pause|grow|shrink [RANKS...]: what a change of the membership costs, without data.
// ./dev bench change-real [RANKS CHANGES]: that a large job on this machine goes through them, and how soon.
// ./dev bench change-rss [CHANGES]: what a rank keeps of each.
//
// A job of four equal pods (RANKS ranks) gives one pod back and takes a new one, again and again, while all
// ranks iterate. Figures are over the changes; times are the ones the agents report
// (runtime/protocol/change.hpp).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/protocol/names.hpp"

namespace {

using empi::ChangeStatus;
using empi::ChangeTimes;
using empi::Member;
using empi::WindowSample;
using empi::testing::LocalPods;

constexpr int kPods = 4;
constexpr std::chrono::milliseconds kDeadline{150'000};  // of a change

struct Job {
  int ranks = 0, cycles = 0;  // a cycle: a shrink and a grow
  double cpu_us = 0, slowdown = 1;
  // Between two changes: the next one needs a baseline of 128 quiet iterations, if its cost is to be told.
  std::uint64_t iterations = 140;
};

struct Measured {
  double floor_ms = 0;  // three plain allreduces of the same ranks
  std::vector<ChangeTimes> grows, shrinks;
  std::vector<ChangeTimes> all() const {
    std::vector<ChangeTimes> both = grows;
    both.insert(both.end(), shrinks.begin(), shrinks.end());
    return both;
  }
};

// Linear interpolation between order statistics.
double quantile(const std::vector<ChangeTimes>& changes, double ChangeTimes::* figure, double q) {
  std::vector<double> values;
  for (const ChangeTimes& t : changes) values.push_back(t.*figure);
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

int cycles(int ranks) { return ranks <= 16 ? 10 : ranks <= 32 ? 6 : 4; }

// Waits until the ranks have iterated this often, so that they know how long an iteration takes.
void settle(LocalPods& pods, int ranks, std::uint64_t iterations) {
  const auto newest = [](const std::vector<WindowSample>& windows) {
    return windows.empty() ? 0 : windows.back().index;
  };
  const std::int64_t since = newest(pods.samples());
  pods.wait_until("the job has iterated " + std::to_string(iterations) + " times", [&] {
    std::uint64_t seen = 0;
    for (const WindowSample& w : pods.samples())
      if (w.index > since && w.ranks == ranks) seen += w.iterations;
    return seen >= iterations;
  });
}

// The change again, with what it cost the ranks: they report that five iterations after the commit. A change
// that cost nothing is told from a report that is late by waiting for a bounded time.
ChangeStatus with_cost(LocalPods& pods, const std::string& id) {
  ChangeStatus s = pods.wait_for_change(id);
  for (int i = 0; i < 40 && s.times.lost_ms == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    s = pods.wait_for_change(id);
  }
  return s;
}

// As rank 0 says it before its first iteration.
double floor_of(LocalPods& pods) {
  const std::string log = pods.all_logs(), word = "floor ";
  const auto at = log.find(word);
  if (at == log.npos) throw std::runtime_error("the job has not said what three allreduces take:\n" + log);
  return std::strtod(log.c_str() + at + word.size(), nullptr);
}

Measured measure(const Job& job) {
  LocalPods pods;
  pods.command = {empi::testing::beside("bench_iterate"), std::to_string(job.cpu_us)};
  pods.slots = job.ranks / kPods;
  pods.patience = std::chrono::seconds(180);
  pods.environment[empi::names::kSlowdown] = std::to_string(job.slowdown);
  pods.environment[empi::names::kWindowMillis] = "250";
  pods.start(pods.launch(kPods));
  settle(pods, job.ranks, std::min<std::uint64_t>(job.iterations, 50));
  Measured measured;
  measured.floor_ms = floor_of(pods);
  const auto take = [&](std::vector<ChangeTimes>& into, const ChangeStatus& ended) {
    if (ended.outcome != empi::ChangeOutcome::Committed)
      throw std::runtime_error("change " + ended.request.id + ": " + std::string(to_string(ended.outcome)) +
                               ", " + ended.reason);
    settle(pods, ended.to_ranks, job.iterations);
    into.push_back(with_cost(pods, ended.request.id).times);
    const ChangeTimes& t = into.back();
    std::fprintf(
        stderr,
        "  %2d -> %2d ranks: prepare %.0f build %.0f arm %.1f wait %.2f pause %.2f drain %.0f lost %.0f ms\n",
        ended.from_ranks, ended.to_ranks, t.prepare_ms, t.build_ms, t.arm_ms, t.wait_ms, t.pause_ms,
        t.drain_ms, t.lost_ms);
  };
  for (int i = 0; i < job.cycles; ++i) {
    const std::vector<Member> members = pods.membership().membership.members;
    // Every position leaves in turn, the lead's too.
    take(measured.shrinks, pods.change({.remove = {members.at(static_cast<std::size_t>(i % kPods)).uid},
                                        .deadline = kDeadline}));
    take(measured.grows, pods.change({.add = pods.launch(1), .deadline = kDeadline}));
  }
  return measured;
}

void print(const std::string& figure, double milliseconds) {
  std::printf("bench %s %.2f ms\n", figure.c_str(), milliseconds);
  std::fflush(stdout);
}

// Both kinds apart, too: nothing starts before a shrink that could disturb its baseline.
void print_lost(const std::string& which, const Measured& measured) {
  print("pause.lost." + which, quantile(measured.all(), &ChangeTimes::lost_ms, .5));
  print("pause.lost." + which + ".grow", quantile(measured.grows, &ChangeTimes::lost_ms, .5));
  print("pause.lost." + which + ".shrink", quantile(measured.shrinks, &ChangeTimes::lost_ms, .5));
}

void pause(int ranks) {
  std::fprintf(stderr, "%d ranks that only communicate, oversubscribed:\n", ranks);
  const Measured measured = measure({.ranks = ranks, .cycles = cycles(ranks)});
  const auto changes = measured.all();
  const std::string n = "." + std::to_string(ranks);
  print("pause.p50" + n, quantile(changes, &ChangeTimes::pause_ms, .5));
  print("pause.p95" + n, quantile(changes, &ChangeTimes::pause_ms, .95));
  print("pause.floor" + n, measured.floor_ms);
  print("pause.background" + n, quantile(changes, &ChangeTimes::build_ms, .5));
  if (ranks == 16 || ranks == 64) print_lost(std::to_string(ranks), measured);
  if (ranks != 16) return;
  std::fprintf(stderr,
               "16 emulated slow ranks that compute 1 ms of CPU time, 16 ms of theirs, an iteration:\n");
  print_lost("emulated16", measure({.ranks = 16, .cycles = cycles(16), .cpu_us = 1000, .slowdown = 16}));
}

void phases(const std::string& kind, int ranks) {
  std::fprintf(stderr, "%d ranks that only communicate, oversubscribed; medians:\n", ranks);
  const Measured measured = measure({.ranks = ranks, .cycles = cycles(ranks)});
  const auto& changes = kind == "grow" ? measured.grows : measured.shrinks;
  print(kind + ".prepare", quantile(changes, &ChangeTimes::prepare_ms, .5));
  print(kind + ".build", quantile(changes, &ChangeTimes::build_ms, .5));
  print(kind + ".arm", quantile(changes, &ChangeTimes::arm_ms, .5));
  print(kind + ".wait", quantile(changes, &ChangeTimes::wait_ms, .5));
  print(kind + ".pause", quantile(changes, &ChangeTimes::pause_ms, .5));
  print(kind + ".drain", quantile(changes, &ChangeTimes::drain_ms, .5));
}

void real(int ranks, int changes) {
  std::fprintf(stderr, "%d ranks that only communicate, oversubscribed, through %d changes:\n", ranks,
               changes);
  const auto begin = std::chrono::steady_clock::now();
  const Measured measured = measure({.ranks = ranks, .cycles = changes / 2, .iterations = 10});
  const std::string n = "change-real." + std::to_string(ranks);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("bench %s.committed %zu changes\n", n.c_str(), measured.all().size());
  std::printf("bench %s.seconds %.1f s\n", n.c_str(), seconds);
  print(n + ".pause", quantile(measured.all(), &ChangeTimes::pause_ms, .5));
}

double resident_kib(const std::vector<pid_t>& processes) {
  double sum = 0;
  for (const pid_t pid : processes) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmRSS:")) sum += std::strtod(line.c_str() + 6, nullptr);
  }
  if (sum == 0) throw std::runtime_error("the ranks that stay are not found");
  return sum;
}

// Of the ranks that stay throughout; what the first changes allocate once is no matter of the later ones.
void rss(int changes) {
  constexpr int kFirst = 20, kSlots = 2;
  LocalPods pods;
  pods.command = {empi::testing::beside("bench_iterate"), "0"};
  pods.slots = kSlots;
  const std::vector<Member> members = pods.launch(2);
  pods.start(members);
  settle(pods, 2 * kSlots, 10);
  const auto resident = [&] { return resident_kib(pods.ranks(members[0].uid)) / kSlots; };
  double before = 0;
  for (int i = 0; i < kFirst + changes; ++i) {
    if (i == kFirst) before = resident();
    const std::vector<Member> now = pods.membership().membership.members;
    const ChangeStatus ended = now.size() > 1
                                   ? pods.change({.remove = {now.back().uid}, .deadline = kDeadline})
                                   : pods.change({.add = pods.launch(1), .deadline = kDeadline});
    if (ended.outcome != empi::ChangeOutcome::Committed)
      throw std::runtime_error("change " + ended.request.id + ": " + ended.reason);
  }
  const double after = resident();
  std::fprintf(stderr, "%.0f KiB after %d changes, %.0f KiB after %d\n", before, kFirst, after,
               kFirst + changes);
  std::printf("bench change-rss %.1f KiB\n", (after - before) / changes);
}

// Runs a benchmark that needs an agent as a malleable job of one rank, and passes its figures on.
void run_in_job(const std::string& program) {
  LocalPods pods;
  pods.command = {empi::testing::beside(program)};
  pods.slots = 1;
  const std::vector<Member> members = pods.launch(1);
  pods.start(members);
  const int code = pods.wait_for_end(members[0].uid);
  std::istringstream log(pods.log(members[0].uid));
  for (std::string line; std::getline(log, line);) {
    const std::size_t at = line.find("bench " + program.substr(program.find('_') + 1) + ".");
    if (at != line.npos) std::printf("%s\n", line.substr(at).c_str());
  }
  if (code != 0)
    throw std::runtime_error(program + " ended with " + std::to_string(code) + ":\n" + log.str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "";
  if (kind == "job" && argc == 3) {
    try {
      run_in_job(argv[2]);
      return 0;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "bench_change: %s\n", e.what());
      return 1;
    }
  }
  std::vector<int> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
  const bool alone = kind == "real" || kind == "rss";
  if (alone && sizes.empty()) sizes = kind == "real" ? std::vector<int>{128, 10} : std::vector<int>{200};
  const auto many_pods = [](int n) { return n >= kPods && n % kPods == 0; };
  const auto even = [](int n) { return n > 0 && n % 2 == 0; };
  const bool known = kind == "real"  ? sizes.size() == 2 && many_pods(sizes[0]) && even(sizes[1])
                     : kind == "rss" ? sizes.size() == 1 && even(sizes[0])
                                     : (kind == "pause" || kind == "grow" || kind == "shrink") &&
                                           std::ranges::all_of(sizes, many_pods);
  if (!known) {
    std::fprintf(stderr,
                 "Usage: bench_change pause|grow|shrink [RANKS...]   (multiples of %d)\n"
                 "       bench_change real [RANKS CHANGES]           (a multiple of %d, an even number)\n"
                 "       bench_change rss [CHANGES]                  (an even number)\n"
                 "       bench_change job PROGRAM\n",
                 kPods, kPods);
    return 2;
  }
  if (sizes.empty()) sizes = kind == "pause" ? std::vector<int>{4, 8, 16, 32, 64} : std::vector<int>{16};
  try {
    if (kind == "real")
      real(sizes[0], sizes[1]);
    else if (kind == "rss")
      rss(sizes[0]);
    else
      for (const int ranks : sizes) kind == "pause" ? pause(ranks) : phases(kind, ranks);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_change: %s\n", e.what());
    return 1;
  }
  return 0;
}
