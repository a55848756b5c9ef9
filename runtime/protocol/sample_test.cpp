// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/sample.hpp"

#include <gtest/gtest.h>

#include <cmath>

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

WindowSample task_sample(TaskQueue queue, std::uint64_t ended, double mean, double busy) {
  WindowSample s = rank_sample(1, 0);
  s.tasks.queue = queue;
  s.tasks.ended = ended;
  s.tasks.task_s = static_cast<double>(ended) * mean;
  s.tasks.task_s2 = static_cast<double>(ended) * mean * mean;
  s.tasks.busy_s = busy;
  return s;
}

TEST(Tasks, ThoseOfAllRanksMakeMeanSpreadAndIdleTime) {
  // One rank computed 4 tasks of .2 s, the other 2 of .4 s; the first keeps the queue.
  WindowSample job = task_sample({Pattern::MasterWorker, 1, 100, 6, 80}, 4, .2, .8);
  merge(job, task_sample({}, 2, .4, .6));
  EXPECT_TRUE(job.master_worker());
  EXPECT_EQ(job.tasks.queue.queued, 80u);
  const TaskEfficiency e = task_efficiency(job);
  ASSERT_TRUE(e.known);
  EXPECT_NEAR(e.mean_s, 1.6 / 6, 1e-12);
  EXPECT_NEAR(e.deviation_s, std::sqrt((4 * .04 + 2 * .16 - 6 * e.mean_s * e.mean_s) / 5), 1e-12);
  EXPECT_NEAR(e.idle_s, .6, 1e-12);
  EXPECT_NEAR(e.idle_share, .3, 1e-12);
}

TEST(Tasks, AProgramWithoutThemHasNoTaskEfficiency) {
  EXPECT_FALSE(task_efficiency(rank_sample(1, 0)).known);
}

TEST(Tasks, OfTwoQueuesTheOneFurtherOnIsRightInEitherOrder) {
  const TaskQueue old{Pattern::MasterWorker, 1, 100, 40, 30},
      taken_over{Pattern::MasterWorker, 1, 100, 41, 29};
  for (const bool swap : {false, true}) {
    WindowSample s = task_sample(swap ? taken_over : old, 0, 0, 0);
    merge(s, task_sample(swap ? old : taken_over, 0, 0, 0));
    EXPECT_EQ(s.tasks.queue.done, 41u);
  }
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
