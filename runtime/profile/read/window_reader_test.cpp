// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile/read/window_reader.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "runtime/profile/testing/synthetic_page.hpp"

namespace empi::profile {
namespace {

using testing::kSecond;
using testing::SyntheticPage;
using testing::TemporaryFolder;

struct Pod : ::testing::Test {
  TemporaryFolder folder;
  WindowReader reader{folder.path()};
  std::int64_t index = 0;
  // Ends a window at t seconds.
  WindowSample read_at(double t, std::int64_t epoch = 1) {
    return reader.read(++index, 1.0, epoch, static_cast<std::uint64_t>(t * kSecond));
  }
};

TEST(Windows, AllPodsCutAtMultiplesOfTheWidth) {
  EXPECT_EQ(next_boundary(1'700'000'000'400'000'000, 1'000'000'000), 1'700'000'001'000'000'000);
  EXPECT_EQ(next_boundary(1'700'000'001'000'000'000, 1'000'000'000), 1'700'000'002'000'000'000);
  // Woken up at the boundary or a little later, the index is the same.
  EXPECT_EQ(window_index(1'700'000'001'000'000'000, 250'000'000),
            window_index(1'700'000'001'200'000'000, 250'000'000));
  EXPECT_EQ(window_index(1'700'000'001'000'000'000, 1'000'000'000), 1'700'000'001);
}

TEST_F(Pod, HasNoRanksYet) {
  const WindowSample s = read_at(10);
  EXPECT_EQ(s.ranks, 0);
  EXPECT_EQ(s.pods, 0);
  EXPECT_FALSE(efficiency(s).known);
}

TEST_F(Pod, WithoutItsFolderHasNoRanksYet) {
  WindowReader none(folder.path() / "not there");
  EXPECT_EQ(none.read(1, 1.0, 0, kSecond).ranks, 0);
}

TEST_F(Pod, SplitsTimeIntoUsefulMpiAndAdaptation) {
  SyntheticPage a(folder.path(), 0, 1 * kSecond), b(folder.path(), 1, 1 * kSecond);
  read_at(10);
  a.counters().mpi_ns = kSecond / 5;
  a.counters().mpi_collective_ns = kSecond / 10;
  a.counters().mpi_calls = 100;
  a.counters().mpi_bytes = 4000;
  a.counters().work_units = 7;
  a.counters().progress = .25;
  a.counters().wish_min = 2;
  a.counters().wish_max = 8;
  for (int i = 0; i < 4; ++i) count_iteration(a.counters(), kSecond / 4);
  b.counters().mpi_ns = kSecond / 2;
  b.counters().adapt_ns = kSecond / 10;
  b.counters().work_units = 3;
  b.counters().wish_min = 1;
  b.counters().wish_max = 6;
  const WindowSample s = read_at(11);
  EXPECT_EQ(s.index, 2);
  EXPECT_EQ(s.ranks, 2);
  EXPECT_EQ(s.pods, 1);
  EXPECT_DOUBLE_EQ(s.elapsed_s, 2);
  EXPECT_DOUBLE_EQ(s.mpi_s, .7);
  EXPECT_DOUBLE_EQ(s.mpi_collective_s, .1);
  EXPECT_DOUBLE_EQ(s.adapt_s, .1);
  EXPECT_DOUBLE_EQ(s.useful_s, 1.2);
  EXPECT_DOUBLE_EQ(s.max_useful_s, .8);
  EXPECT_DOUBLE_EQ(s.max_pod_useful_s, 1.2);
  EXPECT_EQ(s.mpi_calls, 100u);
  EXPECT_EQ(s.mpi_bytes, 4000u);
  EXPECT_EQ(s.iterations, 4u);
  EXPECT_DOUBLE_EQ(s.iteration_s, 1);
  EXPECT_DOUBLE_EQ(s.iteration_s2, .25);
  EXPECT_DOUBLE_EQ(s.work_units, 10);
  EXPECT_DOUBLE_EQ(s.progress, .25);
  EXPECT_EQ(s.wish_min, 2) << "the largest minimum";
  EXPECT_EQ(s.wish_max, 6) << "the smallest maximum";
  EXPECT_FALSE(s.mixed);
}

TEST_F(Pod, CountsTheCallInProgressOnceOnly) {
  SyntheticPage a(folder.path(), 0, 1 * kSecond);
  read_at(10);
  a.counters().in_mpi_since_ns = static_cast<std::uint64_t>(10.6 * kSecond);
  EXPECT_NEAR(read_at(11).mpi_s, .4, 1e-9);
  EXPECT_NEAR(read_at(12).mpi_s, 1.0, 1e-9);  // still in the same call
  a.counters().in_mpi_since_ns = 0;
  a.counters().mpi_ns = static_cast<std::uint64_t>(1.9 * kSecond);  // 10.6 .. 12.5
  const WindowSample s = read_at(13);
  EXPECT_NEAR(s.mpi_s, .5, 1e-9);
  EXPECT_NEAR(s.useful_s, .5, 1e-9);
}

TEST_F(Pod, CarriesCollectiveTimeThatShowsLate) {
  SyntheticPage a(folder.path(), 0, 1 * kSecond);
  read_at(10);
  a.counters().in_mpi_since_ns = 10 * kSecond;
  EXPECT_DOUBLE_EQ(read_at(11).mpi_collective_s, 0);
  a.counters().in_mpi_since_ns = 0;
  a.counters().mpi_ns = a.counters().mpi_collective_ns = static_cast<std::uint64_t>(1.5 * kSecond);
  const WindowSample s = read_at(12);
  EXPECT_NEAR(s.mpi_s, .5, 1e-9);
  EXPECT_NEAR(s.mpi_collective_s, .5, 1e-9);  // never more than the window's time in MPI
}

TEST_F(Pod, CountsTasksAndTheOneInProgress) {
  SyntheticPage a(folder.path(), 0, 1 * kSecond), b(folder.path(), 1, 1 * kSecond);
  a.counters().tasks.ended = 10;  // before the first window
  a.counters().tasks.task_ns = 3 * kSecond;
  read_at(10);
  TaskCounters& queue = a.counters().tasks;
  queue.pattern = Pattern::MasterWorker;
  queue.phase = 1;
  queue.total = 20;
  queue.done = 12;
  queue.queued = 5;
  count_task(a.counters().tasks, kSecond / 4);
  count_task(a.counters().tasks, kSecond / 2);
  b.counters().tasks.in_task_since_ns = static_cast<std::uint64_t>(10.5 * kSecond);
  WindowSample s = read_at(11);
  EXPECT_TRUE(s.master_worker());
  EXPECT_EQ(s.tasks.queue.total, 20u);
  EXPECT_EQ(s.tasks.queue.queued, 5u);
  EXPECT_EQ(s.tasks.ended, 2u);
  EXPECT_DOUBLE_EQ(s.tasks.task_s, .75);
  EXPECT_DOUBLE_EQ(s.tasks.task_s2, .0625 + .25);
  EXPECT_DOUBLE_EQ(s.tasks.busy_s, .75 + .5);
  b.counters().tasks.in_task_since_ns = 0;
  count_task(b.counters().tasks, kSecond);  // 10.5 .. 11.5
  s = read_at(12);
  EXPECT_EQ(s.tasks.ended, 1u);
  EXPECT_DOUBLE_EQ(s.tasks.task_s, 1);
  EXPECT_DOUBLE_EQ(s.tasks.busy_s, .5);  // its first half was in the window before
  queue.pattern = Pattern::Spmd;
  EXPECT_FALSE(read_at(13).master_worker());
}

TEST_F(Pod, CountsTheChangeInProgress) {
  SyntheticPage a(folder.path(), 0, 1 * kSecond);
  read_at(10);
  a->rank_state.phase = RankPhase::InWindow;
  a.counters().in_adapt_since_ns = static_cast<std::uint64_t>(10.8 * kSecond);
  EXPECT_NEAR(read_at(11).adapt_s, .2, 1e-9);
  a.counters().in_adapt_since_ns = 0;
  a.counters().adapt_ns = static_cast<std::uint64_t>(.3 * kSecond);
  a->rank_state.phase = RankPhase::Running;
  const WindowSample s = read_at(12, 2);
  EXPECT_NEAR(s.adapt_s, .1, 1e-9);
  EXPECT_NEAR(s.useful_s, .9, 1e-9);
  EXPECT_TRUE(s.mixed);  // the epoch is another one
  EXPECT_EQ(s.epoch, 2);
  EXPECT_FALSE(read_at(13, 2).mixed);
}

TEST_F(Pod, KeepsEmulatedTimeWithinUsefulTime) {
  SyntheticPage a(folder.path(), 0, 1 * kSecond);
  read_at(10);
  a.counters().mpi_ns = kSecond / 2;
  a.counters().emulated_ns = static_cast<std::uint64_t>(.7 * kSecond);
  EXPECT_NEAR(read_at(11).emulated_s, .5, 1e-9);
  const WindowSample s = read_at(12);
  EXPECT_NEAR(s.emulated_s, .2, 1e-9);
  EXPECT_NEAR(s.useful_s, 1, 1e-9);
}

TEST_F(Pod, CountsARankThatStartsWithinTheWindowFromItsInit) {
  SyntheticPage a(folder.path(), 0, 1 * kSecond);
  read_at(10);
  SyntheticPage b(folder.path(), 1, static_cast<std::uint64_t>(10.75 * kSecond));
  const WindowSample s = read_at(11);
  EXPECT_EQ(s.ranks, 2);
  EXPECT_NEAR(s.elapsed_s, 1.25, 1e-9);
}

TEST_F(Pod, GivesOldRanksAStartingPointOnTheFirstRead) {
  SyntheticPage old(folder.path(), 0, 1 * kSecond),
      fresh(folder.path(), 1, static_cast<std::uint64_t>(9.5 * kSecond));
  old.counters().mpi_calls = 1'000'000;
  const WindowSample first = read_at(10);
  EXPECT_EQ(first.ranks, 1);
  EXPECT_EQ(first.mpi_calls, 0u);
  EXPECT_NEAR(first.elapsed_s, .5, 1e-9);
  EXPECT_EQ(read_at(11).ranks, 2);
}

TEST_F(Pod, IgnoresARankStillInInit) {
  SyntheticPage a(folder.path(), 0, 0);
  read_at(10);
  EXPECT_EQ(read_at(11).ranks, 0);
}

TEST_F(Pod, DoesNotCountRanksThatAreDone) {
  SyntheticPage a(folder.path(), 0, 1 * kSecond), b(folder.path(), 1, 1 * kSecond);
  read_at(10);
  b->rank_state.phase = RankPhase::Lingering;
  b.counters().mpi_calls = 5;
  const WindowSample s = read_at(11);
  EXPECT_EQ(s.ranks, 1);
  EXPECT_EQ(s.mpi_calls, 0u);
  ASSERT_EQ(reader.ranks().size(), 2u);  // its last figures are not lost for sums
  EXPECT_EQ(reader.ranks()[1].mpi_calls, 5u);
  EXPECT_FALSE(reader.ranks()[1].member);
  EXPECT_EQ(reader.ranks()[1].useful_ns, 0u);
}

TEST_F(Pod, TakesALastLookAtAPageThatIsRemoved) {
  std::optional<SyntheticPage> a;
  a.emplace(folder.path(), 0, 1 * kSecond);
  read_at(10);
  a->counters().mpi_calls = 3;
  a.reset();
  EXPECT_EQ(read_at(11).ranks, 0);
  ASSERT_EQ(reader.ranks().size(), 1u);
  EXPECT_EQ(reader.ranks()[0].mpi_calls, 3u);
  EXPECT_EQ(reader.ranks()[0].proc, (ProcId{"job-0", 0}));
  read_at(12);
  EXPECT_TRUE(reader.ranks().empty());
}

TEST_F(Pod, StartsAfreshWhenARankIsStartedAgain) {
  std::optional<SyntheticPage> a;
  a.emplace(folder.path(), 0, 1 * kSecond);
  a->counters().mpi_calls = 1000;
  read_at(10);
  a.reset();
  a.emplace(folder.path(), 0, static_cast<std::uint64_t>(10.5 * kSecond));
  a->counters().mpi_calls = 2;
  const WindowSample s = read_at(11);
  EXPECT_EQ(s.ranks, 1);
  EXPECT_EQ(s.mpi_calls, 2u);
  EXPECT_NEAR(s.elapsed_s, .5, 1e-9);
  // The same file, filled in again by another process.
  a->counters() = Counters{};
  a->counters().start_ns = static_cast<std::uint64_t>(11.25 * kSecond);
  EXPECT_NEAR(read_at(12).elapsed_s, .75, 1e-9);
}

TEST_F(Pod, LeavesATornPageToTheNextWindowAndLosesNothing) {
  SyntheticPage a(folder.path(), 0, 1 * kSecond), b(folder.path(), 1, 1 * kSecond);
  read_at(10);
  b->sequence = 1;  // in the middle of an update
  b.counters().mpi_calls = 10;
  EXPECT_EQ(read_at(11).ranks, 1);
  b->sequence = 2;
  b.counters().mpi_ns = kSecond / 2;
  const WindowSample s = read_at(12);
  EXPECT_EQ(s.ranks, 2);
  EXPECT_EQ(s.mpi_calls, 10u);
  EXPECT_NEAR(s.elapsed_s, 2, 1e-9);  // two ranks in one window ...
  EXPECT_NEAR(s.mpi_s, .25, 1e-9);    // ... with this one's rate over the two windows it was not read
  EXPECT_EQ(reader.ranks()[1].elapsed_ns, 2 * kSecond);
}

TEST_F(Pod, SkipsAndNamesPagesOfAnotherBuildOnce) {
  SyntheticPage a(folder.path(), 0, 1 * kSecond), other(folder.path(), 1, 1 * kSecond);
  other->bytes = sizeof(Page) + 64;
  std::ofstream(folder.path() / "page.job-0.2") << "something else altogether";
  std::ofstream(folder.path() / "page.job-0.3").flush();  // made, not filled in yet
  std::ofstream(folder.path() / "agent.sock") << "no page";
  ::testing::internal::CaptureStderr();
  read_at(10);
  EXPECT_EQ(read_at(11).ranks, 1);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("page.job-0.1"), said.rfind("page.job-0.1")) << said;
  EXPECT_NE(said.find("page.job-0.1"), std::string::npos) << said;
  EXPECT_NE(said.find("page.job-0.2"), std::string::npos) << said;
  EXPECT_EQ(said.find("page.job-0.3"), std::string::npos) << said;
}

TEST_F(Pod, ReadsAPageOnceItIsFilledIn) {
  SyntheticPage a(folder.path(), 0, static_cast<std::uint64_t>(10.5 * kSecond));
  a->magic = 0;
  EXPECT_EQ(read_at(11).ranks, 0);
  a->magic = kPageMagic;
  EXPECT_EQ(read_at(12).ranks, 1);
}

TEST(CountIteration, PutsDurationsIntoBuckets) {
  Counters c;
  count_iteration(c, 1'000'000);  // exactly the first bound: "less or equal"
  count_iteration(c, 1'000'001);
  count_iteration(c, 60 * kSecond);
  EXPECT_EQ(c.iterations, 3u);
  EXPECT_EQ(c.iteration_buckets.front(), 1u);
  EXPECT_EQ(c.iteration_buckets[1], 1u);
  EXPECT_EQ(c.iteration_buckets.back(), 1u);
}

}  // namespace
}  // namespace empi::profile
