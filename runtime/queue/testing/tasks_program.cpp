// SPDX-License-Identifier: Apache-2.0
// A master-worker program for tests: phases of small tasks whose number depends on the results before.
//
//   tasks_program FILE [phases N] [tasks N] [micros N] [crash N] [world 1] [linger 1] [wait_for RANK]
//
// The master's fingerprint of all results goes to FILE at the end. Tasks take some time, `micros` or so,
// until FILE.hurry exists: then none. crash: task N throws an exception. world: the ranks use MPI_COMM_WORLD
// after every phase; its sizes go to FILE.worlds. linger: ranks that are
// done make FILE.lingers.PID, and go to MPI_Finalize when FILE.end exists. wait_for: before that they receive
// from RANK of the world, and make FILE.refused.PID when MPI says that this cannot be.
#include <unistd.h>

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elastic_master_worker.hpp>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace {

struct Settings {
  int phases = 3;
  long tasks = 400, micros = 500, crash = -1;
  bool world = false, linger = false;
  int wait_for = -1;
};

Settings parse(int argc, char** argv) {
  Settings s;
  for (int i = 2; i + 1 < argc; i += 2) {
    const long value = std::atol(argv[i + 1]);
    if (!std::strcmp(argv[i], "phases")) s.phases = static_cast<int>(value);
    if (!std::strcmp(argv[i], "tasks")) s.tasks = value;
    if (!std::strcmp(argv[i], "micros")) s.micros = value;
    if (!std::strcmp(argv[i], "crash")) s.crash = value;
    if (!std::strcmp(argv[i], "world")) s.world = value != 0;
    if (!std::strcmp(argv[i], "wait_for")) s.wait_for = static_cast<int>(value);
    if (!std::strcmp(argv[i], "linger")) s.linger = value != 0;
  }
  return s;
}

std::uint64_t mix(std::uint64_t h, std::uint64_t value) {
  h ^= value + 0x9E3779B97F4A7C15ull + (h << 6) + (h >> 2);
  return h * 0xBF58476D1CE4E5B9ull;
}

// Takes 0.2 to 2 times `micros`, as the index says; the result needs all bits of a double.
double work(std::int64_t index, double seed, long micros, const std::string& hurry) {
  const std::uint64_t noise = mix(static_cast<std::uint64_t>(index), 17);
  if (micros > 0 && access(hurry.c_str(), F_OK) != 0)
    std::this_thread::sleep_for(std::chrono::microseconds(micros * (2 + static_cast<long>(noise % 19)) / 10));
  double x = seed + static_cast<double>(index);
  for (int i = 0; i < 50; ++i) x = std::sin(x) * 1.5 + 0.1 * static_cast<double>(index % 7);
  return x;
}

// After a phase: MPI_COMM_WORLD is that of all who have its results, and works.
void use_world(const elastic::MasterWorker& job, std::uint64_t fingerprint, const std::string& file) {
  int rank = -1, size = 0, from = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::uint64_t least = 0, largest = 0;
  MPI_Allreduce(&fingerprint, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&fingerprint, &largest, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &from, 1, MPI_INT, (rank + size - 1) % size, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (size != job.workers() || (rank == 0) != job.master() || least != largest ||
      from != (rank + size - 1) % size) {
    std::fprintf(stderr, "rank %d of %d (master %d, %d workers): the world is wrong\n", rank, size,
                 job.master(), job.workers());
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  if (rank == 0) std::ofstream(file, std::ios::app) << size << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  elastic::MasterWorker job(argc, argv);
  if (argc < 2) return 2;
  const Settings settings = parse(argc, argv);
  const std::string hurry = std::string(argv[1]) + ".hurry";
  // Made in this rank's first task.
  const std::string begun_file = std::string(argv[1]) + ".begun." + std::to_string(getpid());
  bool begun = false;
  int phase = 0;
  std::uint64_t fingerprint = 0;
  std::vector<double> seeds;
  if (!job.joining()) seeds = {0.5};
  job.replicate(phase, fingerprint);
  job.replicate(seeds);
  if (settings.world) job.use_world();
  while (!job.left() && phase < settings.phases) {
    const double seed = seeds.back();
    const auto results = job.map(settings.tasks + static_cast<long>(fingerprint % 10), [&](std::int64_t i) {
      if (!std::exchange(begun, true)) std::ofstream(begun_file) << "\n";
      if (i == settings.crash) throw std::runtime_error("task " + std::to_string(i) + " does not work");
      return work(i, seed, settings.micros, hurry);
    });
    if (job.left()) break;
    double sum = 0;
    for (const double value : results) {
      sum += value;
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      fingerprint = mix(fingerprint, bits);
    }
    seeds.push_back(std::sin(sum));
    ++phase;
    if (settings.world) use_world(job, fingerprint, std::string(argv[1]) + ".worlds");
  }
  if (job.master()) {
    std::printf("finished: workers %d, phases %d, fingerprint %016" PRIx64 "\n", job.workers(), phase,
                fingerprint);
    std::ofstream(argv[1]) << fingerprint << "\n";
  }
  const std::string end = std::string(argv[1]) + ".end";
  if (settings.linger) std::ofstream(std::string(argv[1]) + ".lingers." + std::to_string(getpid())) << "\n";
  while (settings.linger && !job.left() && access(end.c_str(), F_OK) != 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (settings.wait_for >= 0) {
    int never = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Recv(&never, 1, MPI_INT, settings.wait_for, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      std::ofstream(std::string(argv[1]) + ".refused." + std::to_string(getpid())) << "\n";
  }
  return 0;
}
