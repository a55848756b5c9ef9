// SPDX-License-Identifier: Apache-2.0
// Promise: ranks write one file, also where some of them do not see it; what fails on one is said by all, in
// the same words, and nothing is left. Run with several numbers of ranks, on plain MPI.
#include "apps/io/vtkhdf_writer.hpp"

#include <gmock/gmock.h>
#include <mpi.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "apps/io/test_shared_folder.hpp"

namespace io::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A folder of all ranks, which is also the working folder until it goes.
class ParallelGrid : public ::testing::Test {
 public:
  ParallelGrid() : before_(fs::current_path()) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    fs::current_path(folder);
  }
  ~ParallelGrid() override { fs::current_path(before_); }

 protected:
  // As many squares in a row as the rank's number says, and two: of the second rank none.
  GridPiece piece(int of) const {
    GridPiece squares;
    std::vector<float> value;
    std::vector<std::int32_t> owner;
    for (int k = 0; of != 1 && k < of + 2; ++k) {
      const auto x = static_cast<float>(100 * of + k);
      const auto first = static_cast<std::int32_t>(squares.point_count());
      squares.points.insert(squares.points.end(), {x, 0, 0, x + 1, 0, 0, x + 1, 1, 0, x, 1, 0});
      for (const int corner : {0, 1, 2, 0, 2, 3}) squares.connectivity.push_back(first + corner);
      value.insert(value.end(), {x, x + .5F}), owner.insert(owner.end(), {of, of});
    }
    squares.cell_data = {{"owner", "1", "rank", owner}, {"x", "m", "a value", value}};
    return squares;
  }
  GridHead head() const { return {60, "s", "a case", "m", {{"ranks", "1", static_cast<double>(ranks)}}}; }

  std::string error_of_writing(const std::string& path) const {
    return file_error_of([&] { write_vtkhdf(MPI_COMM_WORLD, head(), piece(rank), path); });
  }
  // All ranks have the same words.
  void expect_agreed(const std::string& words) const {
    std::string first = words;
    first.resize(1000);
    MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    EXPECT_EQ(words, first.c_str());
  }
  void expect_whole(const std::string& path) const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      const GridFile file = read_vtkhdf(path);
      EXPECT_EQ(file.head, head());
      std::size_t next = 0;
      for (int of = 0; of < ranks; ++of)
        if (of != 1) {
          ASSERT_LT(next, file.pieces.size());
          EXPECT_EQ(file.pieces[next++], piece(of)) << "of rank " << of;
        }
      EXPECT_EQ(file.pieces.size(), next);
      EXPECT_FALSE(fs::exists(path + ".part"));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  int rank = 0, ranks = 0;
  const SharedFolder shared;
  const std::string folder = shared.path("");

 private:
  const fs::path before_;
};

TEST_F(ParallelGrid, IsWhatTheRanksHold) {
  EXPECT_EQ(error_of_writing(folder + "a.vtkhdf"), "");
  expect_whole(folder + "a.vtkhdf");
  EXPECT_EQ(error_of_writing(folder + "a.vtkhdf"), "");  // over what is there
  expect_whole(folder + "a.vtkhdf");
}

// Each odd rank is in a folder of its own, as on a host without the others' file system; the third one has a
// file of that name there.
TEST_F(ParallelGrid, RanksThatDoNotSeeTheFileGiveTheirCellsToRank0) {
  const std::string own = folder + "of-" + std::to_string(rank);
  if (rank % 2 == 1) {
    fs::create_directories(own);
    fs::current_path(own);
    if (rank == 3) std::ofstream("a.vtkhdf.part") << std::string(1 << 16, 'x');
  }
  EXPECT_EQ(error_of_writing("a.vtkhdf"), "");
  if (rank == 3) {
    EXPECT_EQ(read_bytes("a.vtkhdf.part"), std::vector<char>(1 << 16, 'x')) << "another file was written to";
  }
  fs::current_path(folder);
  expect_whole("a.vtkhdf");
}

TEST_F(ParallelGrid, AFolderThatIsNotThereIsSaidByAll) {
  const std::string words = error_of_writing(folder + "none/a.vtkhdf");
  EXPECT_THAT(words, HasSubstr("a.vtkhdf: expected to write this file, found No such file"));
  expect_agreed(words);
}

TEST_F(ParallelGrid, WhatOneRankCannotWriteIsSaidByAllAndNothingIsLeft) {
  // No space, for the last rank alone: a write beyond the limit fails. (Rank 0 needs it to lay out the file.)
  const bool limited = ranks > 1 && rank == ranks - 1 && rank != 1;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  if (limited) {
    const rlimit small{16, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  const std::string words = error_of_writing(folder + "a.vtkhdf");
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  expect_agreed(words);
  if (ranks <= 2) return;  // nobody was limited
  EXPECT_THAT(words, HasSubstr("a.vtkhdf: expected to write this file, found File too large"));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(ParallelGrid, APieceThatIsWrongOnOneRankIsRefusedByAll) {
  GridPiece wrong = piece(rank);
  if (rank == ranks - 1) wrong.points.push_back(0);
  const std::string words =
      file_error_of([&] { write_vtkhdf(MPI_COMM_WORLD, head(), wrong, folder + "a.vtkhdf"); });
  EXPECT_THAT(words, HasSubstr("a point has three coordinates"));
  expect_agreed(words);
}

}  // namespace
}  // namespace io::test
