// SPDX-License-Identifier: Apache-2.0
// For ./dev bench recover: ranks that hold MEGABYTES each and go on without others that are lost. Rank 0 says
// on stdout how long plain copies of the same bytes to the next rank take ("exchange SECONDS"), what an
// iteration with a snapshot takes and one without ("iterations WITH WITHOUT", medians), and all say, when
// they go on, when ("on NANOSECONDS of the monotonic clock"), and what the snapshots have added to their
// memory ("memory RATIO of what is registered"). Ends when the file FOLDER/stop is there.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <elastic_mpi.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kEvery = 8, kSamples = 5;

double resident_bytes() {
  long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Place {
  int rank = 0, size = 0;
  explicit Place(MPI_Comm world) {
    elastic::check_mpi(MPI_Comm_rank(world, &rank), "asking for the rank");
    elastic::check_mpi(MPI_Comm_size(world, &size), "asking for the size");
  }
};

double exchange_seconds(const std::vector<double>& own) {
  const Place here(MPI_COMM_WORLD);
  std::vector<double> other(own.size()), seconds;
  const auto count = static_cast<int>(own.size());
  for (int i = 0; i < kSamples; ++i) {
    elastic::check_mpi(MPI_Barrier(MPI_COMM_WORLD), "waiting for the others");
    const double begin = MPI_Wtime();
    elastic::check_mpi(MPI_Sendrecv(own.data(), count, MPI_DOUBLE, (here.rank + 1) % here.size, 0,
                                    other.data(), count, MPI_DOUBLE, (here.rank + here.size - 1) % here.size,
                                    0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                       "exchanging");
    elastic::check_mpi(MPI_Barrier(MPI_COMM_WORLD), "waiting for the others");
    seconds.push_back(MPI_Wtime() - begin);
  }
  return median(seconds);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s FOLDER MEGABYTES\n", argv[0]);
    return 2;
  }
  const std::string stop_file = std::string(argv[1]) + "/stop";
  const std::int64_t rows_of_rank =
      std::atoll(argv[2]) * (1 << 20) / static_cast<std::int64_t>(sizeof(double));

  elastic::Loop loop(argc, argv);
  const Place start(MPI_COMM_WORLD);
  std::vector<double> values;
  std::int64_t iteration = 0;
  loop.replicate(iteration);
  loop.block(values, std::max<std::int64_t>(rows_of_rank, 1) * start.size, 1);
  loop.recoverable(kEvery);
  double before = 0;
  loop.on_rebuild([&](MPI_Comm) {
    if (loop.recovering()) {
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      std::printf("on %" PRId64 "\n", static_cast<std::int64_t>(std::chrono::nanoseconds(now).count()));
      std::fflush(stdout);
      return;
    }
    std::ranges::fill(values, 1);
    const double seconds = exchange_seconds(values);
    if (Place(MPI_COMM_WORLD).rank == 0) std::printf("exchange %.9f\n", seconds);
    before = resident_bytes();
  });

  std::vector<double> with, without;
  double last = MPI_Wtime();
  loop.run([&](MPI_Comm world) {
    const Place here(world);
    const double now = MPI_Wtime();
    // A snapshot is taken between the iterations kEvery and kEvery + 1, and counts for the latter.
    if (iteration > 1) (iteration % kEvery == 0 ? with : without).push_back(now - last);
    last = now;
    ++iteration;
    if (iteration == 1 + kSamples * kEvery && loop.recoveries() == 0) {
      const auto registered = static_cast<double>(values.size() * sizeof(double));
      std::printf("memory %.3f\n", registered > 0 ? (resident_bytes() - before) / registered : 0);
      if (here.rank == 0) std::printf("iterations %.9f %.9f\n", median(with), median(without));
      std::fflush(stdout);
    }
    usleep(1000);
    int stop = here.rank == 0 && std::filesystem::exists(stop_file);
    elastic::check_mpi(MPI_Bcast(&stop, 1, MPI_INT, 0, world), "asking whether to stop");
    return stop == 0;
  });
  return 0;
}
