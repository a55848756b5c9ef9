// SPDX-License-Identifier: Apache-2.0
// Splits the first vote on a change, as the loss of a rank in it may (decision R18): EMPI_TEST_SPLIT_VOTE is
// "FOLDER VICTIM DOUBTER", ranks of the old world. When all have voted the victim dies, and the doubter is
// told what MPI tells who has met that: not how the vote ended. Part of a program that is linked before
// libmpi.
#include <dlfcn.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <elastic_mpi.hpp>
#include <filesystem>
#include <fstream>
#include <string>

// clang-format off: needs mpi.h before it
#include <mpi-ext.h>
// clang-format on

namespace {

constexpr int kMostTurns = 10'000;  // of a millisecond

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// The calls of this rank from the end of its moving to that of its vote: that is its only reduction there.
bool g_votes = false;

struct Split {
  char folder[200] = {};
  int victim = -1, doubter = -1;
};

bool is_told(Split& split) {
  const char* text = std::getenv("EMPI_TEST_SPLIT_VOTE");
  const char* status = std::getenv("EMPI_STATUS");
  return text && status && std::string(status) != "joining" &&
         std::sscanf(text, "%199s %d %d", split.folder, &split.victim, &split.doubter) == 3;
}

// What it has sent may not have left yet: it lives until all have it.
void die_when_all_know(const Split& split, int ranks) {
  const auto knows = [&](int rank) {
    return std::filesystem::exists(std::string(split.folder) + "/voted-" + std::to_string(rank));
  };
  for (int rank = 0, turns = 0; rank < ranks && turns < kMostTurns; ++turns) {
    int flag = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    if (knows(rank))
      ++rank;
    else
      usleep(1000);
  }
  raise(SIGKILL);
}

}  // namespace

extern "C" int MPIX_Comm_adapt_moved(double milliseconds, long long bytes) {
  static bool once = false;
  Split split;
  g_votes = !once && is_told(split);
  once = true;
  return next<decltype(MPIX_Comm_adapt_moved)>("MPIX_Comm_adapt_moved")(milliseconds, bytes);
}

extern "C" int PMPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm) {
  static auto* const real = next<decltype(PMPI_Allreduce)>("PMPI_Allreduce");
  const int result = real(from, to, count, type, op, comm);
  if (!g_votes) return result;
  g_votes = false;
  Split split;
  is_told(split);
  int rank = 0, ranks = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  std::ofstream(std::string(split.folder) + "/voted-" + std::to_string(rank)) << "\n";
  if (rank == split.victim) die_when_all_know(split, ranks);
  return rank == split.doubter ? MPIX_ERR_PROC_FAILED : result;
}
