// SPDX-License-Identifier: Apache-2.0
// What a parked helper thread costs is known: it polls inside MPI while the program sleeps, under a name of
// its own. Two ranks, of which the second comes late to what the helper of the first waits in.
#include <mpi.h>
#include <time.h>
#include <unistd.h>

#include <thread>

#include "runtime/base/thread_time.hpp"
#include "runtime/protocol/names.hpp"
#include "runtime/rank/attempt.hpp"
#include "runtime/rank/testing/check.hpp"

using empi::rank::Attempt;

namespace {

constexpr int kLongestMs = 60000;

double parked_seconds() { return empi::thread_seconds(getpid(), empi::names::kParkedThread); }

template <class Done>
void wait_until(Done done) {
  for (int ms = 0; !done(); ++ms) {
    CHECK(ms < kLongestMs);
    usleep(1000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE, rank = 0, word = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm base = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &base);
  empi::RankOrder order;
  order.staying_count = 2;
  Attempt attempt(order, base);
  if (rank == 0) {
    std::thread helper([&] { attempt.build(); });
    const pthread_t thread = helper.native_handle();
    const auto used_ms = [thread] {
      clockid_t clock = 0;
      timespec used{};
      CHECK(pthread_getcpuclockid(thread, &clock) == 0 && clock_gettime(clock, &used) == 0);
      return used.tv_sec * 1000 + used.tv_nsec / 1000000;
    };
    wait_until([&] { return used_ms() > 50; });  // it polls
    CHECK(parked_seconds() == 0);
    CHECK(!attempt.park());  // the base is in its hands
    const double before = parked_seconds();
    CHECK(before > 0);
    wait_until([&] { return parked_seconds() > before + 0.05; });
    MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    helper.join();
  } else {
    MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    attempt.build();
  }
  CHECK(attempt.state() == Attempt::State::Built);
  attempt.drop();
  MPI_Comm_free(&base);
  MPI_Finalize();
}
