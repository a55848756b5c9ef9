// SPDX-License-Identifier: Apache-2.0
// The first 2,000 jobs of a real machine's log: skipped where that is not there.
#include "operator/simulate/testing/kth.hpp"

#include <gtest/gtest.h>

#include "operator/decide/queue/demand.hpp"
#include "operator/simulate/metrics.hpp"
#include "operator/simulate/schedule_run.hpp"
#include "operator/simulate/testing/plain_easy.hpp"
#include "operator/simulate/testing/random_trace.hpp"

namespace emj::simulate {
namespace {

using queue::Backfill, queue::Objective, queue::Rules;

constexpr std::size_t kJobs = 2000;

// I12, and that the trace is not too easy to show anything.
TEST(Kth, OfRigidJobsIsTextbookEasyJobByJob) {
  const auto trace = kth(kJobs);
  if (!trace) GTEST_SKIP() << trace.error().message;
  const Workload workload = made(trace.value(), 0);
  ASSERT_EQ(workload.jobs.size(), kJobs);
  const std::vector<double> plain = plain_easy(trace.value());
  const ScheduleRun easy = run_easy(workload);
  const ScheduleRun ours = run_elastic(workload, {});
  int waited = 0, passed = 0;
  for (std::size_t i = 0; i < kJobs; ++i) {
    ASSERT_DOUBLE_EQ(seconds_between(kOrigin, easy.jobs[i].start), plain[i]) << "job " << i + 1;
    ASSERT_EQ(ours.jobs[i].start, easy.jobs[i].start) << "job " << i + 1;
    ASSERT_EQ(ours.jobs[i].end, easy.jobs[i].end) << "job " << i + 1;
    waited += easy.jobs[i].start > workload.jobs[i].submit;
    passed += i > 0 && easy.jobs[i].start < easy.jobs[i - 1].start;
  }
  EXPECT_GT(waited, 100);
  EXPECT_GT(passed, 100);
}

// Figures as they were when this was written, of 60 % malleable jobs: whoever changes one of them on purpose
// says why beside it.
struct Stored {
  const char* name;
  void (*set)(Rules&);
  double turnaround;       // s, mean
  double processor_hours;  // of all jobs
  double changes;          // a job, mean
};

void expect_stored(const Trace& trace, const Stored& stored) {
  constexpr double kTolerance = 1e-3;  // of each figure
  ElasticOptions options;
  stored.set(options.rules);
  const Workload workload =
      make_workload(trace, trace.processors, {.malleable_percent = 60, .objective = options.rules.objective});
  const Summary summary = summarise(workload, run_elastic(workload, options));
  EXPECT_NEAR(summary.mean_turnaround, stored.turnaround, kTolerance * stored.turnaround) << stored.name;
  EXPECT_NEAR(summary.processor_hours, stored.processor_hours, kTolerance * stored.processor_hours)
      << stored.name;
  EXPECT_NEAR(summary.changes_per_job, stored.changes, kTolerance * stored.changes) << stored.name;
}

template <Objective objective, Backfill backfill>
void by(Rules& rules) {
  rules.objective = objective;
  rules.backfill = backfill;
}

TEST(Kth, HasTheStoredFiguresByEachObjectiveAndBackfill) {
  const auto trace = kth(kJobs);
  if (!trace) GTEST_SKIP() << trace.error().message;
  const Stored all[] = {
      {"fair, easy", by<Objective::Fair, Backfill::Easy>, 6764.592, 35987.464, 1.0840},
      {"fair, conservative", by<Objective::Fair, Backfill::Conservative>, 6788.965, 35990.516, 1.1070},
      {"fair, none", by<Objective::Fair, Backfill::None>, 15051.816, 36038.344, 1.2180},
      {"throughput, easy", by<Objective::Throughput, Backfill::Easy>, 6741.833, 35953.939, 1.0975},
      {"throughput, conservative", by<Objective::Throughput, Backfill::Conservative>, 6795.890, 35957.146,
       1.1350},
      {"throughput, none", by<Objective::Throughput, Backfill::None>, 15083.491, 36011.682, 1.1280},
      {"turnaround, easy", by<Objective::Turnaround, Backfill::Easy>, 6726.183, 36100.276, 0.9070},
      {"turnaround, conservative", by<Objective::Turnaround, Backfill::Conservative>, 6736.919, 36105.650,
       0.9090},
      {"turnaround, none", by<Objective::Turnaround, Backfill::None>, 14775.765, 36142.633, 0.8915},
      {"makespan, easy", by<Objective::Makespan, Backfill::Easy>, 6802.067, 35951.258, 1.0275},
      {"makespan, conservative", by<Objective::Makespan, Backfill::Conservative>, 6825.249, 35967.819,
       1.0255},
      {"makespan, none", by<Objective::Makespan, Backfill::None>, 15336.361, 36024.005, 1.0615},
      // A trace does not say how much work an iteration is, so nobody grows.
      {"workload, easy", by<Objective::Workload, Backfill::Easy>, 14132.300, 32361.902, 0.0000},
      {"workload, conservative", by<Objective::Workload, Backfill::Conservative>, 14308.705, 32361.902,
       0.0000},
      {"workload, none", by<Objective::Workload, Backfill::None>, 38003.683, 32361.902, 0.0000},
  };
  for (const Stored& stored : all) expect_stored(trace.value(), stored);
}

// Each far from its default, in the direction in which it does something.
TEST(Kth, HasTheStoredFiguresByEachSettingOfGrowthAndMoves) {
  const auto trace = kth(kJobs);
  if (!trace) GTEST_SKIP() << trace.error().message;
  const Stored all[] = {
      {"timeValuePercent: 0", [](Rules& rules) { rules.growth.time_value_percent = 0; }, 14132.300, 32361.902,
       0.0000},
      {"timeValuePercent: 100", [](Rules& rules) { rules.growth.time_value_percent = 100; }, 6182.043,
       39245.701, 1.4445},
      {"minEfficiencyPercent: 80", [](Rules& rules) { rules.growth.min_efficiency_percent = 80; }, 7222.879,
       34859.043, 0.9845},
      {"minStepPercent: 0", [](Rules& rules) { rules.growth.min_step_percent = 0; }, 6732.577, 36016.008,
       1.1770},
      {"minStepPercent: 100", [](Rules& rules) { rules.growth.min_step_percent = 100; }, 7045.961, 35677.995,
       0.5495},
      {"costFactorPercent: 100", [](Rules& rules) { rules.growth.cost_factor_percent = 100; }, 6767.137,
       35989.198, 1.1410},
      {"costFactorPercent: 10000", [](Rules& rules) { rules.growth.cost_factor_percent = 10000; }, 6760.931,
       35960.068, 0.9105},
      {"cooldownSeconds: 0", [](Rules& rules) { rules.growth.cooldown = Seconds(0); }, 6769.467, 35984.989,
       1.3300},
      {"cooldownSeconds: 3600", [](Rules& rules) { rules.growth.cooldown = Seconds(3600); }, 7077.617,
       35747.820, 0.7355},
      {"moves.minRatioPercent: 100", [](Rules& rules) { rules.moves.min_ratio_percent = 100; }, 6762.018,
       35985.781, 1.0880},
      {"moves.restSeconds: 86400", [](Rules& rules) { rules.moves.rest = Seconds(86400); }, 6751.440,
       35983.623, 1.0620},
  };
  for (const Stored& stored : all) expect_stored(trace.value(), stored);
}

}  // namespace
}  // namespace emj::simulate
