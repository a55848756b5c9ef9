// SPDX-License-Identifier: Apache-2.0
// Promise: what fails on one rank ends all of them, with the same words. Run with several numbers of ranks.
#include "apps/io/collective_try.hpp"

#include <gtest/gtest.h>

namespace io {
namespace {

struct World {
  int rank = 0, ranks = 0;
  World() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }
};

template <class Call>
std::string words_of(Call&& call) {
  try {
    call();
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

TEST(Together, RunsOnEveryRank) {
  bool ran = false;
  together(MPI_COMM_WORLD, [&] { ran = true; });
  EXPECT_TRUE(ran);
}

TEST(Together, AllHaveTheErrorOfTheFirstThatFails) {
  const World world;
  const std::string words = words_of([&] {
    together(MPI_COMM_WORLD, [&] {
      // The last two ranks, each for a reason of its own.
      if (world.rank >= world.ranks - 2) throw std::runtime_error("rank " + std::to_string(world.rank));
    });
  });
  EXPECT_EQ(words, "rank " + std::to_string(std::max(0, world.ranks - 2)));
}

TEST(Together, TheFirstRankAloneWritesAndAllKnowThatItCannot) {
  const World world;
  int runs = 0;
  on_first_rank(MPI_COMM_WORLD, [&] { ++runs; });
  EXPECT_EQ(runs, world.rank == 0 ? 1 : 0);
  EXPECT_EQ(words_of([] { on_first_rank(MPI_COMM_WORLD, [] { throw FileError("no room"); }); }), "no room");
}

// A loop that goes on without a lost rank knows a loss by its code (elastic::Loop::recoverable).
TEST(Together, AnErrorOfMpiIsPassedOnWithItsCode) {
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int code = MPI_SUCCESS;
  try {
    together(MPI_COMM_NULL, [] {});
  } catch (const elastic::Error& error) {
    code = error.code();
  }
  for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(comm, before);
  MPI_Errhandler_free(&before);
  EXPECT_EQ(code, MPI_ERR_COMM);
}

}  // namespace
}  // namespace io
