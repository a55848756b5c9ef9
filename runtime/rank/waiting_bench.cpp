// SPDX-License-Identifier: Apache-2.0
// How ranks wait that share processors (mpi_yield_when_idle): the processor time of a second of waiting for a
// message, half a round of short messages between two ranks, and how fast large ones go; one pair alone and
// four at once, over TCP, and one through memory; by this library, and as Open MPI does it. Without arguments
// it starts itself by mpirun.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/base/clocks.hpp"

namespace {

constexpr int kWaits = 20, kRounds = 5000, kLarge = 16 << 20, kLargeMessages = 20;

double processor_seconds() {
  return static_cast<double>(empi::profile::clock_ns(CLOCK_PROCESS_CPUTIME_ID)) * 1e-9;
}

int measure(int argc, char** argv) {
  int rank = 0, size = 0, word = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int peer = rank ^ 1;
  const auto send = [&] { MPI_Send(&word, 1, MPI_INT, peer, 0, MPI_COMM_WORLD); };
  const auto receive = [&] { MPI_Recv(&word, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); };
  MPI_Barrier(MPI_COMM_WORLD);

  double begin = MPI_Wtime();
  const double before = processor_seconds();
  for (int i = 0; i < kWaits; ++i) {
    if (rank % 2 == 0) {
      receive();
    } else {
      usleep(50000);
      send();
    }
  }
  const double share = (processor_seconds() - before) / (MPI_Wtime() - begin);
  MPI_Barrier(MPI_COMM_WORLD);

  begin = MPI_Wtime();
  for (int i = 0; i < kRounds; ++i) {
    if (rank % 2 == 0) send();
    receive();
    if (rank % 2 == 1) send();
  }
  const double half_round = (MPI_Wtime() - begin) / kRounds / 2;
  MPI_Barrier(MPI_COMM_WORLD);

  std::vector<char> large(kLarge);
  begin = MPI_Wtime();
  for (int i = 0; i < kLargeMessages; ++i) {
    if (rank % 2 == 0)
      MPI_Recv(large.data(), kLarge, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(large.data(), kLarge, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
  }
  const double rate = double{kLarge} * kLargeMessages / (MPI_Wtime() - begin);
  if (rank == 0) {
    std::printf("bench waiting.processor.%s.%d %.3f cores\n", argv[1], size, share);
    std::printf("bench waiting.half_round.%s.%d %.1f us\n", argv[1], size, half_round * 1e6);
    std::printf("bench waiting.rate.%s.%d %.0f MB/s\n", argv[1], size, rate * 1e-6);
  }
  return MPI_Finalize();
}

// The parameters are those of a pod's ranks.
bool runs(const char* program, const std::string& transports, const std::string& way, int ranks) {
  const std::string open_mpi =
      way.starts_with("open_mpi") ? " --mca threads_pthreads_yield_strategy sched_yield" : "";
  return std::system(
             ("mpirun --allow-run-as-root --oversubscribe --bind-to none --mca pml ob1 --mca btl " +
              transports +
              " --mca smsc ^cma,xpmem,knem --mca btl_tcp_if_include lo --mca if_base_retain_loopback 1 --mca "
              "mpi_yield_when_idle 1" +
              open_mpi + " -n " + std::to_string(ranks) + " " + program + " " + way)
                 .c_str()) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return measure(argc, argv);
  for (const int ranks : {2, 8})
    if (!runs(argv[0], "self,tcp", "asleep", ranks) || !runs(argv[0], "self,tcp", "open_mpi", ranks))
      return 1;
  const char* memory = "self,tcp,sm";
  return runs(argv[0], memory, "asleep_memory", 2) && runs(argv[0], memory, "open_mpi_memory", 2) ? 0 : 1;
}
