// SPDX-License-Identifier: Apache-2.0
// The lead's driver in random histories: whatever comes in whatever order, an end has its reason, what is
// committed stays so, and once the noise is over every change ends.
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>

#include "runtime/agent/lead/change_driver.hpp"

namespace empi::agent {
namespace {

using Kind = DriverStep::Kind;
using Report = RankReport::Kind;
using namespace std::chrono_literals;

class History {
 public:
  explicit History(unsigned seed) : random_(seed) {
    Membership old{Epoch{3}, {{"a", "pod-a", "a:1", 2, "", 0}, {"b", "pod-b", "b:1", 1, "", 0}}};
    lay_out("job.1", old.members);
    ChangeRequest r;
    r.id = "x";
    r.epoch = old.epoch;
    const auto kind = pick(3);
    if (kind != 0) r.add = {{"c", "pod-c", "c:1", 2, "", 0}};
    if (kind != 1) r.remove = {"a"};
    r.deadline_ms = 10'000;
    const auto ranks = ranks_of(old.members);
    driver_.begin(r, old, "job.2", {.hello = {ranks.begin(), ranks.end()}, .leaver_grace = 2s}, now_);
    ranks_ = ranks;
    for (const ProcId& proc : ranks_of(driver_.plan().add)) ranks_.push_back(proc);
  }

  // One event. Mostly what a healthy job does, so that late states are reached, too.
  void act() {
    answer_steps(pick(100) == 0);
    const ProcId& one = ranks_[pick(ranks_.size())];
    switch (pick(150)) {
      case 0:
        note_loss(one.nspace == "job.2");
        return driver_.rank_exited(one, pick(2), "a rank has ended", now_);
      case 1: {
        const std::string uid(1, static_cast<char>('a' + pick(3)));
        note_loss(driver_.plan().joins(uid));
        return driver_.pod_lost(uid, "a pod is lost", now_);
      }
      case 2:
        return driver_.cancel("not wanted", now_);
      case 3:
        now_ += 3s;
        return driver_.tick(now_);
      case 4:
        return report(one, Report::Finalizing, true);
      case 5:
        return report(one, Report::Finalized, true);
      case 6:
        return report(one, Report::Agreed, pick(2));
      case 7:
        return report(one, Report::Built, false);
      default:
        break;
    }
    now_ += 1ms;
    driver_.tick(now_);
    constexpr Report kHealthy[] = {Report::Hello, Report::Built, Report::AtBegin, Report::Past};
    if (driver_.state() == ChangeState::Window && pick(4) == 0) return report(one, Report::Agreed, true);
    report(one, kHealthy[pick(std::size(kHealthy))], true);
  }

  void expect_sense() {
    const ChangeStatus& s = driver_.status();
    const ChangeState state = driver_.state();
    EXPECT_EQ(s.state, state);
    if (state == ChangeState::Failed) {
      EXPECT_EQ(s.outcome, ChangeOutcome::Failed);
    }
    if (state == ChangeState::Failed || state == ChangeState::RollingBack) {
      EXPECT_NE(s.reason, "");
      EXPECT_TRUE(s.ended_by);
    }
    if (state == ChangeState::Stable) {
      EXPECT_NE(s.outcome, ChangeOutcome::Unfinished);
    }
    committed_ |= state == ChangeState::Committed;
    rolled_back_ |= state == ChangeState::RollingBack;
    EXPECT_FALSE(joiner_lost_ && (state == ChangeState::Draining || s.outcome == ChangeOutcome::Committed))
        << "it would be a member that is not there";
    EXPECT_FALSE(committed_ && rolled_back_);
    EXPECT_FALSE(rolled_back_ && s.outcome == ChangeOutcome::Committed);
    EXPECT_FALSE(committed_ && s.outcome == ChangeOutcome::RolledBack);
  }

  // Agents answer, ranks come out of the window with a no and are killed when they do not go; nothing else.
  void run_out() {
    for (int round = 0; driver_.active() && round < 20; ++round) {
      now_ += 1min;
      driver_.tick(now_);
      expect_sense();
      answer_steps(false);
      if (driver_.state() == ChangeState::Window) {
        EXPECT_NE(driver_.status().reason, "") << "it is late: whoever asks is told";
        report(ranks_[2], Report::Agreed, false);
      }
      if (driver_.state() == ChangeState::Draining)
        for (const ProcId& proc : ranks_) report(proc, Report::Past, true);
    }
    expect_sense();
    EXPECT_FALSE(driver_.active()) << "in state " << to_string(driver_.state());
  }

  bool active() const { return driver_.active(); }
  ChangeOutcome outcome() const { return driver_.status().outcome; }

 private:
  void note_loss(bool joiner) { joiner_lost_ |= joiner && driver_.state() == ChangeState::Window; }
  std::size_t pick(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  void report(const ProcId& proc, Report kind, bool ok) {
    RankReport r;
    r.kind = kind;
    r.proc = proc;
    r.change = "x";
    r.ok = ok;
    driver_.reported(r, now_);
  }
  void answer_steps(bool badly) {
    for (const DriverStep& s : driver_.take_steps()) {
      for (const std::string& uid : s.uids)
        driver_.answered(s.number, uid, {.ok = !badly, .probes = 7, .error = badly ? "it cannot" : ""}, now_);
      if (s.kind == Kind::Kill)
        for (const ProcId& proc : s.leavers) driver_.rank_exited(proc, false, "killed by signal 9", now_);
    }
  }

  std::mt19937 random_;
  ChangeDriver driver_;
  ChangeDriver::TimePoint now_{};
  std::vector<ProcId> ranks_;
  bool committed_ = false, rolled_back_ = false;
  bool joiner_lost_ = false;  // in the window
};

TEST(DriverHistories, EveryChangeEndsAndSaysWhy) {
  std::map<ChangeOutcome, int> ends;
  for (unsigned seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History history(seed);
    for (int events = 0; history.active() && events < 200; ++events) {
      history.act();
      history.expect_sense();
    }
    history.run_out();
    ++ends[history.outcome()];
    if (::testing::Test::HasFailure()) return;
  }
  for (const ChangeOutcome end : {ChangeOutcome::Committed, ChangeOutcome::RolledBack, ChangeOutcome::Failed})
    EXPECT_GT(ends[end], 500) << "few histories reach the end: " << to_string(end);
}

}  // namespace
}  // namespace empi::agent
