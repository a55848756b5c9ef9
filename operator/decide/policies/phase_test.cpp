// SPDX-License-Identifier: Apache-2.0
// Promises of policy efficiency when the program changes its speed at the same size.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "operator/decide/testing/curves.hpp"

namespace emj {
namespace {

using namespace testing_policy;

TEST(Efficiency, SearchesAnewWhenTheProgramChangesItsPhase) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    SyntheticJob job(curves().at("compute_bound"), 2, by_efficiency(), .05, seed);
    job.run(Seconds(3600));
    EXPECT_EQ(job.size(), 16);
    job.curve = curves().at("spe10");
    job.run(Seconds(3600));
    EXPECT_EQ(job.size(), 2) << testing::PrintToString(job.sizes) << job.last.line;
    ASSERT_TRUE(job.state.phase_since);
    for (const MeasuredSize& point : job.state.measured) {
      if (point.iteration_seconds <= 0) continue;  // it was left before that was known
      EXPECT_NEAR(point.iteration_seconds, job.curve.seconds(point.workers), .1 * point.iteration_seconds);
    }
    EXPECT_LE(job.changes(), 3 + 3);
    job.curve = curves().at("compute_bound");
    job.run(Seconds(3600));
    EXPECT_EQ(job.size(), 16);
  }
}

// A neighbour on the nodes comes and goes: at every size the program takes a third longer for some minutes.
TEST(Efficiency, StaysWhenASpeedWanders) {
  unsigned seed = 0;
  for (const char* name :
       {"measured_spe10", "measured_tsunami", "measured_jacobi", "amdahl", "never_parallel"})
    for (const int span : {150, 600, 1500}) {
      SCOPED_TRACE(std::string(name) + " for " + std::to_string(span) + " s and more");
      SyntheticJob job(curves().at(name), 8, by_efficiency(), .05, ++seed);
      job.run(Seconds(3600));
      const int best = job.size();
      const Curve alone = job.curve;
      std::mt19937 random(seed);
      const auto changes_in = [&](Seconds duration) {
        const int before = job.changes();
        const Time end = job.input.now + duration;
        for (bool crowded = true; job.input.now < end; crowded = !crowded) {
          const double factor = crowded ? 1.35 : 1;
          job.curve.compute = [&alone, factor](int n) { return factor * alone.compute(n); };
          job.curve.transfer = [&alone, factor](int n) { return factor * alone.transfer(n); };
          job.run(Seconds(span + random() % 200));
        }
        return job.changes() - before;
      };
      const int first = changes_in(Seconds(4 * 3600));
      const int later = changes_in(Seconds(8 * 3600));
      EXPECT_LE(first, 2) << testing::PrintToString(job.sizes);
      EXPECT_LE(later, 2);  // 190 where each phase forgets what the one before has measured
      job.curve = alone;
      job.run(Seconds(3 * 3600));
      EXPECT_LE(std::max(job.size(), best), 2 * std::min(job.size(), best)) << job.last.line;
      // What is another phase in truth is still noticed.
      job.curve = curves().at("compute_bound");
      job.run(Seconds(3 * 3600));
      EXPECT_EQ(job.size(), job.input.max) << job.last.line;
    }
}

}  // namespace
}  // namespace emj
