// SPDX-License-Identifier: Apache-2.0
// Run by mpirun. Promise: after a move on a communicator of stayers, leavers and joiners nothing is lost,
// duplicated or reordered, leavers are empty, and bad arguments throw on every rank instead of hanging.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <random>
#include <string>

#include "elastic_mpi/blocks.hpp"
#include "elastic_mpi/cuts.hpp"
#include "elastic_mpi/replicate.hpp"
#include "elastic_mpi/sequence.hpp"

namespace elastic {
namespace {

struct Cell {
  std::int64_t number;
  double value;
  float weight;
  bool first_of_family;
};

Cell cell(std::int64_t number) {
  std::mt19937_64 random(static_cast<std::uint64_t>(number) + 17);
  return {number, static_cast<double>(random()), static_cast<float>(random() % 5), random() % 3 == 0};
}

class Redistribute : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
  void TearDown() override { MPI_Comm_free(&comm); }

  std::size_t me() const { return static_cast<std::size_t>(rank); }

  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 0;
};

// The same stream of random numbers on every rank.
std::vector<std::int64_t> random_offsets(std::mt19937_64& random, int size, std::int64_t count) {
  std::vector<std::int64_t> offsets{0, count};
  for (int r = 1; r < size; ++r)
    offsets.push_back(
        random() % 4 == 0 ? 0 : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count + 1)));
  std::ranges::sort(offsets);
  return offsets;
}

TEST_F(Redistribute, SequencesArriveWholeAndInOrder) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    const auto count = static_cast<std::int64_t>(random() % 10 == 0 ? 0 : random() % 3000);
    const auto offsets = random_offsets(random, size, count);
    std::vector<double> capacity;
    for (int r = 0; r < size; ++r) capacity.push_back(random() % 3 == 0 ? 0.0 : 1.0 + double(random() % 4));
    capacity[random() % capacity.size()] = 1;
    const bool weighted = random() % 2, marked = random() % 2;

    std::vector<Cell> mine;
    std::vector<double> weight, all_weights;
    std::vector<std::uint8_t> may_cut, all_marks;
    for (std::int64_t i = 0; i < count; ++i) {
      const Cell c = cell(i);
      if (weighted) all_weights.push_back(c.weight);
      if (marked) all_marks.push_back(c.first_of_family);
      if (i < offsets[me()] || i >= offsets[me() + 1]) continue;
      mine.push_back(c);
      if (weighted) weight.push_back(c.weight);
      if (marked) may_cut.push_back(c.first_of_family);
    }
    const auto got = move_sequence<Cell>(comm, mine, weight, capacity[me()], may_cut);

    const auto expected = cuts(count, all_weights, capacity, all_marks);
    ASSERT_EQ(static_cast<std::int64_t>(got.size()), expected[me() + 1] - expected[me()])
        << "trial " << trial;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Cell want = cell(expected[me()] + static_cast<std::int64_t>(i));
      ASSERT_EQ(got[i].number, want.number) << "trial " << trial;
      ASSERT_EQ(got[i].value, want.value);
    }
    ASSERT_EQ(static_cast<std::int64_t>(mine.size()), offsets[me() + 1] - offsets[me()]);
  }
}

TEST_F(Redistribute, OnePlanMovesManyArrays) {
  const std::int64_t mine = rank == 0 ? 1000 : 0;
  const SequencePlan plan(comm, mine, 0, {}, 1.0);
  std::vector<double> a;
  std::vector<char> b;
  for (std::int64_t i = 0; i < mine; ++i) {
    a.push_back(static_cast<double>(i) / 3);
    b.push_back(static_cast<char>(i % 101));
  }
  const auto new_a = plan.move<double>(comm, a);
  const auto new_b = plan.move<char>(comm, b);
  ASSERT_EQ(new_a.size(), new_b.size());
  for (std::size_t i = 0; i < new_a.size(); ++i) {
    const auto global = plan.new_offsets()[me()] + static_cast<std::int64_t>(i);
    ASSERT_EQ(new_a[i], static_cast<double>(global) / 3);
    ASSERT_EQ(new_b[i], static_cast<char>(global % 101));
  }
  EXPECT_EQ(plan.sent_bytes(8), rank == 0 ? 8 * (1000 - plan.new_count()) : 0);
}

