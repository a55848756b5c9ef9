// SPDX-License-Identifier: Apache-2.0
// empi-jacobi: Jacobi iteration that grows and shrinks while it runs. The example for docs/malleable.md.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <elastic_mpi.hpp>
#include <limits>
#include <optional>
#include <thread>

#include "apps/jacobi/jacobi.hpp"
#include "runtime/base/options.hpp"

namespace {

struct Options {
  std::int64_t n = 512;
  std::int64_t iterations = 10000;
  double tolerance = 1e-9;
  jacobi::Effort effort;
  int row_time_us = 0, serial_time_us = 0;
  int pace_ms = 0;
};

Options parse(int argc, char** argv) {
  namespace options = empi::options;
  Options o;
  const options::Program program{
      .what = "Solves Laplace's equation on the unit square by Jacobi iteration, on a changing set of ranks.",
      .options = {
          {"--n",
           &o.n,
           "interior points per direction",
           {.check = options::in_range(1, 1 << 20), .shows_default = true}},
          {"--iterations",
           &o.iterations,
           "most iterations to do",
           {.check = options::in_range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()),
            .shows_default = true}},
          {"--tolerance",
           &o.tolerance,
           "stop when no value changes by more than this",
           {.check = options::not_negative(), .shows_default = true}},
          {"--work-factor",
           &o.effort.repeats,
           "do the arithmetic of every iteration this many times",
           {.check = options::positive(), .shows_default = true}},
          {"--row-time",
           &o.row_time_us,
           "microseconds that the arithmetic of a row takes at least; the rest is slept, as on a node of "
           "that speed",
           {.check = options::not_negative(), .shows_default = true}},
          {"--serial-time",
           &o.serial_time_us,
           "microseconds more of an iteration, on any number of ranks; slept",
           {.check = options::not_negative(), .shows_default = true}},
          {"--pace",
           &o.pace_ms,
           "milliseconds that an iteration takes at least; the rest is slept",
           {.check = options::not_negative(), .shows_default = true}},
      }};
  options::read_or_exit(program, argc, argv);
  o.effort.row_time = std::chrono::microseconds(o.row_time_us);
  o.effort.serial_time = std::chrono::microseconds(o.serial_time_us);
  return o;
}

void print_result(const Options& o, const jacobi::Sweep& sweep, const std::vector<double>& u,
                  std::int64_t iteration, double change) {
  const double error = sweep.error(u);
  const std::uint64_t fingerprint = sweep.fingerprint(u);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0)
    std::printf("jacobi n %" PRId64 " ranks %d iterations %" PRId64
                " change %.3e error %.6e fingerprint %016" PRIx64 "\n",
                o.n, size, iteration, change, error, fingerprint);
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);

  elastic::Loop loop(argc, argv);
  std::vector<double> u;
  std::int64_t iteration = 0;
  double change = std::numeric_limits<double>::infinity();
  std::optional<jacobi::Sweep> sweep;

  // All that makes it malleable: what the ranks share, what they own, what depends on who takes part.
  loop.replicate(iteration, change);
  const elastic::Block& rows = loop.block(u, o.n, o.n);
  loop.checkpoint();   // where and how often is the job's matter (spec.checkpoint)
  loop.recoverable();  // a pod that is lost costs what was computed since the last copies
  loop.on_rebuild([&](MPI_Comm world) { sweep.emplace(world, o.n, rows.first(), rows.count()); });
  loop.run([&](MPI_Comm) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(o.pace_ms);
    change = sweep->iterate(u, o.effort);
    ++iteration;
    loop.report(static_cast<double>(rows.count() * o.n),
                static_cast<double>(iteration) / static_cast<double>(o.iterations));
    std::this_thread::sleep_until(end);
    return iteration < o.iterations && change > o.tolerance;
  });

  if (!loop.left()) print_result(o, *sweep, u, iteration, change);
  return 0;
}
