// SPDX-License-Identifier: Apache-2.0
// The whole of decide() with a modelled program. The clock is the test's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>
#include <vector>

#include "operator/decide/testing/policy_input.hpp"
#include "operator/decide/testing/world.hpp"

namespace emj {
namespace {

using namespace testing_policy;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_world::make_job;
using testing_world::World;

// A program whose MTCT is a function of its workers and of the time in seconds.
class Program {
 public:
  using Model = std::function<double(int workers, double seconds)>;

  Program(const std::string& autoscaling, Model model, double noise, int first, unsigned seed = 1)
      : world_(make_job(autoscaling, 1, 16, "    replicas: " + std::to_string(first) + "\n")),
        model_(std::move(model)),
        noise_(noise),
        random_(seed) {
    world_.settle(4);
    start_ = window_ = world_.now;
  }

  void run(Seconds duration) {
    const Time end = world_.now + duration;
    while (world_.now < end) {
      world_.now += Seconds(1);
      if (world_.now - window_ >= Seconds(10)) measure();
      world_.reconcile();
      world_.make_all_ready();
      world_.remove_terminating();
      world_.advance_change();
      if (sizes.empty() || sizes.back() != world_.size()) sizes.push_back(world_.size());
    }
  }

  std::vector<int> sizes;  // in order of appearance
  World& world() { return world_; }

 private:
  void measure() {
    std::uniform_real_distribution<> jitter(1 - noise_, 1 + noise_);
    const double seconds = std::chrono::duration<double>(window_ - start_).count();
    Sample sample =
        sample_at(window_, Seconds(10), world_.size(), model_(world_.size(), seconds) * jitter(random_));
    sample.epoch = world_.lead.epoch;
    world_.samples.push_back(sample);
    if (world_.samples.size() > 50) world_.samples.erase(world_.samples.begin());
    window_ = world_.now;
  }

  World world_;
  Model model_;
  double noise_;
  std::mt19937 random_;
  Time start_, window_;
};

const char* const automatic = "  autoscaling: {mode: Auto}\n";
const char* const eager =
    "  autoscaling: {mode: Auto, scaleUpStabilizationSeconds: 0, scaleDownStabilizationSeconds: 0, "
    "cooldownSeconds: 0}\n";

TEST(ClosedLoop, ConstantWorkAtAGoodSizeIsNeverChanged) {
  for (const double mtct : {.101, .2, .35, .5, .599}) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
      // The guards that only slow things down are off: the thresholds alone must hold.
      Program program(eager, [=](int, double) { return mtct; }, .1, 4, seed);
      program.run(Seconds(3600));
      EXPECT_THAT(program.sizes, testing::ElementsAre(4)) << "MTCT " << mtct << ", seed " << seed;
      EXPECT_FALSE(program.world().had_event("Scaled"));
    }
  }
}

TEST(ClosedLoop, FindsTheSizeAndStaysThere) {
  // MTCT as n^2, the worst case of the stability condition, with 10 % noise.
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const double at_one = 0.004 * seed;
    Program program(eager, [=](int n, double) { return at_one * n * n; }, .1, 1, seed);
    program.run(Seconds(3600));
    EXPECT_TRUE(std::is_sorted(program.sizes.begin(), program.sizes.end())) << "went back, seed " << seed;
    const std::size_t changes = program.sizes.size();
    program.run(Seconds(3600));
    EXPECT_EQ(program.sizes.size(), changes) << "no rest, seed " << seed;
    EXPECT_THAT(program.world().causes, testing::ElementsAre("autoscaling"));
    EXPECT_THAT(program.world().broken, IsEmpty());
  }
}

