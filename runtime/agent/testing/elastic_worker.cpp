// SPDX-License-Identifier: Apache-2.0
// A malleable program for tests: a block-distributed vector whose sum is checked in every iteration and that
// moves to its new owners in every change.
//
//   elastic_worker STOP_FILE [objects]
//
// Ends when STOP_FILE exists. `objects`: the main thread makes and frees communicators, windows and files in
// every iteration, also while the next world is being built.
// EMPI_TEST_TRAP makes a joining rank 1 (or its only one) fail: before_init, after_init, in_window or
// before_commit kill it there, in_connect rank 0 of the joiners
// (killed_connecting.cpp), abort_after_init lets rank 0 of the joiners call MPI_Abort, random_N after N
// ms unless it has committed by then, no_init lets all joiners sleep instead of coming; stop_after_init and
// stop_in_window let them stand still there; abort_window has a joiner give the change up. Leavers with
// stop_leaving stand still when they have committed, with stop_left after their MPI_Finalize. Of those that
// stay to the end, end_with_7 returns 7 after MPI_Finalize, and stop_at_end stands still there.
#include <elastic_mpi.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr long kElements = 10007;

struct State {
  std::vector<double> mine;
  long iteration = 0;
  int changes = 0, rollbacks = 0;
};

[[noreturn]] void bad(const char* what, double got, double expected) {
  std::printf("BAD %s: %.17g instead of %.17g\n", what, got, expected);
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
  std::abort();
}

bool thread_is_left(const std::string& name) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string comm;
    std::getline(std::ifstream(task.path() / "comm"), comm);
    if (comm == name) return true;
  }
  return false;
}

bool trapped(const char* place) {
  const char* trap = std::getenv("EMPI_TEST_TRAP");
  return trap && !std::strcmp(trap, place);
}

// Stands still, with all threads, until it is killed.
void stop_if(const char* place) {
  if (trapped(place)) raise(SIGSTOP);
}

void die_if(const char* place) {
  int rank = 0, size = 1, ready = 0;
  if (!trapped(place)) return;
  MPI_Initialized(&ready);
  if (ready) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  if (rank == size - 1 || !ready) raise(SIGKILL);
}

