// SPDX-License-Identifier: Apache-2.0
// A program whose calls and bytes are known must be counted exactly. Reads its own counters through the page
// given by EMPI_PAGE, which it makes first.
#include <elastic_mpi.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <thread>
#include <vector>

#include "runtime/protocol/names.hpp"
#include "runtime/rank/testing/check.hpp"
#include "runtime/rank/testing/shared_page.hpp"

namespace {

using empi::testing::SharedPage;

struct Expected {
  std::uint64_t calls = 0, bytes = 0;
};

void expect(const SharedPage& page, const Expected& before, const Expected& delta, const char* what) {
  const empi::Counters now = page.read();
  if (now.mpi_calls == before.calls + delta.calls && now.mpi_bytes == before.bytes + delta.bytes) return;
  std::fprintf(stderr, "%s: counted %llu calls and %llu bytes, expected %llu and %llu\n", what,
               static_cast<unsigned long long>(now.mpi_calls - before.calls),
               static_cast<unsigned long long>(now.mpi_bytes - before.bytes),
               static_cast<unsigned long long>(delta.calls), static_cast<unsigned long long>(delta.bytes));
  std::_Exit(1);
}

Expected counted(const SharedPage& page) {
  const empi::Counters c = page.read();
  return {c.mpi_calls, c.mpi_bytes};
}

}  // namespace