TEST(ClosedLoop, GrowsAndShrinksWithTheWork) {
  // Work rises, then falls: MTCT = c n^2 / work.
  const auto work = [](double t) {
    return t < 3000 ? 1 + 15 * t / 3000 : std::max(1.0, 16 - 15 * (t - 3000) / 3000);
  };
  Program program(automatic, [&](int n, double t) { return .06 * n * n / work(t) / work(t) * 4; }, .03, 1);
  program.run(Seconds(9000));
  ASSERT_FALSE(program.sizes.empty());
  EXPECT_GE(*std::max_element(program.sizes.begin(), program.sizes.end()), 4);
  EXPECT_LE(program.sizes.back(), 2);
  EXPECT_THAT(program.world().broken, IsEmpty());
  for (const DecisionRecord& decision : program.world().status().decisions)
    EXPECT_FALSE(decision.reason.empty());
  EXPECT_LE(program.world().status().decisions.size(), 10u);
}

TEST(ClosedLoop, RecommendWritesStatusOnly) {
  Program program("  autoscaling: {mode: Recommend}\n", [](int, double) { return .02; }, 0, 2);
  program.run(Seconds(600));
  EXPECT_THAT(program.sizes, testing::ElementsAre(2));
  ASSERT_TRUE(program.world().status().recommendation);
  EXPECT_EQ(program.world().status().recommendation->replicas, 4);
  EXPECT_EQ(program.world().status().decisions.back().action, DecisionAction::Recommend);
}

TEST(ClosedLoop, EfficiencyFindsTheSizeAndItsDecisionsSayWhatWasPredictedAndMeasured) {
  // An iteration takes .2/n (1 + .02 n^2): shortest on 7.
  Program program(
      "  autoscaling: {mode: Auto, policy: {name: efficiency}, scaleUpStabilizationSeconds: 20, "
      "scaleDownStabilizationSeconds: 20, cooldownSeconds: 20}\n",
      [](int n, double) { return .02 * n * n; }, .02, 16);
  program.run(Seconds(3600));
  EXPECT_GE(program.sizes.back(), 5);
  EXPECT_LE(program.sizes.back(), 8);
  const auto& decisions = program.world().status().decisions;
  const auto scaled = std::find_if(decisions.rbegin(), decisions.rend(),
                                   [](const DecisionRecord& d) { return d.action == DecisionAction::Scale; });
  ASSERT_NE(scaled, decisions.rend());
  const auto seconds = [](int n) { return .2 / n * (1 + .02 * n * n); };
  EXPECT_NEAR(scaled->iteration_seconds.value_or(0), seconds(scaled->from), .05 * seconds(scaled->from));
  EXPECT_TRUE(scaled->predicted_seconds);
  EXPECT_NEAR(scaled->achieved_seconds.value_or(0), seconds(scaled->to), .05 * seconds(scaled->to));
  EXPECT_EQ(decisions.back().action, DecisionAction::Keep);
  EXPECT_THAT(program.world().broken, IsEmpty());
}

TEST(ClosedLoop, StatusSaysWhatThePolicyWaitsForNow) {
  Program program(
      "  autoscaling: {mode: Auto, policy: {name: efficiency}, minIterations: 100000}\n",
      [](int, double) { return .2; }, 0, 2);
  program.run(Seconds(15));
  const auto& decisions = program.world().status().decisions;
  ASSERT_FALSE(decisions.empty());
  EXPECT_EQ(decisions.back().action, DecisionAction::Wait);
  EXPECT_THAT(decisions.back().reason, Not(HasSubstr("iterations")));
  program.run(Seconds(600));
  EXPECT_EQ(decisions.back().action, DecisionAction::Wait);
  EXPECT_THAT(decisions.back().reason, HasSubstr("100000 needed"));
  EXPECT_EQ(decisions.size(), 1u) << "one record of waiting, renewed";
}

TEST(ClosedLoop, AWaitWhoseNumbersChangeIsNotWrittenForEachOfThem) {
  Program program(
      "  autoscaling: {mode: Auto, policy: {name: efficiency}, minIterations: 100000}\n",
      [](int, double) { return .2; }, 0, 2);
  program.run(Seconds(60));
  std::set<Time> renewed;
  for (int second = 0; second < 600; ++second) {
    program.run(Seconds(1));
    renewed.insert(program.world().status().decisions.back().time);
  }
  EXPECT_GE(renewed.size(), 2u) << "it says how far it is";
  EXPECT_LE(renewed.size(), 6u) << "once in two minutes";
}