// Killed by a timer of the kernel; a commit stops it.
void set_time_bomb() {
  const char* trap = std::getenv("EMPI_TEST_TRAP");
  if (!trap || std::strncmp(trap, "random_", 7) != 0) return;
  const long ms = std::atol(trap + 7) + 1;
  signal(SIGALRM, [](int) { raise(SIGKILL); });
  const itimerval timer = {{0, 0}, {ms / 1000, ms % 1000 * 1000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void defuse() {
  const itimerval off = {};
  setitimer(ITIMER_REAL, &off, nullptr);
}

long block_begin(long rank, long ranks) { return rank * kElements / ranks; }

// Moves the vector from the old ranks of the union to the ranks of the next world.
std::vector<double> redistribute(const State& s, MPI_Comm union_comm, MPI_Comm next, int old_ranks,
                                 int new_ranks) {
  int me = 0, all = 0, next_rank = -1;
  MPI_Comm_rank(union_comm, &me);
  MPI_Comm_size(union_comm, &all);
  if (next != MPI_COMM_NULL) MPI_Comm_rank(next, &next_rank);
  std::vector<int> next_ranks(all);
  if (MPI_Allgather(&next_rank, 1, MPI_INT, next_ranks.data(), 1, MPI_INT, union_comm)) return {};
  const auto overlap = [&](int from, int to) -> long {  // elements that old rank `from` gives new rank `to`
    if (from >= old_ranks || to < 0) return 0;
    const long begin = std::max(block_begin(from, old_ranks), block_begin(to, new_ranks));
    const long end = std::min(block_begin(from + 1, old_ranks), block_begin(to + 1, new_ranks));
    return std::max(0l, end - begin);
  };
  std::vector<int> out(all), out_at(all), in(all), in_at(all);
  for (int r = 0; r < all; ++r) {
    out[r] = static_cast<int>(overlap(me, next_ranks[r]));
    in[r] = static_cast<int>(overlap(r, next_rank));
    const long begin =
        next_ranks[r] < 0 ? 0 : std::max(block_begin(me, old_ranks), block_begin(next_ranks[r], new_ranks));
    out_at[r] = out[r] ? static_cast<int>(begin - block_begin(me, old_ranks)) : 0;
  }
  std::exclusive_scan(in.begin(), in.end(), in_at.begin(), 0);
  std::vector<double> fresh(std::accumulate(in.begin(), in.end(), 0l));
  MPI_Alltoallv(s.mine.data(), out.data(), out_at.data(), MPI_DOUBLE, fresh.data(), in.data(), in_at.data(),
                MPI_DOUBLE, union_comm);
  return fresh;
}

void adapt_window(State& s) {
  MPI_Comm inter, next, union_comm;
  int staying = 0, leaving = 0, joining = 0;
  if (MPI_Comm_adapt_begin(&inter, &next, &staying, &leaving, &joining)) bad("begin", 1, 0);
  die_if("in_window");
  stop_if("stop_in_window");
  if (trapped("abort_window")) MPIX_Comm_adapt_abort();
  MPIX_Comm_adapt_union(&union_comm);
  std::vector<double> fresh = redistribute(s, union_comm, next, staying + leaving, staying + joining);
  long iteration = s.iteration;
  MPI_Bcast(&iteration, 1, MPI_LONG, 0, union_comm);
  die_if("before_commit");
  if (MPI_Comm_adapt_commit() == MPI_SUCCESS) {
    defuse();
    s.mine = std::move(fresh);
    s.iteration = iteration;
    ++s.changes;
  } else {
    ++s.rollbacks;
  }
}

void make_objects(const State& s) {
  MPI_Comm copy, half;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_split(copy, rank % 2, rank, &half);
  double* memory = nullptr;
  MPI_Win window;
  MPI_Win_allocate(sizeof(double), sizeof(double), MPI_INFO_NULL, copy, static_cast<void*>(&memory), &window);
  MPI_Win_fence(0, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  const std::string name = std::string(std::getenv("EMPI_TEST_FILE")) + std::to_string(s.iteration % 2);
  MPI_File file;
  if (MPI_File_open(copy, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
      MPI_SUCCESS) {
    MPI_File_write_at_all(file, rank * sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
  } else {
    bad("file", 1, 0);
  }
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
}

// One iteration; true when the job is to end.
bool step(State& s, const char* stop_file) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct stat info{};
  const double stop = stat(stop_file, &info) == 0;
  const double iteration = static_cast<double>(s.iteration);
  double in[4] = {std::accumulate(s.mine.begin(), s.mine.end(), 0.0), static_cast<double>(s.mine.size()),
                  stop, iteration};
  double out[4] = {};
  MPI_Allreduce(in, out, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (out[0] != kElements * (kElements - 1) / 2.0) bad("checksum", out[0], kElements * (kElements - 1) / 2.0);
  if (out[1] != kElements) bad("number of elements", out[1], kElements);
  if (out[3] != iteration * size) bad("iteration", out[3], iteration * size);
  ++s.iteration;
  usleep(4000);
  return out[2] > 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* stop_file = argc > 1 ? argv[1] : "stop";
  const bool objects = argc > 2 && !std::strcmp(argv[2], "objects");
  const char* new_or_joining = std::getenv("EMPI_STATUS");
  const bool joiner = new_or_joining && !std::strcmp(new_or_joining, "joining");
  if (joiner) {
    die_if("before_init");
    set_time_bomb();
    if (trapped("no_init")) pause();
  }
  int status = 0, adapt = 0, rank = 0, size = 0;
  State s;
  MPI_Init_adapt(&argc, &argv, &status);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (status == MPI_ADAPT_STATUS_JOINING) {
    die_if("after_init");
    if (trapped("abort_after_init") && rank == 0) MPI_Abort(MPI_COMM_WORLD, 5);
    stop_if("stop_after_init");
    adapt_window(s);
  } else {
    s.mine.resize(block_begin(rank + 1, size) - block_begin(rank, size));
    std::iota(s.mine.begin(), s.mine.end(), static_cast<double>(block_begin(rank, size)));
  }
  for (bool done = false; !done;) {
    MPI_Probe_adapt(&adapt, &status, nullptr);
    if (adapt == MPI_ADAPT_TRUE) {
      const int before = s.changes;
      adapt_window(s);
      if (status == MPI_ADAPT_STATUS_LEAVING && s.changes > before) {
        stop_if("stop_leaving");
        break;
      }
    }
    if (objects) make_objects(s);
    done = step(s, stop_file);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (status != MPI_ADAPT_STATUS_LEAVING && rank == 0)
    std::printf("finished: size %d, iterations %ld, changes %d, rollbacks %d\n", size, s.iteration, s.changes,
                s.rollbacks);
  MPI_Finalize();
  if (status == MPI_ADAPT_STATUS_LEAVING) stop_if("stop_left");
  // It has said that it is over, and the kernel may still be taking it away.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (thread_is_left("empi control") && std::chrono::steady_clock::now() < patience)
    std::this_thread::yield();
  if (thread_is_left("empi control")) {
    std::printf("BAD: after MPI_Finalize the control thread still runs\n");
    return 4;
  }
  if (status != MPI_ADAPT_STATUS_LEAVING) stop_if("stop_at_end");
  return status != MPI_ADAPT_STATUS_LEAVING && trapped("end_with_7") ? 7 : 0;
}
