// SPDX-License-Identifier: Apache-2.0
// empi-jacobi-restartable: the same iteration as a plain MPI program that knows nothing of Elastic MPI. It
// does what many codes do: at a signal it writes a file that it goes on from, and ends. That is enough for
// jobs of mode Restartable (docs/malleable.md), which are started again on as many ranks as are wanted.
#include <mpi.h>

#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "apps/jacobi/jacobi.hpp"
#include "runtime/base/options.hpp"

namespace {

constexpr int kGoesOn = 85;  // exit code: there is something left to do

volatile std::sig_atomic_t told_to_end = 0;

struct Options {
  std::int64_t n = 512;
  std::int64_t iterations = 10000;
  int pace_ms = 0;
  std::string state;
};

Options parse(int argc, char** argv) {
  namespace options = empi::options;
  Options o;
  const options::Program program{
      .what =
          "Jacobi iteration that, told by SIGUSR1, writes what it goes on from and ends with exit code 85.",
      .options = {
          {"--n",
           &o.n,
           "interior points per direction",
           {.check = options::in_range(1, 1 << 20), .shows_default = true}},
          {"--iterations",
           &o.iterations,
           "iterations to do",
           {.check = options::in_range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()),
            .shows_default = true}},
          {"--pace",
           &o.pace_ms,
           "milliseconds that an iteration takes at least; the rest is slept",
           {.check = options::not_negative(), .shows_default = true}},
          {"--state", &o.state, "file that is gone on from if it is there, and written at the signal"},
      }};
  options::read_or_exit(program, argc, argv);
  if (o.state.empty()) {
    std::fprintf(stderr,
                 "empi-jacobi-restartable: --state is missing: expected a file on a volume of all ranks\n");
    std::exit(2);
  }
  return o;
}

// Rows [first, first + count) of this rank: as even as can be, the first ranks have one more.
struct Part {
  std::vector<int> counts, offsets;  // in values, of all ranks
  std::int64_t first = 0, count = 0;

  Part(std::int64_t n, int rank, int size) : counts(size), offsets(size) {
    std::int64_t begin = 0;
    for (int r = 0; r < size; ++r) {
      const std::int64_t rows = n / size + (r < n % size);
      if (r == rank) first = begin, count = rows;
      counts[r] = static_cast<int>(rows * n);
      offsets[r] = static_cast<int>(begin * n);
      begin += rows;
    }
  }
};

[[noreturn]] void give_up(const std::string& what) {
  std::perror(("empi-jacobi-restartable: " + what).c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

// The iteration and all values, by rank 0; renamed when it is whole.
void write_state(const Options& o, const Part& part, std::int64_t iteration, const std::vector<double>& u,
                 int rank) {
  std::vector<double> all(rank == 0 ? o.n * o.n : 0);
  MPI_Gatherv(u.data(), part.counts[rank], MPI_DOUBLE, all.data(), part.counts.data(), part.offsets.data(),
              MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  const std::string unfinished = o.state + ".tmp";
  std::FILE* file = std::fopen(unfinished.c_str(), "wb");
  if (!file || std::fwrite(&iteration, sizeof iteration, 1, file) != 1 ||
      std::fwrite(all.data(), sizeof(double), all.size(), file) != all.size() || std::fclose(file) != 0 ||
      std::rename(unfinished.c_str(), o.state.c_str()) != 0)
    give_up("cannot write " + o.state);
}

// Iteration 0 where there is no file.
std::int64_t read_state(const Options& o, const Part& part, std::vector<double>& u, int rank) {
  std::int64_t iteration = 0;
  std::vector<double> all(rank == 0 ? o.n * o.n : 0);
  if (std::FILE* file = rank == 0 ? std::fopen(o.state.c_str(), "rb") : nullptr) {
    if (std::fread(&iteration, sizeof iteration, 1, file) != 1 ||
        std::fread(all.data(), sizeof(double), all.size(), file) != all.size())
      give_up("cannot read all of " + o.state);
    std::fclose(file);
  }
  MPI_Bcast(&iteration, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  MPI_Scatterv(all.data(), part.counts.data(), part.offsets.data(), MPI_DOUBLE, u.data(), part.counts[rank],
               MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return iteration;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  std::signal(SIGUSR1, [](int) { told_to_end = 1; });
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  const Part part(o.n, rank, size);
  std::vector<double> u(part.count * o.n);
  std::int64_t iteration = read_state(o, part, u, rank);
  if (rank == 0 && iteration > 0)
    std::printf("goes on at iteration %" PRId64 " on %d ranks\n", iteration, size);
  jacobi::Sweep sweep(MPI_COMM_WORLD, o.n, part.first, part.count);
  int ends = 0;
  while (iteration < o.iterations && !ends) {
    const auto due = std::chrono::steady_clock::now() + std::chrono::milliseconds(o.pace_ms);
    sweep.iterate(u);
    ++iteration;
    const int told = told_to_end;  // ranks may have been told at different times
    MPI_Allreduce(&told, &ends, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    std::this_thread::sleep_until(due);
  }
  if (iteration < o.iterations) {
    write_state(o, part, iteration, u, rank);
  } else {
    const std::uint64_t fingerprint = sweep.fingerprint(u);
    if (rank == 0)
      std::printf("jacobi n %" PRId64 " ranks %d iterations %" PRId64 " fingerprint %016" PRIx64 "\n", o.n,
                  size, iteration, fingerprint);
  }
  MPI_Finalize();
  return iteration < o.iterations ? kGoesOn : 0;
}
