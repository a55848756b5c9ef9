// SPDX-License-Identifier: Apache-2.0
// The program of ./dev bench masterworker and masterworker-world: phases of tasks of MEAN ms, the longest ten
// times the shortest.
//
//   bench_tasks FOLDER TASKS MEAN_MS [PHASES [world]]
//
// Each rank leaves a file in FOLDER: for how long it was there (s) and how much of that it spent in tasks. A
// rank that joins is there from the beginning of its program, start of MPI and all. In FOLDER/phases it
// leaves, for each phase, how long it waited at the end (s), from its last task on. world: MPI_COMM_WORLD is
// rebuilt at the end of phases.
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <elastic_master_worker.hpp>
#include <fstream>
#include <string>

#include "runtime/base/hash.hpp"
#include "runtime/protocol/names.hpp"

namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Uniform in [1, 10] / 5.5, the same for a task whoever does it.
double share_of_mean(std::int64_t task) {
  const std::uint64_t z =
      empi::mix64(static_cast<std::uint64_t>(task) * empi::kSplitMix64Step + 0xD1B54A32D192ED03ull);
  const double u = static_cast<double>(z >> 11) * 0x1p-53;
  return (1 + 9 * u) / 5.5;
}

}  // namespace

int main(int argc, char** argv) {
  const double started = seconds();
  elastic::MasterWorker job(argc, argv);
  if (argc < 4) return 2;
  const char* slowdown = std::getenv(empi::names::kSlowdown);
  const double factor = slowdown ? std::atof(slowdown) : 1;
  const double cpu = std::atof(argv[3]) * 1e-3 / (factor > 1 ? factor : 1);
  const double present_since = job.joining() ? started : seconds();
  const int phases = argc > 4 ? std::atoi(argv[4]) : 1;
  if (argc > 5) job.use_world();
  const std::string name = std::getenv(empi::names::kPodName);
  int phase = 0;
  job.replicate(phase);
  double last_end = present_since;
  for (; !job.left() && phase < phases; ++phase) {
    job.map(std::atol(argv[2]), [&](std::int64_t task) {
      const double until = cpu_seconds() + cpu * share_of_mean(task);
      double x = 1;
      while (cpu_seconds() < until)
        for (int i = 0; i < 200; ++i) x = x * 0.999 + 0.001;
      last_end = seconds();
      return x;
    });
    if (job.left()) break;
    std::ofstream(std::string(argv[1]) + "/phases/" + name, std::ios::app)
        << phase << " " << seconds() - last_end << "\n";
  }
  const double present = seconds() - present_since;
  std::ofstream(std::string(argv[1]) + "/" + name)
      << present << " " << job.busy_seconds() << " " << job.idle_seconds() << "\n";
  if (job.master()) std::printf("%d phases over after %.3f s\n", phase, present);
  return 0;
}
