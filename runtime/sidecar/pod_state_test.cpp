// SPDX-License-Identifier: Apache-2.0
#include "runtime/sidecar/pod_state.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "runtime/sidecar/testing/prometheus_parser.hpp"

namespace empi::sidecar {
namespace {

using profile::RankWindow;
using testing::parse_prometheus;
using testing::Scrape;

constexpr std::uint64_t kMilli = 1'000'000;

RankWindow rank(std::uint32_t number, std::uint64_t useful_ms, std::uint64_t mpi_ms) {
  RankWindow r;
  r.proc = {"tsunami-0", number};
  r.useful_ns = useful_ms * kMilli;
  r.mpi_ns = mpi_ms * kMilli;
  r.elapsed_ns = r.useful_ns + r.mpi_ns;
  r.mpi_calls = 10;
  return r;
}

WindowSample window(std::int64_t index, const std::vector<RankWindow>& ranks, std::int64_t epoch = 1) {
  WindowSample s = profile::pod_sample(ranks, 1000 * kMilli);
  s.index = index;
  s.width_s = 1;
  s.epoch = epoch;
  return s;
}

ChangeStatus change(const std::string& id, ChangeOutcome outcome) {
  ChangeStatus c;
  c.request.id = id;
  c.request.add.resize(1);
  c.outcome = outcome;
  c.times.pause_ms = 20;
  return c;
}

struct State : ::testing::Test {
  PodState state{{"tsunami", "waves", "tsunami-w-3", 2, false}};
  std::int64_t index = 0;
  void add(const std::vector<RankWindow>& ranks, std::int64_t epoch = 1) {
    state.add_window(window(++index, ranks, epoch), ranks, 1.0);
  }
  Scrape scrape() const { return parse_prometheus(state.metrics()); }
};

TEST_F(State, IsValidBeforeTheFirstWindow) {
  const Scrape s = scrape();
  EXPECT_EQ(s.value("empi_ranks"), 0);
  EXPECT_EQ(s.value("empi_mpi_calls_total"), 0);
  EXPECT_FALSE(s.has("empi_parallel_efficiency_ratio"));
  EXPECT_FALSE(s.has("empi_progress_ratio"));
}

TEST_F(State, LabelsEverySeries) {
  add({rank(0, 800, 200)});
  const Scrape s = scrape();
  for (const auto& [series, value] : s.values) {
    EXPECT_EQ(series.labels.at("job"), "tsunami") << series.name;
    EXPECT_EQ(series.labels.at("namespace"), "waves") << series.name;
    EXPECT_EQ(series.labels.at("pod"), "tsunami-w-3") << series.name;
  }
  for (const auto& [name, type] : s.types) EXPECT_TRUE(name.starts_with("empi_")) << name;
}

TEST_F(State, PublishesTheTasksOfAMasterWorkerProgramOnly) {
  add({rank(0, 800, 200)});
  for (const auto& [name, type] : scrape().types) EXPECT_FALSE(name.starts_with("empi_task")) << name;
  RankWindow master = rank(0, 800, 200);
  master.tasks = {Pattern::MasterWorker, 2, 100, 60, 30, 2, 600 * kMilli, .2};
  master.busy_ns = 600 * kMilli;
  add({master, rank(1, 0, 1000)});
  const Scrape s = scrape();
  const std::map<std::string, std::string> pod = {{"scope", "pod"}, {"epoch", "1"}};
  EXPECT_EQ(s.value("empi_tasks", {{"epoch", "1"}, {"state", "done"}}), 60);
  EXPECT_EQ(s.value("empi_tasks", {{"epoch", "1"}, {"state", "queued"}}), 30);
  EXPECT_EQ(s.value("empi_tasks", {{"epoch", "1"}, {"state", "running"}}), 10);
  EXPECT_EQ(s.value("empi_task_phase", {{"epoch", "1"}}), 2);
  EXPECT_EQ(s.value("empi_task_duration_seconds_count"), 2);
  EXPECT_NEAR(s.value("empi_task_duration_seconds_sum"), .6, 1e-12);
  EXPECT_NEAR(s.value("empi_task_mean_seconds", pod), .3, 1e-12);
  EXPECT_NEAR(s.value("empi_task_idle_ratio", pod), .7, 1e-12);
}

TEST_F(State, PublishesTheEfficienciesOfTheLastWindow) {
  add({rank(0, 800, 200), rank(1, 400, 600)});
  const Scrape s = scrape();
  const std::map<std::string, std::string> pod = {{"scope", "pod"}, {"epoch", "1"}};
  EXPECT_EQ(s.value("empi_ranks", {{"epoch", "1"}}), 2);
  EXPECT_NEAR(s.value("empi_parallel_efficiency_ratio", pod), 0.6, 1e-12);
  EXPECT_NEAR(s.value("empi_load_balance_ratio", pod), 0.75, 1e-12);
  EXPECT_NEAR(s.value("empi_communication_efficiency_ratio", pod), 0.8, 1e-12);
  EXPECT_NEAR(s.value("empi_mtct_ratio", pod), 1 / 0.6 - 1, 1e-12);
  EXPECT_NEAR(s.value("empi_core_seconds_total", {{"class", "useful"}}), 1.2, 1e-12);
  EXPECT_NEAR(s.value("empi_core_seconds_total", {{"class", "mpi"}}), 0.8, 1e-12);
  EXPECT_NEAR(s.value("empi_core_seconds_total", {{"class", "idle"}}), 0, 1e-12);
  EXPECT_FALSE(s.has("empi_mpi_wait_seconds_total"));  // only the lead knows the busiest rank
}

TEST_F(State, CountsIterationsOfTheRankWithMost) {
  RankWindow a = rank(0, 900, 100), b = rank(1, 900, 100);
  a.iterations = a.iteration_buckets[5] = 3;
  b.iterations = b.iteration_buckets[6] = 4;
  b.iteration_ns = 320 * kMilli;
  add({a, b});
  const Scrape s = scrape();
  EXPECT_EQ(s.value("empi_iterations_total"), 4);
  EXPECT_EQ(s.value("empi_iteration_duration_seconds_count"), 4);
  EXPECT_DOUBLE_EQ(s.value("empi_iteration_duration_seconds_sum"), 0.32);
  EXPECT_EQ(s.value("empi_iteration_duration_seconds_bucket", {{"le", "0.05"}}), 0);
  EXPECT_EQ(s.value("empi_iteration_duration_seconds_bucket", {{"le", "0.1"}}), 4);
}

TEST_F(State, KeepsCountersWhenRanksLeaveAndSizesChange) {
  add({rank(0, 800, 200), rank(1, 400, 600)});
  const Scrape before = scrape();
  RankWindow leaving = rank(1, 0, 50);
  leaving.member = false;
  add({rank(0, 700, 300), leaving}, 2);
  const Scrape between = scrape();
  add({}, 3);
  const Scrape after = scrape();
  EXPECT_TRUE(testing::decreases(before, between).empty());
  EXPECT_TRUE(testing::decreases(between, after).empty());
  EXPECT_EQ(after.value("empi_mpi_calls_total"), 40);
  EXPECT_NEAR(after.value("empi_mpi_seconds_total"), 1.15, 1e-12);
  EXPECT_NEAR(after.value("empi_core_seconds_total", {{"class", "idle"}}), 2.95, 1e-12);
  EXPECT_EQ(after.value("empi_ranks"), 0);
  EXPECT_FALSE(after.has("empi_parallel_efficiency_ratio"));  // an old figure would be read as a new one
}

TEST_F(State, FollowsTheTrendAndForgetsItAtAChange) {
  for (std::uint64_t i = 0; i < 10; ++i) add({rank(0, 1000 - 20 * i, 20 * i)});
  EXPECT_GT(scrape().value("empi_mtct_trend_ratio", {{"scope", "pod"}}), 0.015);
  add({rank(0, 500, 500)}, 2);
  EXPECT_FALSE(scrape().has("empi_mtct_trend_ratio"));
}

TEST_F(State, HasSeriesPerRankOnRequestOnly) {
  add({rank(0, 800, 200), rank(1, 400, 600)});
  EXPECT_FALSE(scrape().has("empi_rank_useful_seconds_total"));
  PodState detailed({"tsunami", "waves", "tsunami-w-3", 2, true});
  detailed.add_window(window(1, {rank(0, 800, 200), rank(1, 400, 600)}),
                      {rank(0, 800, 200), rank(1, 400, 600)}, 1);
  EXPECT_NEAR(
      parse_prometheus(detailed.metrics()).value("empi_rank_mpi_seconds_total", {{"rank", "tsunami-0.1"}}),
      .6, 1e-12);
}

// Every metric there is, before Prometheus' own judge: names, units, types, help texts.
TEST_F(State, PassesPromtool) {
  if (!*EMPI_PROMTOOL) GTEST_SKIP() << "promtool is not installed: it is in the package prometheus";
  RankWindow busy = rank(0, 800, 200);
  busy.iterations = busy.iteration_buckets[5] = 3;
  busy.tasks = {Pattern::MasterWorker, 2, 100, 60, 30, 2, 600 * kMilli, .2};
  WindowSample sample = window(1, {busy, rank(1, 400, 600)});
  sample.progress = .5;
  PodState all({"tsunami", "waves", "tsunami-w-3", 2, true});
  all.add_view({.epoch = 1, .lead = true, .pods = 1, .changes = {}, .job_windows = {}});
  for (int i = 0; i < 10; ++i) {
    sample.index = i + 1;
    all.add_window(sample, {busy, rank(1, 400, 600)}, 1);
  }
  all.add_view({.epoch = 1,
                .lead = true,
                .pods = 1,
                .changes = {change("a", ChangeOutcome::Committed)},
                .job_windows = {window(1, {busy}), window(2, {busy}), window(3, {busy})}});
  const Scrape s = parse_prometheus(all.metrics());
  for (const char* name :
       {"empi_progress_ratio", "empi_mtct_trend_ratio", "empi_reconfigurations_total",
        "empi_rank_iterations_total", "empi_mpi_wait_seconds_total", "empi_nodes", "empi_tasks",
        "empi_task_phase", "empi_task_duration_seconds_sum", "empi_task_mean_seconds",
        "empi_task_deviation_seconds", "empi_task_idle_ratio", "empi_task_idle_seconds_total"})
    EXPECT_TRUE(s.has(name)) << name << " is not put to the test";
  const std::string file = ::testing::TempDir() + "empi-metrics." + std::to_string(getpid());
  std::ofstream(file) << all.metrics();
  FILE* promtool = popen(("'" EMPI_PROMTOOL "' check metrics <'" + file + "' 2>&1").c_str(), "r");
  ASSERT_NE(promtool, nullptr);
  std::string said;
  for (int c; (c = std::fgetc(promtool)) != EOF;) said += static_cast<char>(c);
  EXPECT_EQ(pclose(promtool), 0) << said << all.metrics();
  EXPECT_EQ(said, "");
  std::filesystem::remove(file);
}

TEST_F(State, KeepsABoundedRingOfWindows) {
  for (std::size_t i = 0; i < PodState::kWindows + 5; ++i) add({rank(0, 900, 100)});
  EXPECT_EQ(state.windows().size(), PodState::kWindows);
  EXPECT_EQ(state.windows().back().index, index);
}

TEST_F(State, CountsTheJobsChangesAndWaitsOnceOnTheLead) {
  AgentView view{.epoch = 1,
                 .lead = true,
                 .pods = 3,
                 .parked_helpers = 2,
                 .parked_seconds = 1.5,
                 .changes = {change("a", ChangeOutcome::Committed)},
                 .job_windows = {}};
  state.add_view(view);  // ended before this sidecar looked: not counted
  EXPECT_EQ(scrape().value("empi_nodes", {{"epoch", "1"}}), 3);
  EXPECT_EQ(scrape().value("empi_parked_helpers"), 2);
  EXPECT_EQ(scrape().value("empi_parked_helper_cpu_seconds_total"), 1.5);
  view.changes.push_back(change("b", ChangeOutcome::Committed));
  view.changes.back().request.cause = "autoscaling";
  view.changes.push_back(change("c", ChangeOutcome::RolledBack));
  view.changes.push_back(change("d", ChangeOutcome::Unfinished));
  constexpr double kCollective = .25;  // of the time in MPI
  RankWindow a = rank(0, 800, 200), b = rank(1, 400, 600);
  for (RankWindow* r : {&a, &b}) r->mpi_collective_ns = r->mpi_ns / 4;
  view.job_windows = {window(7, {a, b}), window(8, {rank(0, 1, 999)})};  // incomplete
  state.add_view(view);
  state.add_view(view);
  const Scrape s = scrape();
  EXPECT_EQ(s.value("empi_reconfigurations_total",
                    {{"type", "grow"}, {"reason", "autoscaling"}, {"outcome", "committed"}}),
            1);
  EXPECT_EQ(s.value("empi_reconfigurations_total",
                    {{"type", "grow"}, {"reason", "unknown"}, {"outcome", "rolled back"}}),
            1);
  EXPECT_EQ(s.value("empi_reconfiguration_phase_seconds_count", {{"phase", "pause"}}), 1);
  EXPECT_DOUBLE_EQ(s.value("empi_reconfiguration_phase_seconds_sum", {{"phase", "pause"}}), .02);
  EXPECT_NEAR(s.value("empi_mpi_wait_seconds_total", {{"kind", "collective"}}), .4 * kCollective, 1e-12);
  EXPECT_NEAR(s.value("empi_mpi_wait_seconds_total", {{"kind", "p2p"}}), .4 * (1 - kCollective), 1e-12);
  EXPECT_NEAR(s.value("empi_mpi_transfer_seconds_total"), .4, 1e-12);
  EXPECT_NEAR(s.value("empi_parallel_efficiency_ratio", {{"scope", "job"}}), .6, 1e-12);
  view.changes.back().outcome = ChangeOutcome::Committed;
  view.changes.back().request.cause = "because I say so";  // no label takes any text
  state.add_view(view);
  EXPECT_EQ(scrape().value("empi_reconfigurations_total", {{"reason", "unknown"}, {"outcome", "committed"}}),
            1);
}

}  // namespace
}  // namespace empi::sidecar
