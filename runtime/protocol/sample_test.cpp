#include "runtime/protocol/sample.hpp"

#include <gtest/gtest.h>

namespace empi {
namespace {

WindowSample rank_sample(double useful, double mpi) {
  WindowSample s;
  s.index = 7;
  s.width_s = 1;
  s.ranks = s.pods = 1;
  s.elapsed_s = useful + mpi;
  s.useful_s = s.max_useful_s = s.max_pod_useful_s = useful;
  s.mpi_s = mpi;
  return s;
}

TEST(Efficiency, SplitsIntoBalanceAndCommunication) {
  WindowSample job = rank_sample(0.8, 0.2);
  merge(job, rank_sample(0.4, 0.6));
  const Efficiency e = efficiency(job);
  ASSERT_TRUE(e.known);
  EXPECT_DOUBLE_EQ(e.parallel, 0.6);         // 1.2 / 2
  EXPECT_DOUBLE_EQ(e.load_balance, 0.75);    // 1.2 / (2 * .8)
  EXPECT_NEAR(e.communication, 0.8, 1e-12);  // max U / E
  EXPECT_NEAR(e.parallel, e.load_balance * e.communication, 1e-12);
  EXPECT_NEAR(e.mtct, 1 / 0.6 - 1, 1e-12);
  EXPECT_NEAR(e.wait_s, 0.4, 1e-12);  // the second rank waits for the first
  EXPECT_NEAR(e.transfer_s, 0.4, 1e-12);
}

TEST(Efficiency, MtctOfTheSeedsThresholds) {
  EXPECT_NEAR(efficiency(rank_sample(0.8, 0.2)).mtct, 0.25, 1e-12);
  EXPECT_NEAR(efficiency(rank_sample(0.5, 0.5)).mtct, 1.0, 1e-12);
}

TEST(Efficiency, UnknownWithoutRanks) { EXPECT_FALSE(efficiency(WindowSample{}).known); }

TEST(Efficiency, AdaptationCountsNeitherForNorAgainstTheSize) {
  WindowSample s = rank_sample(0.45, 0.05);
  s.elapsed_s = 1;
  s.adapt_s = 0.5;
  EXPECT_NEAR(efficiency(s).parallel, 0.9, 1e-12);
}

TEST(Merge, MarksWindowsThatSawTwoEpochs) {
  WindowSample a = rank_sample(1, 0), b = rank_sample(1, 0);
  b.epoch = 1;
  merge(a, b);
  EXPECT_TRUE(a.mixed);
  EXPECT_EQ(a.epoch, 1);
  EXPECT_EQ(a.ranks, 2);
}

TEST(HalfWidth, NeedsIterationsAndShrinksWithThem) {
  WindowSample w;
  EXPECT_EQ(relative_half_width({w}), 1);
  w.iterations = 100;
  w.iteration_s = 100 * 0.1;
  w.iteration_s2 = 50 * 0.09 * 0.09 + 50 * 0.11 * 0.11;  // mean .1, deviation .01
  const double one = relative_half_width({w});
  EXPECT_NEAR(one, 1.96 * 0.1 / 10, 2e-4);
  EXPECT_NEAR(relative_half_width({w, w, w, w}), one / 2, 2e-4);
}

}  // namespace
}  // namespace empi
