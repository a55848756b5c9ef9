#include "operator/telemetry/convert.hpp"

#include <gtest/gtest.h>

namespace emj {
namespace {

// Two ranks on two pods, one second: one computes all the time, the other `useful` of it.
empi::WindowSample window(std::int64_t index, double useful, std::int64_t epoch = 1) {
  empi::WindowSample w;
  w.index = index;
  w.width_s = 1;
  w.epoch = epoch;
  w.ranks = 2;
  w.pods = 2;
  w.elapsed_s = 2;
  w.useful_s = 1 + useful;
  w.max_useful_s = 1;
  w.max_pod_useful_s = 1;
  w.mpi_s = 1 - useful;
  w.iterations = 10;
  w.iteration_s = 1;
  w.iteration_s2 = 0.1;
  w.work_units = 500;
  return w;
}

TEST(ToSamples, OneWindowIsOneSampleWithTheEfficienciesOfPop) {
  const auto samples = to_samples({window(100, 0.5)}, Seconds(1));
  ASSERT_EQ(samples.size(), 1u);
  const Sample& s = samples[0];
  EXPECT_EQ(s.start, Time(Millis(100'000)));
  EXPECT_EQ(s.end, Time(Millis(101'000)));
  EXPECT_EQ(s.workers, 2);
  EXPECT_EQ(s.ranks, 2);
  EXPECT_DOUBLE_EQ(s.parallel_efficiency, 0.75);
  EXPECT_DOUBLE_EQ(s.load_balance, 0.75);
  EXPECT_DOUBLE_EQ(s.communication_efficiency, 1);
  EXPECT_NEAR(s.mtct, 1 / 0.75 - 1, 1e-12);
  EXPECT_EQ(s.iterations, 10);
  EXPECT_DOUBLE_EQ(s.mean_iteration_seconds, 0.1);
  EXPECT_DOUBLE_EQ(s.work_units, 500);
}

TEST(ToSamples, JoinsWindowsToTheLengthAskedForAtItsMultiples) {
  std::vector<empi::WindowSample> windows;
  for (int i = 97; i < 117; ++i) windows.push_back(window(i, i < 110 ? 1.0 : 0.5));
  const auto samples = to_samples(windows, Seconds(5));
  // 97..99 is the end of a longer window that began before us, 115..116 has not ended yet.
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].start, Time(Seconds(100)));
  EXPECT_EQ(samples[2].end, Time(Seconds(115)));
  EXPECT_DOUBLE_EQ(samples[0].parallel_efficiency, 1);
  EXPECT_DOUBLE_EQ(samples[2].parallel_efficiency, 0.75);
  EXPECT_EQ(samples[1].iterations, 50);
  EXPECT_DOUBLE_EQ(samples[1].work_units, 2500);
}

TEST(Samples, CarryTheQueueAtTheirEndAndTheTasksInThem) {
  std::vector<empi::WindowSample> windows;
  for (int i = 0; i < 5; ++i) {
    windows.push_back(window(1000 + i, 0.5));
    windows.back().progress = 0.1 * i;
    windows.back().tasks.queue = {empi::Pattern::MasterWorker, 2, 100, 10u + 4 * i, 80u - 4 * i};
    windows.back().tasks.ended = 4;
    windows.back().tasks.task_s = 1;
    windows.back().tasks.task_s2 = .5;
    windows.back().tasks.longest_s = .1 * i;
    windows.back().tasks.busy_s = .25 * windows.back().elapsed_s;
  }
  const std::vector<Sample> samples = to_samples(windows, Seconds(5));
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_DOUBLE_EQ(samples[0].progress, .4);
  const TaskFigures& tasks = samples[0].tasks;
  EXPECT_EQ(tasks, (TaskFigures{2, 100, 26, 64, 20, 5, 2.5, .4, .25}));
  for (auto& w : windows) w.tasks.queue = {};
  EXPECT_EQ(to_samples(windows, Seconds(5))[0].tasks.total, 0);
}

TEST(ToSamples, NeverMixesEpochsNorUsesWindowsThatSawACommit) {
  std::vector<empi::WindowSample> windows;
  for (int i = 100; i < 110; ++i) windows.push_back(window(i, 1.0, i < 103 ? 1 : 2));
  windows[3].mixed = true;
  const auto samples = to_samples(windows, Seconds(5));
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].epoch, 2);
  EXPECT_EQ(samples[0].start, Time(Seconds(105)));
}

TEST(ToSamples, LeavesOutWindowsWithAHole) {
  const auto samples = to_samples(
      {window(100, 1), window(101, 1), window(103, 1), window(104, 1), window(105, 1)}, Seconds(2));
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].start, Time(Seconds(100)));
  EXPECT_EQ(samples[1].start, Time(Seconds(104)));
}

TEST(ToSamples, TrendIsTheSlopePerSecond) {
  std::vector<empi::WindowSample> windows;
  for (int i = 0; i < 8; ++i) {
    auto w = window(100 + i, 1);
    w.useful_s = 2 / (1 + 0.1 * i);  // MTCT rises by 0.1 a second
    windows.push_back(w);
  }
  const auto samples = to_samples(windows, Seconds(1));
  ASSERT_EQ(samples.size(), 8u);
  EXPECT_EQ(samples[3].mtct_trend, 0) << "too few points to tell";
  EXPECT_NEAR(samples[7].mtct_trend, 0.1, 1e-9);
}

empi::MembershipView running() {
  empi::MembershipView view;
  view.uid = "a";
  view.fence.value = 3;
  view.membership.epoch.value = 7;
  view.membership.members = {{"a", "w-0", "10.0.0.1:1", 2, "ns", 0}, {"b", "w-1", "10.0.0.2:1", 2, "ns", 2}};
  return view;
}

empi::ChangeStatus ended(const std::string& id, const std::string& outcome, const std::string& reason = "") {
  empi::ChangeStatus change;
  change.request.id = id;
  change.outcome = outcome;
  change.reason = reason;
  change.times.pause_ms = 12.4;
  return change;
}

TEST(ToRuntimeView, SaysWhoLeadsAndWhoIsMember) {
  const RuntimeView view = to_runtime_view(running(), {});
  EXPECT_TRUE(view.reachable);
  EXPECT_EQ(view.epoch, 7);
  EXPECT_EQ(view.fence, 3);
  EXPECT_EQ(view.lead_uid, "a");
  EXPECT_EQ(view.members, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(view.program, ProgramState::Running);
  EXPECT_FALSE(view.change);
}

TEST(ToRuntimeView, AnAgentWithoutAMembershipHasNotStarted) {
  EXPECT_EQ(to_runtime_view(empi::MembershipView{}, {}).program, ProgramState::NotStarted);
}

TEST(ToRuntimeView, ChangeInHandAndTheNewestThatEnded) {
  auto membership = running();
  membership.state = empi::ChangeState::Building;
  membership.change = "change-3";
  auto committed = ended("change-1", "committed");
  committed.released = {"x"};
  const RuntimeView view = to_runtime_view(
      membership,
      {committed, ended("change-2", "rolled back", "the deadline passed"), ended("change-3", "")});
  ASSERT_TRUE(view.change);
  EXPECT_EQ(view.change->id, "change-3");
  EXPECT_EQ(view.change->state, ChangeState::Building);
  ASSERT_TRUE(view.ended);
  EXPECT_EQ(view.ended->id, "change-2");
  EXPECT_FALSE(view.ended->committed);
  EXPECT_TRUE(view.ended->timed_out);
  EXPECT_EQ(view.ended->paused_millis, 12);
  EXPECT_EQ(view.released, std::vector<std::string>{"x"});
}

TEST(ToRuntimeView, ACommittedChangeThatStillDrainsHasItsPause) {
  auto membership = running();
  membership.state = empi::ChangeState::Draining;
  membership.change = "change-1";
  const RuntimeView view = to_runtime_view(membership, {ended("change-1", "committed")});
  ASSERT_TRUE(view.change);
  EXPECT_EQ(view.change->state, ChangeState::Draining);
  ASSERT_TRUE(view.ended);
  EXPECT_TRUE(view.ended->committed);
  EXPECT_EQ(view.ended->paused_millis, 12);
}

TEST(ToRuntimeView, AFailedProgramKeepsItsLastLines) {
  auto membership = running();
  membership.outcome = {"failed", "rank 1 was killed by signal 11", 139, {"line 1", "line 2"}};
  const RuntimeView view = to_runtime_view(membership, {});
  EXPECT_EQ(view.program, ProgramState::Failed);
  EXPECT_EQ(view.message, "rank 1 was killed by signal 11\nline 1\nline 2");
}

TEST(TerminationText, IsTheRecordInWordsAndAnythingElseAsItIs) {
  EXPECT_EQ(termination_text(
                R"({"result":"failed","reason":"rank 0 exited with code 2","exitCode":2,"tail":["bad"]})"),
            "rank 0 exited with code 2\nbad");
  EXPECT_EQ(termination_text("segmentation fault"), "segmentation fault");
  EXPECT_EQ(termination_text(R"({"of":"somebody else"})"), R"({"of":"somebody else"})");
  EXPECT_EQ(termination_text(""), "");
}

TEST(TerminationText, SaysWhatToDoAboutAnImageThatTheAgentCannotRunIn) {
  EXPECT_NE(termination_text(
                "/opt/elastic-mpi/bin/elastic-mpi-agent: /lib/libc.so.6: version `GLIBC_2.38' not found")
                .find("use an image of Debian 13"),
            std::string::npos);
  EXPECT_NE(termination_text(
                "error while loading shared libraries: libpmix.so.2: cannot open shared object file: No")
                .find("install Open MPI 5.0"),
            std::string::npos);
}

}  // namespace
}  // namespace emj
