// SPDX-License-Identifier: Apache-2.0
// What a queue knows of a job, from its spec and status.

#include "operator/decide/queue/job_demand.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "operator/decide/testing/synthetic_phase.hpp"

namespace emj::queue {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Time kNow{Seconds(1'700'000'000)};

ElasticMPIJob job(const std::string& scheduling = "", const std::string& spec = "", int min = 2, int max = 8,
                  const std::string& resources = "") {
  const auto parsed = parse_yaml(
      "apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticMPIJob\nmetadata: {name: demo, uid: u}\nspec:\n" +
          spec + "  scheduling: {queueName: main" + scheduling + "}\n  worker:\n    minReplicas: " +
          std::to_string(min) + "\n    maxReplicas: " + std::to_string(max) +
          "\n    template: {spec: {containers: [{name: worker, command: [p]" + resources + "}]}}\n",
      "job.yaml");
  EXPECT_TRUE(parsed.ok()) << parsed.message();
  return parsed.value();
}

QueueSpec queue() {
  QueueSpec spec;
  spec.pools.resize(2);
  spec.pools[0].name = "hpc";
  spec.pools[0].quota.cpu = Quantity{"16"};
  spec.pools[1].name = "spare";
  spec.pools[1].quota.cpu = Quantity{"4"};
  spec.priorities.push_back({"urgent", 100});
  return spec;
}

Demand demand(const ElasticMPIJob& of, int living = 0, const QueueSpec& spec = queue()) {
  const Asked asked = demand_of(of, living, spec, {}, kNow);
  EXPECT_TRUE(std::holds_alternative<Demand>(asked));
  return std::get<Demand>(asked);
}

ElasticMPIJob running(ElasticMPIJob of, int workers) {
  JobStatus& status = of.status;
  status.state = JobState::Running;
  for (int i = 0; i < workers; ++i) status.active_workers.insert(i);
  status.allocation = AllocationStatus{workers, 0, "hpc", 1, kNow - Seconds(100), "", ""};
  status.queue.emplace().since = kNow - Seconds(200);
  status.start_time = kNow - Seconds(100);
  return of;
}

void measure(ElasticMPIJob& of, int workers, double seconds) {
  MeasuredSize point;
  point.workers = workers;
  point.iteration_seconds = point.compute_seconds = point.useful_seconds = seconds;
  of.status.policy_state.measured.push_back(point);
}

TEST(JobDemand, AWorkerIsWhatItsContainerAsksFor) {
  EXPECT_EQ(needs_of(job("", "  slotsPerWorker: 2\n").spec).shape, (Resources{2000, 0}));
  EXPECT_EQ(needs_of(job("", "", 2, 8, ", resources: {requests: {cpu: 500m, memory: 1Gi}}").spec).shape,
            (Resources{500, 1024}));
  EXPECT_EQ(needs_of(job("", "", 2, 8, ", resources: {limits: {cpu: 3}}").spec).shape, (Resources{3000, 0}));
}

// A tenant may write any number. Promise: what it asks for is never less than nothing, and sums of it are
// numbers.
TEST(JobDemand, AHugeRequestIsAnAmountThatNoPoolHas) {
  for (const char* amount : {"10P", "1e17", "9E", "1e300", "92233720368547758070"}) {
    std::string asks = ", resources: {requests: {";
    for (const char* what : {"cpu", "memory", "example.com/gpu"})
      asks.append(what).append(": \"").append(amount).append("\", ");
    const ElasticMPIJob greedy = job("", "", 1, 10000, asks.append("}}"));
    const WorkerNeeds needs = needs_of(greedy.spec);
    for (const std::int64_t one : {needs.shape.milli_cpu, needs.shape.memory_mib}) {
      EXPECT_GT(one, std::int64_t{1} << 33) << amount;
      EXPECT_LE(one, kMostOfOne) << amount;
    }
    EXPECT_FALSE(fits(needs.shape * 10000, {16000, 1 << 20})) << amount;
    EXPECT_GT(needs.devices.at("example.com/gpu"), 1'000'000) << amount;
  }
}

// A tenant may name any device; which there are, nodes say.
TEST(JobDemand, AWorkersDevicesCountByLimitsTooWhereANodeHasThem) {
  const ElasticMPIJob asks =
      job("", "", 2, 8, ", resources: {requests: {cpu: 1}, limits: {example.com/unheard: 2}}");
  const WorkerNeeds needs = needs_of(asks.spec);
  EXPECT_EQ(needs.devices, (Devices{{"example.com/unheard", 2}}));
  EXPECT_EQ(needs.taken(), (Resources{1000, 0}));
  QueueSpec queue;
  queue.pools.resize(1);
  queue.pools[0].name = "hpc";
  queue.pools[0].capacity = PoolCapacity::Nodes;
  const auto refused = demand_of(asks, LivingPods(0), queue, {}, kNow);
  ASSERT_TRUE(std::holds_alternative<Refused>(refused));
  EXPECT_THAT(std::get<Refused>(refused).reason,
              HasSubstr("ask for example.com/unheard, and no node has that"));
  queue.pools[0].capacity = PoolCapacity::Quota;
  EXPECT_TRUE(std::holds_alternative<Demand>(demand_of(asks, LivingPods(0), queue, {}, kNow)))
      << "not bounded there";

  const std::size_t place = device_of_nodes("example.com/unheard").value();
  EXPECT_EQ(needs.taken().devices[place], 2);
  queue.pools[0].capacity = PoolCapacity::Nodes;
  const auto asked = demand_of(asks, LivingPods(0), queue, {}, kNow);
  ASSERT_TRUE(std::holds_alternative<Demand>(asked));
  EXPECT_EQ(std::get<Demand>(asked).worker.devices[place], 2);
}

TEST(Devices, AreWhatNodesHaveBesideProcessorsMemoryAndStorage) {
  for (const char* none : {"cpu", "ephemeral-storage", "node.kubernetes.io/x"})
    EXPECT_FALSE(is_device(none)) << none;
  EXPECT_TRUE(is_device("hugepages-1Gi"));
  // Places are for the process: in another one.
  EXPECT_EXIT(
      {
        for (int i = 0; i < 20; ++i) device_of_nodes("example.com/kind-" + std::to_string(i));
        std::_Exit(known_device("example.com/kind-19") || device_of_nodes("example.com/kind-19") ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "")
      << "eight kinds are counted";
}

TEST(JobDemand, OfOneThatWaits) {
  const Demand d = demand(job(", priorityClassName: urgent, pools: [spare, hpc, gone], expectedSeconds: 600",
                              "  resize: {allowedReplicas: [2, 4, 8]}\n"));
  EXPECT_TRUE(d.queued());
  EXPECT_THAT(d.curve->sizes(), ElementsAre(2, 4, 8));
  EXPECT_EQ(d.reference, 4);
  EXPECT_EQ(d.floor, 2);
  EXPECT_EQ(d.wish, 8);
  EXPECT_EQ(d.trusted, 4) << "nothing was measured yet";
  EXPECT_EQ(d.priority, 100);
  EXPECT_THAT(d.pools, ElementsAre(1, 0));
  EXPECT_DOUBLE_EQ(*seconds_left(d, 4), 600) << "at the reference size";
  EXPECT_EQ(demand(job(", priorityClassName: self-made")).priority, 0)
      << "what a job calls itself is no claim";
}

TEST(JobDemand, WhoMayNotBeShrunkKeepsWhatItHas) {
  EXPECT_EQ(demand(running(job(), 6), 6).floor, 2);
  EXPECT_EQ(demand(running(job(", preemption: None"), 6), 6).floor, 6);
  QueueSpec gentle = queue();
  gentle.preemption = Preemption::None;
  EXPECT_EQ(demand(running(job(), 6), 6, gentle).floor, 6);
  const Demand rigid = demand(running(job("", "  runtime: {mode: Rigid}\n"), 3), 3);
  EXPECT_TRUE(rigid.rigid());
  EXPECT_EQ(rigid.floor, 3);
}

TEST(JobDemand, HeldIsWhatStillLives) {
  const Demand d = demand(running(job(), 4), 6);
  EXPECT_EQ(d.held, 6);
  EXPECT_TRUE(d.resizing);
  EXPECT_FALSE(demand(running(job(), 4), 4).resizing);
}

TEST(JobDemand, WhatIsLeftOfAJobThatIsOverCountsAndThatIsAll) {
  ElasticMPIJob over = running(job(), 4);
  over.status.state = JobState::Succeeded;
  over.status.allocation->workers = 0;
  const Demand d = demand(over, 3);
  EXPECT_EQ(d.held, 3);
  EXPECT_FALSE(d.written);
  EXPECT_TRUE(std::holds_alternative<NoWish>(demand_of(over, 0, queue(), {}, kNow)));
}

TEST(JobDemand, ARefusalSaysWhatThereIs) {
  QueueSpec closed = queue();
  closed.namespaces = {"waves"};
  const Asked asked = demand_of(job(), 0, closed, {}, kNow);
  ASSERT_TRUE(std::holds_alternative<Refused>(asked));
  EXPECT_EQ(std::get<Refused>(asked).cause, QueueCause::NotAdmitted);
  const Asked other = demand_of(job(", pools: [gpu]"), 0, queue(), {}, kNow);
  ASSERT_TRUE(std::holds_alternative<Refused>(other));
  EXPECT_EQ(std::get<Refused>(other).reason,
            "spec.scheduling.pools names gpu, and the queue has hpc, spare: name some of these, or none");
  QueueSpec fleeting = queue();
  for (PoolSpec& pool : fleeting.pools) pool.spot = true;
  const Asked unnamed = demand_of(job(), 0, fleeting, {}, kNow);
  ASSERT_TRUE(std::holds_alternative<Refused>(unnamed));
  EXPECT_EQ(std::get<Refused>(unnamed).reason,
            "the queue has only pools of spot nodes, for jobs that name them: name some of hpc, spare in "
            "spec.scheduling.pools");
}

// Rule Q10.
TEST(JobDemand, WhatWasMeasuredIsBelievedBeforeWhatWasSaidBeforeAGuess) {
  const auto speed = [](const ElasticMPIJob& of, int from, int to) {
    const auto curve = curve_over(of, {2, 4, 8}, 4, Objective::Fair);
    EXPECT_DOUBLE_EQ(curve->speed_of(4), 1) << "in units of the present speed";
    return curve->speed_of(to) / curve->speed_of(from);
  };
  ElasticMPIJob of = job();
  EXPECT_NEAR(speed(of, 4, 8), .3125 / .197917, 1e-4) << "Amdahl, 80 % at 4: .08333 + .91667 / n";
  of = job(", scalability: [{workers: 2, speedPercent: 100}, {workers: 8, speedPercent: 400}]");
  EXPECT_NEAR(speed(of, 4, 8), 2, 1e-9) << "between the points, along a power of the size";
  EXPECT_EQ(trusted_size(of), 8);
  measure(of, 4, 1.0);
  measure(of, 8, .9);
  EXPECT_NEAR(speed(of, 4, 8), 1 / .9, 1e-9);
  measure(of, 2, 2.2);
  EXPECT_NEAR(speed(of, 2, 4), 2.2, 1e-9);
  EXPECT_EQ(trusted_size(of), 16);
}

// Or a job of tasks would stay at what it was started with, whatever is idle.
TEST(JobDemand, AsManyMoreWorkersDoAsManyMoreTasks) {
  AutoscalingSpec spec;
  spec.mode = AutoscalingMode::Auto;
  spec.policy.name = PolicyName::Tasks;
  spec.window = Seconds(2);
  testing_policy::SyntheticPhase phase({.tasks = 5000, .mean = 1}, 2, spec);
  phase.input.max = 2;
  phase.run(20);
  ElasticMPIJob of = running(job("", "", 1, 16), 2);
  of.status.policy_state = phase.state;
  const auto curve = curve_of(of, Objective::Fair);
  EXPECT_NEAR(curve->speed_of(4), 2, .1) << phase.last.line;
  EXPECT_NEAR(curve->speed_of(1), .5, .05);
  EXPECT_GE(trusted_size(of), 4);
}

TEST(JobDemand, BeyondTwiceWhatWasMeasuredTheGuessGoesOn) {
  ElasticMPIJob of = job("", "", 1, 64);
  measure(of, 2, 1.0);
  const auto curve = curve_over(of, {1, 2, 4, 64}, 2, Objective::Fair);
  EXPECT_NEAR(curve->speed_of(4), 2, 1e-6) << "computing alone was measured: judged up to twice the size";
  EXPECT_NEAR(curve->speed_of(64) / curve->speed_of(4), amdahl_speed(64, 2, .8) / amdahl_speed(4, 2, .8),
              1e-9);
}

// Rule Q12.
TEST(JobDemand, AForecastThatIsOverrunDoubles) {
  ElasticMPIJob of = running(job(), 4);
  of.status.forecast = ForecastStatus{60, 0, ForecastSource::Progress, kNow - Seconds(20)};
  EXPECT_NEAR(*seconds_left(demand(of, 4), 4), 40, 1e-6);
  of.status.forecast->time = kNow - Seconds(70);
  EXPECT_NEAR(*seconds_left(demand(of, 4), 4), 50, 1e-6) << "120 less 70";
  ElasticMPIJob claimed = running(job(", expectedSeconds: 60"), 4);
  EXPECT_NEAR(*seconds_left(demand(claimed, 4), 4), 20, 1e-6) << "has run for 100 of 120";
  EXPECT_FALSE(demand(running(job(), 4), 4).work_left);
}

// It is renewed twice a minute at most, and sizes change meanwhile.
// Or it would never pay to give workers to a program of many short phases, and all would be expected to end
// soon.
TEST(JobDemand, OfALaterPhaseOfTasksTheProgramHasAsMuchAgainLeft) {
  ElasticMPIJob of = running(job(), 4);  // for 100 s
  of.status.forecast = ForecastStatus{12, 0, ForecastSource::Tasks, kNow};
  of.status.tasks = TaskStatus{1, 100, 50, 46, 1, {}, kNow};
  EXPECT_NEAR(*seconds_left(demand(of, 4), 4), 12, 1e-6) << "there may be one phase only";
  of.status.tasks->phase = 2;
  EXPECT_NEAR(*seconds_left(demand(of, 4), 4), 100, 1e-6);
  of.status.forecast->seconds_left = 250;
  EXPECT_NEAR(*seconds_left(demand(of, 4), 4), 250, 1e-6) << "it says more by itself";
}

TEST(JobDemand, AForecastOfAnotherSizeCountsWhatWasDoneAtEach) {
  ElasticMPIJob of = running(job(), 8);
  measure(of, 4, 1.0);
  measure(of, 8, .5);
  of.status.forecast = ForecastStatus{100, 0, ForecastSource::Progress, kNow - Seconds(30), {}, 4};
  of.status.policy_state.changes = {{kNow - Seconds(10), 4, 8, 1, 0, 0}};
  EXPECT_NEAR(*seconds_left(demand(of, 8), 8), 30, 1e-6)
      << "20 s at 4 workers and 10 s at twice their speed are done";
  of.status.policy_state.changes = {{kNow - Seconds(20), 4, 2, 1, 0, 0}, {kNow - Seconds(10), 2, 8, 1, 0, 0}};
  measure(of, 2, 2.0);
  EXPECT_NEAR(*seconds_left(demand(of, 8), 8), 32.5, 1e-6)
      << "10 s at 4, 10 s at half and 10 s at twice their speed";
  of.status.policy_state.changes.clear();
  EXPECT_NEAR(*seconds_left(demand(of, 8), 8), 35, 1e-6) << "it has been given 8, and runs on 4 still";
}

// A restart keeps the time of the job's first start, and what was computed before is lost.
TEST(JobDemand, AClaimCountsFromTheStartOfThePresentRun) {
  ElasticMPIJob of = running(job(", expectedSeconds: 3600"), 4);
  of.status.start_time = kNow - Seconds(18'000);  // it has waited in the queue again
  of.status.policy_state.changes = {{kNow - Seconds(10), 0, 4}};
  EXPECT_NEAR(*seconds_left(demand(of, 4), 4), 3590, 1e-6);
  of.status.policy_state.changes.clear();  // its pods are made
  of.status.active_workers = {};
  of.status.state = JobState::Pending;
  EXPECT_NEAR(*seconds_left(demand(of, 4), 4), 3600, 1e-6);
}

TEST(JobDemand, AClaimCountsWhatWasDoneAtEachSize) {
  ElasticMPIJob of = running(job(", expectedSeconds: 1000"), 8);
  measure(of, 4, 1.0);
  measure(of, 8, .5);
  of.status.policy_state.changes = {{kNow - Seconds(100), 0, 4}, {kNow - Seconds(10), 4, 8}};
  EXPECT_NEAR(*seconds_left(demand(of, 8), 8), (1000 - 90 - 20) / 2., 1e-6)
      << "1,000 s at 4 workers, its reference size: 90 s of them at that size and 10 s at twice its speed "
         "are "
         "done";
}

TEST(JobDemand, RulesAreThoseOfTheQueue) {
  QueueSpec spec = queue();
  EXPECT_EQ(rules_of(spec).order.max_wait.count(), 0) << "decision Q35";
  EXPECT_EQ(rules_of(spec).growth.cost_factor_percent, Growth{}.cost_factor_percent);
  EXPECT_EQ(rules_of(spec).moves.min_ratio_percent, Moves{}.min_ratio_percent);
  spec.objective = QueueObjective::Makespan;
  spec.backfill = BackfillMode::None;
  spec.hold = HoldMode::All;
  spec.order.fair_share = {FairShareMode::Namespace, 10, Seconds(60), {{"a", 300}}};
  const Rules rules = rules_of(spec);
  EXPECT_EQ(rules.objective, Objective::Makespan);
  EXPECT_EQ(rules.backfill, Backfill::None);
  EXPECT_EQ(rules.hold, Hold::All);
  EXPECT_TRUE(rules.order.fair_share.by_namespace);
  EXPECT_EQ(rules.order.fair_share.weights.at("a"), 300);
}

// Rule Q46: what a restart takes from a job is measured before others are served by one.
TEST(Demand, ARestartableJobIsADonorOnceItsRestartHasBeenMeasured) {
  ElasticMPIJob restartable =
      running(job("", "  runtime: {mode: Restartable, restart: {signal: USR1}}\n"), 6);
  const Demand unseen = demand(restartable, 6);
  EXPECT_EQ(unseen.floor, 6);
  EXPECT_EQ(unseen.wish, 8);
  EXPECT_GE(unseen.lost_seconds, 60) << "who grows pays for a restart";
  restartable.status.policy_state.changes = {{kNow - Seconds(90), 4, 6, 35, 0, 35}};
  const Demand seen = demand(restartable, 6);
  EXPECT_EQ(seen.floor, 2);
  EXPECT_EQ(seen.wish, 8);
  EXPECT_NEAR(seen.lost_seconds, 35, 25);
}

}  // namespace
}  // namespace emj::queue
