// SPDX-License-Identifier: Apache-2.0
// What the policies promise. The clock is the test's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "operator/decide/testing/policy_input.hpp"

namespace emj {
namespace {

using namespace testing_policy;
using testing::HasSubstr;

// --- threshold --------------------------------------------------------------------------------------

TEST(Threshold, DoublesBelowLAndHalvesAboveU) {
  EXPECT_EQ(judge(input_with({.05, .05, .05})).wanted, 8);
  EXPECT_EQ(judge(input_with({.05, .05, .05})).verdict, Verdict::Scale);
  EXPECT_EQ(judge(input_with({.8, .8, .8})).wanted, 2);
  EXPECT_EQ(judge(input_with({.3, .3, .3})).verdict, Verdict::Keep);
}

TEST(Threshold, MovesByAStepWhenToldSo) {
  PolicyInput input = input_with({.05, .05, .05});
  input.step.workers = 3;
  EXPECT_EQ(judge(input).wanted, 7);
  input = input_with({.8, .8, .8});
  input.step.workers = 3;
  EXPECT_EQ(judge(input).wanted, 1);
}

TEST(Threshold, ClampsToLimitsAndAllowedSizes) {
  PolicyInput input = input_with({.05, .05, .05});
  input.max = 6;
  EXPECT_EQ(judge(input).wanted, 6);
  input.allowed = {1, 2, 4};
  EXPECT_EQ(judge(input).verdict, Verdict::Keep);
  EXPECT_THAT(judge(input).line, HasSubstr("8 is beyond"));
  input = input_with({.8, .8, .8});
  input.min = 3;
  EXPECT_EQ(judge(input).wanted, 3);
}

TEST(Threshold, TheTrendSeesARiseBeforeTheAverageDoes) {
  const PolicyInput rising = input_with({.3, .5, .7});
  EXPECT_LT(average_mtct(rising.windows), .6);
  EXPECT_EQ(judge(rising).wanted, 2);
}

TEST(Threshold, OneOutlierIsNoTrend) {
  EXPECT_EQ(judge(input_with({.3, .3, .3, .55, .3}),
                  [] {
                    auto s = quick();
                    s.windows = 5;
                    return s;
                  }())
                .verdict,
            Verdict::Keep);
}

TEST(Threshold, NamesWhatCostsTheEfficiency) {
  PolicyInput input = input_with({.8, .8, .8});
  for (Sample& sample : input.windows) {
    sample.load_balance = .58;
    sample.communication_efficiency = .96;
  }
  EXPECT_THAT(judge(input).line,
              HasSubstr("load balance 0.58, communication efficiency 0.96: imbalance costs most"));
  for (Sample& sample : input.windows) std::swap(sample.load_balance, sample.communication_efficiency);
  EXPECT_THAT(judge(input).line, HasSubstr("communication costs most"));
}

TEST(Threshold, SaysItsNumbersInOneLine) {
  const std::string line = judge(input_with({.05, .05, .05})).line;
  for (const char* part : {"threshold: ", "MTCT 0.050", "3 windows", "0.10", "4 -> 8 workers"})
    EXPECT_THAT(line, HasSubstr(part));
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

// --- stepping and random ----------------------------------------------------------------------------

// Sizes over `count` intervals, each decision carried out at once.
std::vector<int> sizes_over(const AutoscalingSpec& spec, PolicyInput input, int count) {
  PolicyState state;
  std::vector<int> sizes;
  autoscale(spec, input, state);
  for (int i = 0; i < count; ++i) {
    input.now += Seconds(60);
    input.current = autoscale(spec, input, state).wanted;
    sizes.push_back(input.current);
  }
  return sizes;
}

TEST(Stepping, GoesUpToTheMaximumOrDownToTheMinimum) {
  AutoscalingSpec spec = quick();
  spec.policy.name = PolicyName::Stepping;
  spec.policy.stepping.step = 3;
  PolicyInput input;
  input.current = 1;
  input.max = 8;
  input.now = t0;
  EXPECT_THAT(sizes_over(spec, input, 4), testing::ElementsAre(4, 7, 8, 8));
  spec.policy.stepping.step = -3;
  input.current = 8;
  input.min = 2;
  EXPECT_THAT(sizes_over(spec, input, 3), testing::ElementsAre(5, 2, 2));
}

TEST(Stepping, TakesOneStepPerIntervalAfterALongPauseToo) {
  AutoscalingSpec spec = quick();
  spec.policy.name = PolicyName::Stepping;
  PolicyState state;
  PolicyInput input;
  input.current = 1;
  input.max = 8;
  input.now = t0;
  EXPECT_EQ(autoscale(spec, input, state).verdict, Verdict::Keep);
  input.now += Seconds(59);
  const AutoscaleResult early = autoscale(spec, input, state);
  EXPECT_EQ(early.verdict, Verdict::Keep);
  EXPECT_EQ(early.look_again, t0 + Seconds(60));
  input.now += Seconds(600);
  EXPECT_EQ(autoscale(spec, input, state).wanted, 2);
}

TEST(Random, IsUniformOverTheSizesAndRepeatable) {
  AutoscalingSpec spec = quick();
  spec.policy.name = PolicyName::Random;
  PolicyInput input;
  input.current = 1;
  input.min = 2;
  input.max = 5;
  input.now = t0;
  const std::vector<int> sizes = sizes_over(spec, input, 4000);
  EXPECT_EQ(sizes, sizes_over(spec, input, 4000)) << "the same seed, the same sizes";
  std::map<int, int> counts;
  for (const int size : sizes) ++counts[size];
  EXPECT_EQ(counts.size(), 4u);
  for (const auto& [size, count] : counts) EXPECT_NEAR(count, 1000, 150) << size;  // 5 sigma
  spec.policy.random.seed = 2;
  EXPECT_NE(sizes, sizes_over(spec, input, 4000));
  input.allowed = {2, 4};
  for (const int size : sizes_over(spec, input, 100)) EXPECT_TRUE(size == 2 || size == 4);
}

}  // namespace
}  // namespace emj
