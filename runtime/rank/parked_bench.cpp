// SPDX-License-Identifier: Apache-2.0
// What a helper thread that never came back costs its rank (quirk cid-retries): a small allreduce of two
// ranks over TCP beside a thread that waits in MPI, over one without, and how much of a core that thread
// takes while the program sleeps; with one and with two threads in MPI's progress at a time. Without
// arguments it starts itself by mpirun.
#include <mpi.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kRounds = 20000;

// Median, in microseconds.
double allreduce_us() {
  std::vector<double> rounds;
  const int mine = 1;
  for (int i = 0; i < kRounds; ++i) {
    int all = 0;
    const double begin = MPI_Wtime();
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    rounds.push_back((MPI_Wtime() - begin) * 1e6);
  }
  std::ranges::sort(rounds);
  return rounds[kRounds / 2];
}

double seconds_of(std::thread& thread) {
  clockid_t clock = 0;
  timespec used{};
  pthread_getcpuclockid(thread.native_handle(), &clock);
  clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

int measure(int argc, char** argv) {
  int provided = 0, rank = 0, word = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  const double alone = allreduce_us();
  std::thread helper;
  if (rank == 0) helper = std::thread([&] { MPI_Recv(&word, 1, MPI_INT, 1, 0, other, MPI_STATUS_IGNORE); });
  MPI_Barrier(MPI_COMM_WORLD);
  const double beside = allreduce_us();
  if (rank == 0) {
    const double before = seconds_of(helper), begin = MPI_Wtime();
    sleep(1);
    const double share = (seconds_of(helper) - before) / (MPI_Wtime() - begin);
    std::printf("bench parked.allreduce_ratio.%s %.2f ratio\n", argv[1], beside / alone);
    std::printf("bench parked.cpu.%s %.2f cores\n", argv[1], share);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Send(&word, 1, MPI_INT, 0, 0, other);
  if (rank == 0) helper.join();
  MPI_Comm_free(&other);
  return MPI_Finalize();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return measure(argc, argv);
  for (const char* threads : {"1", "2"}) {
    const std::string command =
        "mpirun --allow-run-as-root --oversubscribe --bind-to none --mca pml ob1 --mca btl self,tcp --mca "
        "btl_tcp_if_include lo --mca mpi_yield_when_idle 1 --mca opal_max_thread_in_progress " +
        std::string(threads) + " -n 2 " + argv[0] + " " + threads;
    if (std::system(command.c_str()) != 0) return 1;
  }
  return 0;
}
