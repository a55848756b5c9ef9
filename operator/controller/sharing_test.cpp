// SPDX-License-Identifier: Apache-2.0
// The whole loop with modelled programs: what their policies measure, what the queue makes of it, and that it
// comes to rest (rules Q11, Q34).

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "operator/controller/testing/queue_world.hpp"
#include "operator/decide/testing/policy_input.hpp"

namespace emj {
namespace {

using testing::QueueWorld;
using testing_world::World;

constexpr Seconds kWindow{10};

// Jobs of policy throughput whose MTCT is a function of their workers.
class Programs {
 public:
  using Model = std::function<double(int workers)>;

  Programs(int cpus, double noise, unsigned seed)
      : queue(cpus, "  growth: {cooldownSeconds: 20}\n  moves: {restSeconds: 60}\n"),
        noise_(noise),
        random_(seed) {}

  World& add(const std::string& name, int max, const std::string& scheduling, Model model, int replicas) {
    models_[name] = std::move(model);
    return queue.add(
        name, 1, max, scheduling,
        "  autoscaling: {mode: Auto, policy: {name: throughput}, scaleUpStabilizationSeconds: 20, "
        "scaleDownStabilizationSeconds: 20, cooldownSeconds: 20}\n",
        "    replicas: " + std::to_string(replicas) + "\n");
  }

  // In steps of a window.
  void run(Seconds duration) {
    for (const Time end = queue.now + duration; queue.now < end;) {
      const Time start = queue.now;
      for (int i = 0; i < 4; ++i) queue.turn();
      queue.now = start + kWindow;
      for (const auto& [name, world] : queue.jobs)
        if (world->size() > 0) measure(*world, start, models_.at(name)(world->size()));
    }
  }

  QueueWorld queue;

 private:
  void measure(World& world, Time start, double mtct) {
    std::uniform_real_distribution<> jitter(1 - noise_, 1 + noise_);
    Sample sample = testing_policy::sample_at(start, kWindow, world.size(), mtct * jitter(random_));
    sample.epoch = world.lead.epoch;
    world.samples.push_back(sample);
    if (world.samples.size() > 50) world.samples.erase(world.samples.begin());
  }

  std::map<std::string, Model> models_;
  double noise_;
  std::mt19937 random_;
};

// Shortest on 4 workers: on 8 an iteration takes half as long again.
double congested(int n) { return .06 * n * n; }
double constant(int) { return .2; }

TEST(Sharing, AJobGivesBackWhatItWasGivenOnAWrongGuess) {
  Programs programs(8, .02, 1);
  World& job = programs.add("a", 8, testing::kPerfect, congested, 4);
  programs.run(Seconds(60));
  EXPECT_EQ(job.size(), 8) << "its developer says that it is worth it";
  programs.run(Seconds(600));
  EXPECT_LE(job.size(), 5);
  EXPECT_GE(job.size(), 3);
  EXPECT_EQ(job.status().allocation->workers, job.size());
  const auto& models = programs.queue.cluster.records[0].queue.status.models;
  ASSERT_EQ(models.size(), 1u) << "what it has measured is there for the next one (rule Q14)";
  EXPECT_GE(models[0].points.size(), 2u);
  const std::size_t changes = programs.queue.history.size();
  programs.run(Seconds(1800));
  EXPECT_EQ(programs.queue.history.size(), changes)
      << "it goes to and fro: " << programs.queue.history.back();
}

TEST(Sharing, NoiseOfATenthMovesNothingBetweenSettledJobs) {
  Programs programs(12, .1, 1);
  for (const char* name : {"a", "b", "c"}) programs.add(name, 8, "", congested, 4);
  programs.run(Seconds(600));
  const std::size_t changes = programs.queue.history.size();
  programs.run(Seconds(900));
  EXPECT_EQ(programs.queue.history.size(), changes) << programs.queue.history.back();
}

TEST(Sharing, FiveJobsOfConstantEqualWorkMakeNoChange) {
  Programs programs(20, .1, 1);
  for (const char* name : {"a", "b", "c", "d", "e"}) programs.add(name, 8, "", constant, 4);
  programs.run(Seconds(60));
  EXPECT_EQ(programs.queue.history.size(), 5u) << "the starts";
  programs.run(Seconds(600));
  EXPECT_EQ(programs.queue.history.size(), 5u) << programs.queue.history.back();
  for (const auto& [name, world] : programs.queue.jobs) EXPECT_EQ(world->size(), 4);
}

}  // namespace
}  // namespace emj