TEST(ClosedLoop, AForeignSizePausesAutoUntilResumed) {
  Program program(eager, [](int n, double) { return n < 8 ? .02 : .3; }, 0, 2);
  program.run(Seconds(20));
  program.world().ask_for(3);
  program.run(Seconds(600));
  EXPECT_EQ(program.sizes.back(), 3) << "somebody asked for 3, so 3 it stays";
  EXPECT_EQ(find_condition(program.world().status(), "AutoscalingPaused")->status, "True");
  program.world().resume_autoscaling = true;
  program.run(Seconds(1));
  program.world().resume_autoscaling = false;
  program.run(Seconds(600));
  EXPECT_GE(program.sizes.back(), 8);
  EXPECT_EQ(find_condition(program.world().status(), "AutoscalingPaused")->status, "False");
}

TEST(ClosedLoop, ALostWriteOfTheScaleIsRepeated) {
  Program program(eager, [](int n, double) { return n < 4 ? .02 : .3; }, 0, 2);
  World& world = program.world();
  for (int i = 0; i < 100 && !world.did<WriteScale>(); ++i) {
    world.now += Seconds(10);
    Sample sample = sample_at(world.now - Seconds(10), Seconds(10), 2, .02);
    world.samples.push_back(sample);
    world.reconcile(true, 0);  // status is written, the scale is not
  }
  ASSERT_TRUE(world.did<WriteScale>());
  world.reconcile();
  EXPECT_TRUE(world.did<WriteScale>());
  world.settle(10);
  EXPECT_EQ(world.size(), 4);
  EXPECT_FALSE(find_condition(world.status(), "AutoscalingPaused")) << "our own write is no foreign one";
}

TEST(ClosedLoop, StatusIsNotWrittenForEveryWindow) {
  Program program(automatic, [](int, double) { return .3; }, .1, 4);
  program.run(Seconds(600));
  int writes = 0;
  JobStatus before = program.world().status();
  for (int i = 0; i < 600; ++i) {
    program.run(Seconds(1));
    writes += !(program.world().status() == before);
    before = program.world().status();
  }
  EXPECT_LE(writes, 2 * 600 / 30);
}

// K6': each write is one of the API server's, of etcd and of every watch; a thousand jobs wander by a
// percent.
TEST(ClosedLoop, AnEfficiencyThatWandersIsNotWritten) {
  Program program(
      "  autoscaling: {mode: \"Off\"}\n", [](int, double seconds) { return seconds < 2400 ? .1 : .4; }, .2,
      4);
  program.run(Seconds(60));
  int writes = 0;
  JobStatus before = program.world().status();
  const auto run = [&](int seconds) {
    for (int i = 0; i < seconds; ++i) {
      program.run(Seconds(1));
      writes += !(program.world().status() == before);
      before = program.world().status();
    }
  };
  run(2300);
  EXPECT_GE(writes, 1);
  EXPECT_LE(writes, 3) << "each quarter of an hour";
  EXPECT_NEAR(*before.performance->efficiency_percent, 91, 4);
  writes = 0;
  run(140);
  EXPECT_EQ(writes, 1) << "what has really changed is there within a minute or so";
  EXPECT_NEAR(*before.performance->efficiency_percent, 71, 5);
}

TEST(ClosedLoop, ABlockedSizeIsNotDecidedAgainAtOnce) {
  Program program(eager, [](int, double) { return .02; }, 0, 2);
  World& world = program.world();
  for (int i = 0; i < 100 && !world.lead.busy(); ++i) program.run(Seconds(1));
  ASSERT_TRUE(world.lead.busy());
  world.roll_back_change("joiner died");
  world.reconcile();
  ASSERT_TRUE(world.status().blocked);
  for (int i = 0; i < 20; ++i) {
    world.now += Seconds(1);
    world.reconcile();
    EXPECT_FALSE(world.did<SendChange>() || world.did<CreatePod>());
  }
}

}  // namespace
}  // namespace emj
