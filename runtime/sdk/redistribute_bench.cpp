// SPDX-License-Identifier: Apache-2.0
// Speed of a redistribution against plain MPI_Sendrecv calls of the same bytes between the same ranks, in the
// same run. Started alone it starts its ranks itself, each in an agent of its own on this machine's loopback
// interface; prints one line:
//   bench redistribute.ratio <bytes per second, ours over plain> ratio
//
// The change measured is a mixed one: the first rank leaves, the last one joins. Ours includes agreeing on
// the cuts and allocating the new storage; the plain calls use buffers that are there and touched.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "elastic_mpi/cuts.hpp"
#include "elastic_mpi/sequence.hpp"
#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/options.hpp"

namespace {

using elastic::SequencePlan;

// Seconds until the last rank is done. Collective.
template <class Work>
double seconds(Work work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  work();
  double mine = MPI_Wtime() - start, slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

std::vector<std::int64_t> bytes_by_peer(int size, std::int64_t begin, std::int64_t end,
                                        const std::vector<std::int64_t>& offsets) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(size), 0);
  for (const auto& t : elastic::overlaps(begin, end, offsets))
    bytes[static_cast<std::size_t>(t.peer)] = t.count * static_cast<std::int64_t>(sizeof(double));
  return bytes;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Runs this program as an MPI job and prints what it found. Returns the exit code.
int run_on_pods(int ranks, std::vector<std::string> arguments) {
  empi::testing::LocalPods pods;
  pods.mode = "rigid";
  pods.slots = 1;
  pods.command = {std::filesystem::read_symlink("/proc/self/exe")};
  pods.command.insert(pods.command.end(), arguments.begin(), arguments.end());
  const auto members = pods.launch(ranks);
  pods.start(members);
  int worst = 0;
  for (const auto& m : members) worst = std::max(worst, pods.wait_for_end(m.uid));
  std::istringstream log(worst == 0 ? pods.log(members[0].uid) : pods.all_logs());
  for (std::string line; std::getline(log, line);) {
    const auto result = line.find("bench redistribute."), note = line.find("moved ");
    if (worst != 0)
      std::cerr << line << "\n";
    else if (result != line.npos)
      std::cout << line.substr(result) << "\n";
    else if (note != line.npos)
      std::cerr << line.substr(note) << "\n";
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  double megabytes = 32;
  int repeats = 15, ranks = 4;
  const empi::options::Program program{
      .what = "Measures redistribution against plain MPI_Sendrecv.",
      .options = {
          {"--megabytes",
           &megabytes,
           "data per rank",
           {.check = empi::options::in_range(0.001, 1024.0), .shows_default = true}},
          {"--repeats",
           &repeats,
           "measurements; the median counts",
           {.check = empi::options::positive(), .shows_default = true}},
          {"--ranks",
           &ranks,
           "ranks to start",
           {.check = empi::options::in_range(2, 64), .shows_default = true}},
      }};
  empi::options::read_or_exit(program, argc, argv);
  if (!std::getenv("PMIX_RANK")) {
    try {
      return run_on_pods(ranks, std::vector<std::string>(argv + 1, argv + argc));
    } catch (const std::exception& e) {
      std::cerr << "bench_redistribute: " << e.what() << "\n";
      return 1;
    }
  }

  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2) {
    std::fprintf(stderr, "bench_redistribute: needs 2 or more ranks, got %d\n", size);
    MPI_Finalize();
    return 2;
  }

  const bool joins = rank == size - 1, leaves = rank == 0;
  const auto count = static_cast<std::size_t>(joins ? 0 : megabytes * 1e6 / sizeof(double));
  std::vector<double> mine(count, rank + 1.0);
  const SequencePlan plan(MPI_COMM_WORLD, static_cast<std::int64_t>(count), sizeof(double), {},
                          leaves ? 0 : 1);
  const auto me = static_cast<std::size_t>(rank);
  const auto& before = plan.old_offsets();
  const auto& after = plan.new_offsets();
  const auto out = bytes_by_peer(size, before[me], before[me + 1], after);
  const auto in = bytes_by_peer(size, after[me], after[me + 1], before);
  std::vector<char> from(static_cast<std::size_t>(*std::ranges::max_element(out)), 1);
  std::vector<char> to(static_cast<std::size_t>(*std::ranges::max_element(in)), 1);

  const auto plain = [&] {
    for (int distance = 1; distance < size; ++distance) {
      const int next = (rank + distance) % size, previous = (rank - distance + size) % size;
      MPI_Sendrecv(from.data(), static_cast<int>(out[static_cast<std::size_t>(next)]), MPI_BYTE, next, 1,
                   to.data(), static_cast<int>(in[static_cast<std::size_t>(previous)]), MPI_BYTE, previous, 1,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  };
  std::size_t received = 0;
  const auto ours = [&] {
    received = elastic::move_sequence<double>(MPI_COMM_WORLD, mine, {}, leaves ? 0.0 : 1.0).size();
  };

  std::vector<double> plain_seconds, our_seconds;
  for (int i = -2; i < repeats; ++i) {  // two to warm up
    const double a = seconds(plain), b = seconds(ours);
    if (i < 0) continue;
    plain_seconds.push_back(a);
    our_seconds.push_back(b);
  }
  int bad = received != static_cast<std::size_t>(plan.new_count());
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  std::int64_t moved = plan.sent_bytes(sizeof(double));
  MPI_Allreduce(MPI_IN_PLACE, &moved, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    const double a = median(plain_seconds), b = median(our_seconds);
    std::fprintf(stderr, "moved %.1f MB between ranks: plain %.0f MB/s, ours %.0f MB/s\n",
                 static_cast<double>(moved) / 1e6, static_cast<double>(moved) / 1e6 / a,
                 static_cast<double>(moved) / 1e6 / b);
    std::printf("bench redistribute.ratio %.3f ratio\n", a / b);
  }
  MPI_Finalize();
  return bad;
}
