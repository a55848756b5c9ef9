// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/convert.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <limits>

#include "runtime/agent/lead/change_driver.hpp"
#include "runtime/protocol/json.hpp"

namespace emj {
namespace {

std::string text_of(const std::string& message) { return read_termination(message).text; }

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

TEST(ToStartRequest, TellsTheLeadWhatTheManifestSaysOfLeavers) {
  JobSpec spec;
  EXPECT_EQ(to_start_request(spec, 3, {}).leaver_grace, empi::kLeaverGrace) << "one default";
  spec.runtime.leaver_grace = Seconds(45);
  const auto request = to_start_request(spec, 3, {{"u", "w-0", "h:1", 2, "", 0}});
  const auto travelled = nlohmann::json(request).get<empi::StartRequest>();
  EXPECT_EQ(travelled.leaver_grace, Seconds(45));
  EXPECT_EQ(travelled.fence.value, 3);
  ASSERT_EQ(travelled.members.size(), 1u);
  EXPECT_EQ(travelled.members[0].uid, "u");
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
    windows.back().wish_min = 1;
    windows.back().wish_max = 10 - i;
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
  EXPECT_EQ(samples[0].wish_min, 1);
  EXPECT_EQ(samples[0].wish_max, 6) << "as it is at the end";
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

// All that a long job keeps is converted at each look, twice a second.
TEST(ToSamples, AnHourOfWindowsIsNoWork) {
  std::vector<empi::WindowSample> windows;
  for (int i = 0; i < 3600; ++i) windows.push_back(window(100 + i, 0.5 + i % 7 * 0.01));
  const std::clock_t start = std::clock();
  EXPECT_EQ(to_samples(windows, Seconds(1)).size(), 3600u);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 2) << "seconds of processor time";
}

empi::MembershipView running() {
  empi::MembershipView view;
  view.uid = "a";
  view.fence.value = 3;
  view.ranks = 4;
  view.membership.epoch.value = 7;
  view.membership.members = {{"a", "w-0", "10.0.0.1:1", 2, "ns", 0}, {"b", "w-1", "10.0.0.2:1", 2, "ns", 2}};
  return view;
}

empi::ChangeStatus ended(const std::string& id, empi::ChangeOutcome outcome, const std::string& reason = "") {
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
  EXPECT_EQ(view.ranks, 4);
  EXPECT_EQ(view.lead_uid, "a");
  EXPECT_EQ(view.members, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(view.program, ProgramState::Running);
  EXPECT_FALSE(view.change);
}

// An agent is the tenant's: the controller counts on from its fence, and shows its ranks.
TEST(ToRuntimeView, FiguresThatCannotBeAreCut) {
  empi::MembershipView odd = running();
  odd.fence.value = std::numeric_limits<std::int64_t>::max();
  odd.ranks = std::numeric_limits<int>::max();
  EXPECT_EQ(to_runtime_view(odd, {}).fence, std::int64_t{1} << 53);
  EXPECT_EQ(to_runtime_view(odd, {}).ranks, 1 << 20);
  odd.fence.value = odd.ranks = -1;
  EXPECT_EQ(to_runtime_view(odd, {}).fence, 0);
  EXPECT_EQ(to_runtime_view(odd, {}).ranks, 0);
}

TEST(ToRuntimeView, WhatIsSaidOfCheckpointsIsBounded) {
  empi::MembershipView view = running();
  view.checkpoint = {.number = 7, .iteration = 700, .bytes = 4096, .seconds = .25, .wall_millis = 1000};
  EXPECT_EQ(to_runtime_view(view, {}).checkpoint.number, 7);
  EXPECT_EQ(to_runtime_view(view, {}).checkpoint.written_millis, 250);
  EXPECT_EQ(to_runtime_view(view, {}).checkpoint.time, Time(Millis(1000)));
  view.checkpoint.number = view.checkpoint.wall_millis = std::numeric_limits<std::int64_t>::max();
  view.checkpoint.bytes = -1;
  view.checkpoint.trouble = std::string(100000, 'x');
  const RuntimeView cut = to_runtime_view(view, {});
  EXPECT_EQ(cut.checkpoint.number, std::int64_t{1} << 53);
  EXPECT_EQ(cut.checkpoint.bytes, 0);
  EXPECT_EQ(to_string(*cut.checkpoint.time).substr(0, 4), "9999");
  EXPECT_LE(cut.checkpoint_trouble.size(), 2000u);
}

TEST(ToRuntimeView, AnAgentWithoutAMembershipHasNotStarted) {
  EXPECT_EQ(to_runtime_view(empi::MembershipView{}, {}).program, ProgramState::NotStarted);
}

TEST(ToRuntimeView, ChangeInHandAndTheNewestThatEnded) {
  auto membership = running();
  membership.state = empi::ChangeState::Building;
  membership.change = "change-3";
  auto committed = ended("change-1", empi::ChangeOutcome::Committed);
  committed.released = {"x"};
  const RuntimeView view = to_runtime_view(
      membership, {committed, ended("change-2", empi::ChangeOutcome::RolledBack, "rank 3 was killed"),
                   ended("change-3", empi::ChangeOutcome::Unfinished)});
  ASSERT_TRUE(view.change);
  EXPECT_EQ(view.change->id, "change-3");
  EXPECT_EQ(view.change->state, ChangeState::Building);
  ASSERT_TRUE(view.ended);
  EXPECT_EQ(view.ended->id, "change-2");
  EXPECT_FALSE(view.ended->committed);
  EXPECT_FALSE(view.ended->timed_out);
  EXPECT_EQ(view.ended->paused_millis, 12);
  EXPECT_EQ(view.released, std::vector<std::string>{"x"});
}

TEST(ToRuntimeView, AChangeInFlightIsInTheStateThatTheLeadNames) {
  for (const empi::ChangeState state : empi::kChangeStates) {
    SCOPED_TRACE(std::string(to_string(state)));
    auto membership = running();
    membership.state = state;
    membership.change = "change-3";
    const RuntimeView view = to_runtime_view(membership, {});
    ASSERT_EQ(view.change.has_value(), state != ChangeState::Stable && state != ChangeState::Failed);
    if (view.change) {
      EXPECT_EQ(view.change->state, state);
    }
  }
}

// What the lead's own driver makes of a newcomer that never answers, or that dies, as it travels.
empi::ChangeStatus rolled_back_by_the_lead(bool in_time) {
  using empi::agent::DriverStep;
  const empi::Membership old{empi::Epoch{1}, {{"a", "w-0", "10.0.0.1:1", 1, "ns", 0}}};
  empi::agent::ChangeDriver driver;
  empi::agent::ChangeDriver::TimePoint now{};
  empi::ChangeRequest request;
  request.id = "change-2";
  request.epoch = old.epoch;
  request.add = {{"b", "w-1", "10.0.0.2:1", 1, "", 0}};
  request.deadline_ms = 200;
  driver.begin(request, old, "ns.1", {.hello = {{"ns", 0}}}, now);
  driver.take_steps();
  if (in_time)
    driver.pod_lost("b", "pod b did not come within its deadline", now);
  else
    driver.tick(now + std::chrono::milliseconds(200));
  for (int round = 0; round < 2; ++round)  // GiveUp, Forget
    for (const DriverStep& step : driver.take_steps())
      for (const std::string& uid : step.uids) driver.answered(step.number, uid, {}, now);
  return nlohmann::json(driver.status()).get<empi::ChangeStatus>();
}

TEST(ToRuntimeView, TellsAChangeWhoseTimeWasOverFromOneThatFailedInTime) {
  const RuntimeView late = to_runtime_view(running(), {rolled_back_by_the_lead(false)});
  ASSERT_TRUE(late.ended);
  EXPECT_FALSE(late.ended->committed);
  EXPECT_TRUE(late.ended->timed_out) << late.ended->reason;
  const RuntimeView lost = to_runtime_view(running(), {rolled_back_by_the_lead(true)});
  ASSERT_TRUE(lost.ended);
  EXPECT_FALSE(lost.ended->timed_out) << "whatever words its reason has: " << lost.ended->reason;
}

TEST(ToRuntimeView, OfAnOlderLeadItIsNotKnownWhatEndedAChange) {
  nlohmann::json older = rolled_back_by_the_lead(false);
  ASSERT_EQ(older.erase("endedBy"), 1u);
  const RuntimeView view = to_runtime_view(running(), {older.get<empi::ChangeStatus>()});
  ASSERT_TRUE(view.ended);
  EXPECT_FALSE(view.ended->timed_out);
}

TEST(ToRuntimeView, ACommittedChangeThatStillDrainsHasItsPause) {
  auto membership = running();
  membership.state = empi::ChangeState::Draining;
  membership.change = "change-1";
  const RuntimeView view = to_runtime_view(membership, {ended("change-1", empi::ChangeOutcome::Committed)});
  ASSERT_TRUE(view.change);
  EXPECT_EQ(view.change->state, ChangeState::Draining);
  ASSERT_TRUE(view.ended);
  EXPECT_TRUE(view.ended->committed);
  EXPECT_EQ(view.ended->paused_millis, 12);
}

// Nobody asked the lead to drop a lost member: the change that somebody waits for is another one.
TEST(ToRuntimeView, TheRecordOfALostMemberIsNoChangeThatEnded) {
  auto lost = ended("lost-8", empi::ChangeOutcome::Committed);
  lost.origin = empi::ChangeOrigin::LostMember;
  const auto asked_for = ended("lost-and-found", empi::ChangeOutcome::Committed);
  nlohmann::json older = lost;  // a lead of an older image says it by the id
  older.erase("origin");
  for (const empi::ChangeStatus& record : {lost, older.get<empi::ChangeStatus>()}) {
    const RuntimeView view = to_runtime_view(running(), {asked_for, record});
    ASSERT_TRUE(view.ended);
    EXPECT_EQ(view.ended->id, "lost-and-found");
  }
}

// What a lead says of it is a tenant's word: bounded, and no number below 0.
TEST(ToRuntimeView, ALossIsToldWithWhatItHasCost) {
  auto lost = ended("lost-8", empi::ChangeOutcome::Committed);
  lost.origin = empi::ChangeOrigin::LostMember;
  lost.request.epoch = {7};
  lost.reason = "rank 3 was killed" + std::string(5000, '!');
  lost.to_ranks = 6;
  lost.times.lost_ms = 640;
  lost.repeated_iterations = 12;
  auto odd = lost;
  odd.to_ranks = odd.repeated_iterations = -1;
  odd.times.lost_ms = -1e300;
  const auto losses = to_runtime_view({}, {lost, odd}).losses;
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses[0].epoch, 7);
  EXPECT_EQ(losses[0].ranks, 6);
  EXPECT_EQ(losses[0].lost_millis, 640);
  EXPECT_EQ(losses[0].repeated_iterations, 12);
  EXPECT_LE(losses[0].reason.size(), 2100u);
  EXPECT_EQ(losses[1].ranks, 0);
  EXPECT_EQ(losses[1].repeated_iterations, 0);
  EXPECT_GE(losses[1].lost_millis, 0);
}

TEST(Termination, LastWordsTellHowTheLastChangeCameOut) {
  empi::JobOutcome outcome;
  outcome.result = empi::JobResult::Succeeded;
  EXPECT_FALSE(read_termination(nlohmann::json(outcome).dump()).last_change);
  outcome.last_change =
      empi::ChangeRecord{"change-2", "shrink", "why", empi::ChangeOutcome::Committed, 4, 2, {}, 1000};
  outcome.last_change->times.pause_ms = 2.5;
  EXPECT_EQ(read_termination(nlohmann::json(outcome).dump()).last_change, outcome.last_change);
  EXPECT_FALSE(read_termination("segmentation fault").last_change);
}

TEST(TerminationText, SaysWhetherTheProgramEndedWell) {
  for (const auto result : {empi::JobResult::Succeeded, empi::JobResult::Failed, empi::JobResult::Stopped}) {
    empi::JobOutcome outcome;
    outcome.result = result;
    EXPECT_EQ(read_termination(nlohmann::json(outcome).dump()).program_succeeded,
              result == empi::JobResult::Succeeded);
  }
  EXPECT_FALSE(read_termination("segmentation fault").program_succeeded);
}

TEST(ToRuntimeView, AFailedProgramKeepsItsLastLines) {
  auto membership = running();
  membership.outcome = {empi::JobResult::Failed, "rank 1 was killed by signal 11", 139, {"line 1", "line 2"}};
  const RuntimeView view = to_runtime_view(membership, {});
  EXPECT_EQ(view.program, ProgramState::Failed);
  EXPECT_EQ(view.message, "rank 1 was killed by signal 11\nline 1\nline 2");
}

TEST(TerminationText, IsTheRecordInWordsAndAnythingElseAsItIs) {
  EXPECT_EQ(
      text_of(R"({"result":"failed","reason":"rank 0 exited with code 2","exitCode":2,"tail":["bad"]})"),
      "rank 0 exited with code 2\nbad");
  EXPECT_EQ(text_of("segmentation fault"), "segmentation fault");
  EXPECT_EQ(text_of(R"({"of":"somebody else"})"), R"({"of":"somebody else"})");
  EXPECT_EQ(text_of(""), "");
}

TEST(TerminationText, SaysWhatToDoAboutAnImageThatTheAgentCannotRunIn) {
  EXPECT_NE(text_of("/opt/elastic-mpi/bin/elastic-mpi-agent: /lib/libc.so.6: version `GLIBC_2.38' not found")
                .find("use an image of Debian 13"),
            std::string::npos);
  EXPECT_NE(text_of("error while loading shared libraries: libpmix.so.2: cannot open shared object file: No")
                .find("install Open MPI 5.0"),
            std::string::npos);
}

}  // namespace
}  // namespace emj
