// SPDX-License-Identifier: Apache-2.0
// Two ranks of which one waits for the other, by whichever transports the command line names: how often it
// goes through them, how often it sleeps, and whether what comes by a socket wakes it.
// Usage: asleep_program tcp|sm      by which messages go
#include <dlfcn.h>
#include <mpi.h>
#include <poll.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "runtime/rank/failed_requests.hpp"
#include "runtime/rank/testing/check.hpp"

namespace {

constexpr int kMessages = 20, kLooks = 2000;

long passes = 0, asleep = 0, woken = 0;
int count_pass() {
  ++passes;
  return 0;
}

void forget() { passes = asleep = woken = 0; }

void wait_for_each(int rank) {
  int number = 0;
  for (int i = 0; i < kMessages; ++i) {
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      MPI_Send(&i, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(number == i);
    }
  }
}

void look(int rank) {
  if (rank == 1) return;
  MPI_Request request = MPI_REQUEST_NULL;
  int number = 0, there = 0;
  MPI_Irecv(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
  for (int i = 0; i < kLooks; ++i) MPI_Test(&request, &there, MPI_STATUS_IGNORE);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace

// By which a rank sleeps.
extern "C" int ppoll(pollfd* set, nfds_t count, const timespec* most, const sigset_t* mask) {
  static const auto next = reinterpret_cast<decltype(&ppoll)>(dlsym(RTLD_NEXT, "ppoll"));
  const int ready = next(set, count, most, mask);
  ++asleep;
  if (ready > 0) ++woken;
  return ready;
}

int main(int argc, char** argv) {
  CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
  CHECK(argc == 2 && empi::rank::failed_requests().there());
  const bool by_sockets = argv[1] == std::string("tcp");
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);  // they know each other
  empi::rank::failed_requests().call_in_progress(count_pass);

  forget();
  wait_for_each(rank);
  std::printf("rank %d waits: %ld passes, asleep %ld times, woken %ld times\n", rank, passes, asleep, woken);
  if (rank == 0) {
    CHECK(asleep >= kMessages);
    CHECK(passes < 100 * asleep);
    if (by_sockets) CHECK(woken >= kMessages / 2);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  forget();
  look(rank);
  CHECK(asleep == 0);
  empi::rank::failed_requests().call_no_more(count_pass);
  return MPI_Finalize();
}
