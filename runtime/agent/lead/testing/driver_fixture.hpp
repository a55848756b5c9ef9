// SPDX-License-Identifier: Apache-2.0
// What tests of the lead's driver share: a driver, what it asks for, and how it is answered.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "runtime/agent/lead/change_driver.hpp"

namespace empi::agent {

class DriverFixture : public ::testing::Test {
 protected:
  ChangeDriver driver;
  ChangeDriver::TimePoint now{};
  Membership old{Epoch{3}, {}};

  // Change "x" of the job "job.1"; who joins is in "job.2". All old ranks are past MPI_Init.
  void begin(std::vector<Member> add, std::vector<std::string> remove, JobFacts facts) {
    ChangeRequest r;
    r.id = "x";
    r.epoch = old.epoch;
    r.add = std::move(add);
    r.remove = std::move(remove);
    r.deadline_ms = 10'000;
    const auto ranks = ranks_of(old.members);
    facts.hello = {ranks.begin(), ranks.end()};
    driver.begin(r, old, "job.2", std::move(facts), now);
  }
  // The step that the driver asks for now; it must be exactly one.
  DriverStep next_step(DriverStep::Kind kind) {
    auto steps = driver.take_steps();
    EXPECT_EQ(steps.size(), 1u) << "in state " << to_string(driver.state());
    if (steps.empty()) return {};
    EXPECT_EQ(to_string(steps[0].kind), to_string(kind));
    return steps[0];
  }
  void answer(const DriverStep& s, const StepAnswer& a = {}) {
    for (const std::string& uid : s.uids) driver.answered(s.number, uid, a, now);
  }
  void report(RankReport::Kind kind, const ProcId& proc, bool ok = true) {
    RankReport r;
    r.kind = kind;
    r.proc = proc;
    r.change = "x";
    r.ok = ok;
    driver.reported(r, now);
  }
  void report_all(RankReport::Kind kind, const std::vector<ProcId>& procs, bool ok = true) {
    for (const ProcId& proc : procs) report(kind, proc, ok);
  }
  std::vector<ProcId> old_ranks() const { return ranks_of(driver.plan().old.members); }
  std::vector<ProcId> joiners() const { return ranks_of(driver.plan().add); }
};

// Two old pods with two ranks each, one newcomer with two; every agent answers well unless told otherwise.
class Driver : public DriverFixture {
 protected:
  using Kind = DriverStep::Kind;
  using Report = RankReport::Kind;

  std::vector<Member> newcomers = {{"c", "pod-c", "c:1", 2, "", 0}};

  void SetUp() override {
    old.members = {{"a", "pod-a", "a:1", 2, "", 0}, {"b", "pod-b", "b:1", 2, "", 0}};
    lay_out("job.1", old.members);
  }
  void begin(std::vector<Member> add, std::vector<std::string> remove = {}) {
    DriverFixture::begin(std::move(add), std::move(remove), {.leaver_grace = std::chrono::seconds(4)});
  }

  void to_building() {
    answer(next_step(Kind::Prepare));
    if (!driver.plan().add.empty()) {
      answer(next_step(Kind::Launch));
      report_all(Report::Hello, joiners());
    }
    ASSERT_EQ(driver.state(), ChangeState::Building);
    answer(next_step(Kind::Fetch));
    answer(next_step(Kind::Build), {.probes = 100});
  }
  void to_ready() {
    to_building();
    report_all(Report::Built, old_ranks());
    report_all(Report::Built, joiners());
    report_all(Report::AtBegin, joiners());
    ASSERT_EQ(driver.state(), ChangeState::Ready);
  }
  void to_window() {
    to_ready();
    answer(next_step(Kind::ReadProbes), {.probes = 100});
    answer(next_step(Kind::Arm), {.probes = 100});
    ASSERT_EQ(driver.state(), ChangeState::Window);
    answer(next_step(Kind::Confirm));
  }
  void to_draining() {
    to_window();
    report(Report::Agreed, old_ranks()[0]);
    answer(next_step(Kind::Commit));
    ASSERT_EQ(driver.state(), ChangeState::Draining);
  }
  void expect_rolled_back() {
    ASSERT_EQ(driver.state(), ChangeState::RollingBack);
    answer(next_step(Kind::GiveUp));
    report_all(Report::Built, old_ranks(), false);
    answer(next_step(Kind::Forget));
    EXPECT_EQ(driver.state(), ChangeState::Stable);
    EXPECT_EQ(driver.status().outcome, ChangeOutcome::RolledBack);
    EXPECT_NE(driver.status().reason, "");
  }
};

}  // namespace empi::agent