TEST_F(Redistribute, BlocksKeepTheirRows) {
  constexpr std::int64_t rows = 103, columns = 7;
  const auto start = equal_rows(rows, size, rank);
  std::vector<double> u;
  for (std::int64_t i = 0; i < start.count * columns; ++i)
    u.push_back(static_cast<double>(start.first * columns + i));
  // Rank 0 leaves and comes back; then everybody is equal again.
  const bool alone = size == 1;
  const auto without_first = move_block<double>(comm, u, columns, rank == 0 && !alone ? 0.0 : 1.0);
  if (rank == 0 && !alone) {
    EXPECT_TRUE(without_first.empty());
  }
  const auto back = move_block<double>(comm, without_first, columns, 1.0);
  EXPECT_EQ(back, u);
}

TEST_F(Redistribute, BytesOfTheRootReachEverybody) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{100000}}) {
    std::vector<std::byte> bytes(me() == 0 ? n : 3, std::byte{static_cast<unsigned char>(rank + 1)});
    broadcast_bytes(comm, 0, bytes);
    EXPECT_EQ(bytes, std::vector<std::byte>(n, std::byte{1}));
  }
}

TEST_F(Redistribute, BadArgumentsThrowEverywhere) {
  const std::vector<double> data(4, 1.0), three(3, 1.0), bad{1, -1, 1, 1};
  const std::vector<double> none;
  const bool last = rank == size - 1;
  EXPECT_THROW(move_sequence<double>(comm, data, last ? three : data, 1.0), Error);
  EXPECT_THROW(move_sequence<double>(comm, data, last ? bad : data, 1.0), Error);
  EXPECT_THROW(move_sequence<double>(comm, data, none, 0.0), Error);
  EXPECT_THROW(move_sequence<double>(comm, data, none, last ? -1.0 : 1.0), Error);
  EXPECT_THROW(move_block<double>(comm, last ? three : data, 2, 1.0), Error);
  if (size > 1) {
    EXPECT_THROW(move_sequence<double>(comm, data, last ? none : data, 1.0), Error);
    EXPECT_THROW(SequencePlan(comm, 4, last ? 4 : 8, none, 1.0), Error);
  }
  // The communicator is still in order.
  EXPECT_NO_THROW(move_sequence<double>(comm, data, none, 1.0));
}

TEST_F(Redistribute, AFailedCommunicatorThrowsAndKeepsTheOldData) {
  if (size == 1) GTEST_SKIP() << "needs another rank";
  MPI_Comm broken = MPI_COMM_NULL;
  MPI_Comm_split(comm, rank == 0 ? MPI_UNDEFINED : 0, rank, &broken);
  const std::vector<int> data{1, 2, 3};
  if (rank != 0) MPI_Comm_set_errhandler(broken, MPI_ERRORS_RETURN);
  if (rank == 0) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  // MPI_COMM_NULL on rank 0 stands for a communicator MPI refuses.
  if (rank == 0) {
    EXPECT_THROW(move_sequence<int>(broken, data, {}, 1.0), Error);
  } else {
    EXPECT_EQ(move_sequence<int>(broken, data, {}, 1.0).size(), 3u);
    MPI_Comm_free(&broken);
  }
  EXPECT_EQ(data, (std::vector<int>{1, 2, 3}));
}

}  // namespace
}  // namespace elastic

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0)
    delete testing::UnitTest::GetInstance()->listeners().Release(
        testing::UnitTest::GetInstance()->listeners().default_result_printer());
  struct OnRank : testing::EmptyTestEventListener {
    void OnTestPartResult(const testing::TestPartResult& r) override {
      if (r.failed())
        std::cerr << "rank " << rank << ": " << r.file_name() << ":" << r.line_number() << ": " << r.summary()
                  << "\n";
    }
    int rank = 0;
  };
  auto* listener = new OnRank;
  listener->rank = rank;
  testing::UnitTest::GetInstance()->listeners().Append(listener);
  const int mine = RUN_ALL_TESTS();
  int worst = 0;
  MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return worst;
}