int main(int argc, char** argv) {
  SharedPage shared;
  MPI_Init(&argc, &argv);
  CHECK(shared.page().magic == empi::kPageMagic && shared.page().bytes == sizeof(empi::Page));
  CHECK(shared.page().pid == getpid());
  int rank = 0, size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto n = static_cast<std::uint64_t>(size);
  CHECK(shared.page().world_rank == static_cast<unsigned>(rank) && shared.page().world_size == n);
  CHECK(shared.read().start_ns > 0 && shared.read().mpi_calls == 0);

  Expected before = counted(shared);
  std::vector<double> a(1000, 1.0), b(1000 * n);
  MPI_Allreduce(a.data(), b.data(), 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  expect(shared, before, {1, 8000}, "MPI_Allreduce");

  before = counted(shared);
  MPI_Bcast(a.data(), 100, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  expect(shared, before, {1, rank == 0 ? 800u : 0u}, "MPI_Bcast");

  before = counted(shared);
  MPI_Alltoall(a.data(), 2, MPI_DOUBLE, b.data(), 2, MPI_DOUBLE, MPI_COMM_WORLD);
  expect(shared, before, {1, 16 * n}, "MPI_Alltoall");

  before = counted(shared);
  MPI_Allgather(a.data(), 10, MPI_DOUBLE, b.data(), 10, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b.data(), 10, MPI_DOUBLE, MPI_COMM_WORLD);
  expect(shared, before, {2, 160}, "MPI_Allgather");

  before = counted(shared);
  std::vector<int> counts(n, 3), displacements(n, 0);
  MPI_Scatterv(a.data(), counts.data(), displacements.data(), MPI_DOUBLE, b.data(), 3, MPI_DOUBLE, 0,
               MPI_COMM_WORLD);
  expect(shared, before, {1, rank == 0 ? 24 * n : 0}, "MPI_Scatterv");

  before = counted(shared);
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
  MPI_Type_commit(&pair);
  MPI_Request requests[2];
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  MPI_Irecv(b.data(), 5, pair, from, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(a.data(), 5, pair, to, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Type_free(&pair);
  // The freed handle may come back with another size.
  MPI_Type_contiguous(3, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Sendrecv(a.data(), 1, pair, to, 0, b.data(), 1, pair, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Type_free(&pair);
  expect(shared, before, {10, 80 + 12}, "point to point");

  // To nobody goes nothing, and what is ignored is not read.
  before = counted(shared);
  MPI_Send(a.data(), 5, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(a.data(), 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_lock_all(0, window);
  MPI_Get_accumulate(nullptr, 1, MPI_DOUBLE, b.data(), 1, MPI_DOUBLE, to, 0, 1, MPI_DOUBLE, MPI_NO_OP,
                     window);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  expect(shared, before, {6, 0}, "a send to nobody, and a reading accumulate");

  // Calls that another call makes are part of it; a sleep in MPI is time in MPI.
  before = counted(shared);
  const empi::Counters t0 = shared.read();
  if (rank == 0) usleep(200000);
  MPI_Barrier(MPI_COMM_WORLD);
  expect(shared, before, {1, 0}, "MPI_Barrier");
  const empi::Counters t1 = shared.read();
  CHECK(t1.in_mpi_since_ns == 0 && t1.mpi_ns > t0.mpi_ns);
  const auto difference =
      static_cast<std::int64_t>(t1.mpi_collective_ns - t0.mpi_collective_ns - (t1.mpi_ns - t0.mpi_ns));
  CHECK(difference >= -2 && difference <= 2);  // rounding

  // Tasks: durations of what is between begin and end, and the queue as it was given.
  CHECK(MPIX_Task_queue_adapt(1, 10, 6, 5) == MPI_ERR_ARG);
  CHECK(MPIX_Task_queue_adapt(2, 10, 4, 3) == MPI_SUCCESS);
  MPIX_Task_end_adapt();  // of no task
  for (int i = 0; i < 2; ++i) {
    MPIX_Task_begin_adapt();
    usleep(1000);
    MPIX_Task_end_adapt();
  }
  usleep(1000);
  MPIX_Task_begin_adapt();
  const empi::TaskCounters tasks = shared.read().tasks;
  CHECK(tasks.pattern == empi::Pattern::MasterWorker && tasks.phase == 2);
  CHECK(tasks.total == 10 && tasks.done == 4 && tasks.queued == 3);
  CHECK(tasks.ended == 2 && tasks.task_ns >= 2000000 && tasks.longest_ns >= tasks.task_ns / 2);
  CHECK(tasks.longest_ns < tasks.task_ns && tasks.in_task_since_ns > 0);
  MPIX_Task_end_adapt();
  MPIX_Task_queue_adapt(2, 0, 0, 0);
  CHECK(shared.read().tasks.pattern == empi::Pattern::Spmd);
  CHECK(MPIX_Wish_adapt(2, 5) == MPI_SUCCESS && MPIX_Wish_adapt(3, 2) == MPI_ERR_ARG);
  CHECK(MPIX_Wish_adapt(0, 2) == MPI_ERR_ARG && MPIX_Wish_adapt(-1, -1) == MPI_ERR_ARG);
  CHECK(shared.read().wish_min == 2 && shared.read().wish_max == 5);
  CHECK(MPIX_Wish_adapt(0, 0) == MPI_SUCCESS && shared.read().wish_max == 0);
  std::thread([] {  // not the page's writer
    CHECK(MPIX_Wish_adapt(1, 2) == MPI_ERR_OTHER);
    int adapt = MPI_ADAPT_FALSE, status = 0;
    CHECK(MPIX_Task_begin_adapt() == MPI_ERR_OTHER && MPIX_Task_end_adapt() == MPI_ERR_OTHER);
    CHECK(MPIX_Task_queue_adapt(3, 1, 0, 1) == MPI_ERR_OTHER && MPIX_Progress_adapt(1, .5) == MPI_ERR_OTHER);
    CHECK(MPI_Probe_adapt(&adapt, &status, nullptr) == MPI_ERR_OTHER);
  })
      .join();
  CHECK(shared.read().tasks.phase == 2);  // one that was left half written could not be read

  // On an emulated network (profile.network.3) a message and each round of a collective take their time, in
  // MPI.
  if (const char* delay = std::getenv(empi::names::kNetworkDelay)) {
    const double us = std::atof(delay), us_per_byte = 8 / std::atof(std::getenv(empi::names::kNetworkRate));
    const std::uint64_t start = shared.read().mpi_ns;
    double expected = 0;
    for (int i = 0; i < 20; ++i) {
      MPI_Sendrecv(a.data(), 500, MPI_DOUBLE, to, 6, b.data(), 500, MPI_DOUBLE, from, 6, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      expected += us + 4000 * us_per_byte;
      MPI_Allreduce(a.data(), b.data(), 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      expected += std::ceil(std::log2(size)) * (us + 8000 * us_per_byte);
      MPI_Barrier(MPI_COMM_WORLD);
      expected += std::ceil(std::log2(size)) * us;
    }
    const double taken = 1e-3 * static_cast<double>(shared.read().mpi_ns - start);
    if (taken < expected - 200) {  // less is not worth a sleep yet
      std::fprintf(stderr, "%g us in MPI on a network that takes %g us\n", taken, expected);
      return 1;
    }
  }

  // Far above 100 000 calls a second: counts stay exact when they are published next.
  before = counted(shared);
  int flag = 0;
  for (int i = 0; i < 1000000; ++i) MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  usleep(1000);
  MPI_Barrier(MPI_COMM_WORLD);
  expect(shared, before, {1000001, 0}, "a million MPI_Iprobe");
  MPI_Finalize();
}
