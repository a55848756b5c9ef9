// SPDX-License-Identifier: Apache-2.0
#include "operator/simulate/speedup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/simulate/testing/random_trace.hpp"

namespace emj::simulate {
namespace {

using testing::HasSubstr;

Speed downey(const std::string& text, int reference = 1) {
  const auto model = SpeedupModel::parse(text);
  EXPECT_TRUE(model.ok());
  return model.value().of(reference);
}

TEST(Speedup, OfAmdahlIsGivenByTheEfficiencyAtTheRequest) {
  const auto model = SpeedupModel::parse("amdahl:.5");
  ASSERT_TRUE(model.ok());
  const Speed speed = model.value().of(16);
  EXPECT_DOUBLE_EQ(speed(16), 1);
  EXPECT_NEAR(speed(16) / (16 * speed(1)), .5, 1e-12);
  EXPECT_NEAR(SpeedupModel().of(16)(16) / (16 * SpeedupModel().of(16)(1)), .8, 1e-12);
  EXPECT_NEAR(SpeedupModel().of(16, .1)(16) / (16 * SpeedupModel().of(16, .1)(1)), .9, 1e-12);
}

// Values by hand from the equations of the report; its two branches meet at n = A, and at 2 A - 1 all of the
// parallelism is used.
TEST(Speedup, OfDowneyFollowsHisEquations) {
  EXPECT_DOUBLE_EQ(downey("downey:64,0")(40), 40);
  EXPECT_DOUBLE_EQ(downey("downey:64,0")(100), 64);
  const Speed low = downey("downey:64,1");
  EXPECT_DOUBLE_EQ(low(1), 1);
  EXPECT_NEAR(low(64), 64. * 64 / (64 + 31.5), 1e-12);
  EXPECT_NEAR(low(65), 64. * 65 / (63.5 + 32.5), 1e-12);
  EXPECT_DOUBLE_EQ(low(127), 64);
  EXPECT_DOUBLE_EQ(low(1000), 64);
  const Speed high = downey("downey:64,2");
  EXPECT_DOUBLE_EQ(high(1), 1);
  EXPECT_NEAR(high(100), 100. * 64 * 3 / (2 * 163 + 64), 1e-12);
  EXPECT_DOUBLE_EQ(high(190), 64);
  EXPECT_NEAR(downey("downey:64,1", 64)(127), 64 / (64. * 64 / 95.5), 1e-12) << "over that at the request";
}

TEST(Speedup, OfATableIsThatOfItsLines) {
  const auto model = SpeedupModel::parse_table("workers,speed\n2,1.8\n8,4\n", "t.csv");
  ASSERT_TRUE(model.ok()) << model.error();
  const Speed speed = model.value().of(8);
  EXPECT_DOUBLE_EQ(speed(8), 1);
  EXPECT_DOUBLE_EQ(speed(2), 1.8 / 4);
  EXPECT_NEAR(speed(4), std::sqrt(1.8 * 4) / 4, 1e-12) << "half way on a logarithmic axis";
  EXPECT_DOUBLE_EQ(speed(1), .9 / 4) << "in proportion before the first";
  EXPECT_DOUBLE_EQ(speed(64), 1) << "no faster beyond the last";
}

TEST(Speedup, GivesTheSizesWithAnEfficiency) {
  const auto flat = SpeedupModel::parse("downey:64,0");
  EXPECT_EQ(flat.value().size_at(.95, 32, 200), 67);
  EXPECT_EQ(flat.value().size_at(.5, 32, 200), 128);
  EXPECT_EQ(flat.value().size_at(.5, 32, 100), 100) << "as many as there are";
  EXPECT_EQ(SpeedupModel().size_at(.95, 40, 200), 9);
  EXPECT_EQ(SpeedupModel().size_at(.5, 40, 200), 157);
}

TEST(Speedup, RefusesWhatItDoesNotKnowInOneSentence) {
  const auto why = [](const std::string& text) {
    const auto model = SpeedupModel::parse(text);
    return model.ok() ? "" : model.error();
  };
  EXPECT_THAT(why("linear"),
              HasSubstr("there are amdahl:EFFICIENCY, downey:PARALLELISM,VARIANCE, and files"));
  EXPECT_THAT(why("amdahl"), HasSubstr("as in amdahl:.8"));
  EXPECT_THAT(why("amdahl:1"), HasSubstr("between 0.1 and 0.99"));
  EXPECT_THAT(why("amdahl:nan"), HasSubstr("between 0.1 and 0.99"));
  EXPECT_THAT(why("downey:64"), HasSubstr("as in downey:64,1"));
  EXPECT_THAT(why("downey:.5,1"), HasSubstr("1 to 1e+06 processors"));
  const auto table = [](const std::string& text) {
    const auto model = SpeedupModel::parse_table(text, "t.csv");
    return model.ok() ? "" : model.error();
  };
  EXPECT_EQ(table("n,s\n"), "t.csv:1: expected the line workers,speed");
  EXPECT_THAT(table("workers,speed\n"), HasSubstr("no line but the first"));
  EXPECT_THAT(table("workers,speed\n4,3\n2,1\n"), HasSubstr("t.csv:3: the numbers of workers are to ascend"));
  EXPECT_THAT(table("workers,speed\n4,-3\n"), HasSubstr("t.csv:2: expected a number of workers"));
}

// --spread: a user's jobs of one request are runs of one program.
TEST(Speedup, SpreadIsBetweenProgramsAndNotBetweenTheirRuns) {
  Trace trace = random_trace(3, 400, 1);
  for (TraceJob& job : trace.jobs) job.user = job.number % 7;
  const Workload workload = make_workload(trace, 32, {.spread_percent = 20});
  double least = 1, most = 0;
  std::map<std::pair<int, int>, double> efficiencies;
  for (const Job& job : workload.jobs) {
    if (job.reference == 1) continue;
    const double efficiency = 1 / (job.reference * job.single);
    const auto [known, first] = efficiencies.try_emplace({job.user, job.reference}, efficiency);
    EXPECT_DOUBLE_EQ(known->second, efficiency);
    least = std::min(least, efficiency);
    most = std::max(most, efficiency);
    EXPECT_EQ(job.floor, make_workload(trace, 32, {}).jobs[&job - workload.jobs.data()].floor)
        << "users do not know it when they say how far a job may shrink";
  }
  EXPECT_GE(least, .6 - 1e-9);
  EXPECT_LT(least, .7);
  EXPECT_LE(most, .98 + 1e-9);
  EXPECT_GT(most, .9);
}

}  // namespace
}  // namespace emj::simulate
