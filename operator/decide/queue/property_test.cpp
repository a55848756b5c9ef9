// SPDX-License-Identifier: Apache-2.0
// Random histories of a queue: whatever jobs, pods, nodes, quotas and a crashing operator do, what the design
// promises holds (I1 to I11; I4 and I12 are tested on schedules, in operator/simulate).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "operator/decide/queue/ledger.hpp"
#include "operator/decide/queue/testing/jobs.hpp"

namespace emj::queue {
namespace {

using namespace testing_queue;

class History {
 public:
  explicit History(unsigned seed) : random_(seed) {
    const int pools = number(1, 2);
    for (int p = 0; p < pools; ++p) state_.pools.push_back({"pool-" + std::to_string(p), nodes()});
    state_.rules.backfill = static_cast<Backfill>(number(0, 2));
    state_.rules.objective = static_cast<Objective>(number(0, 4));
    state_.rules.order.fair_share.by_namespace = chance(.3);
    state_.rules.order.max_wait = Seconds(chance(.3) ? 500 : 0);
  }

  void run(int events) {
    for (int i = 0; i < events && !testing::Test::HasFailure(); ++i) {
      happen();
      settle(chance(.1) ? Operator::Dies : Operator::Lives);
    }
  }

  // I5: when nothing else comes, everybody who fits gets its turn.
  void drain() {
    for (Pool& pool : state_.pools) pool.capacity = {32'000, 64'000};
    quotas_.clear();
    hidden_.clear();
    for (int i = 0; i < 2000 && !state_.jobs.empty() && !testing::Test::HasFailure(); ++i) {
      now_ += Seconds(number(1, 300));
      hear_of_late_writes();
      move_pods(true);
      end_some(.2);
      settle(Operator::Lives);
    }
    EXPECT_TRUE(state_.jobs.empty()) << state_.jobs.size() << " jobs never ended";
  }

  int kept_back() const { return kept_back_; }

 private:
  // A plan is carried out whole, or up to where the operator died in it.
  enum class Operator { Lives, Dies };

  bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(random_) < p; }
  int number(int low, int high) { return std::uniform_int_distribution<>(low, high)(random_); }
  Resources nodes() { return {number(4, 32) * 1000, number(8, 64) * 1000}; }

  void happen() {
    now_ += Millis(number(0, 60'000));
    if (chance(.35) && state_.jobs.size() < 30) submit();
    if (chance(.02)) state_.pools[number(0, static_cast<int>(state_.pools.size()) - 1)].capacity = nodes();
    for (int p = 0; p < static_cast<int>(state_.pools.size()); ++p)
      if (chance(.03)) hidden_[p] = chance(.5) ? Resources{} : nodes();
    if (chance(.02))  // a pool is taken out of the queue, and comes back
      for (Demand& demand : state_.jobs)
        if (demand.queued() && demand.allocation.promised > 0) demand.allocation.pool = -1;
    if (chance(.02)) quotas_[chance(.5) ? "a" : "b"] = number(2, 40) * 1000;
    if (chance(.01)) quotas_.clear();
    hear_of_late_writes();
    move_pods(false);
    fail_some();
    programs_speak();
    end_some(.03);
  }

  // What was given out and did not stand in a status yet: it does now, or was lost with the operator.
  void hear_of_late_writes() {
    for (Demand& demand : state_.jobs) {
      const auto late = late_.find(demand.uid);
      if (late == late_.end() || chance(.3)) continue;
      if (chance(.3)) demand = late->second;
      late_.erase(late);
    }
  }

  // Changes that come to nothing, starts that fail: the job says so itself, by its next allocation.
  void fail_some() {
    for (Demand& demand : state_.jobs) {
      if (demand.queued() || late_.contains(demand.uid) || !chance(.03)) continue;
      demand.frozen_until = now_ + Seconds(number(30, 600));
      demand.allocation.promised = 0;
      if (chance(.3)) {
        demand.allocation.workers = 0;  // back to the queue; its pods are there until they are gone
      } else if (demand.held > demand.allocation.workers) {
        if (feasible(demand, demand.held)) demand.allocation.workers = demand.held;
      } else if (!demand.rigid()) {
        demand.allocation.workers = demand.floor;  // newcomers never came
      }
    }
  }

  // What running programs say that they need: no more than they have (rule Q15).
  void programs_speak() {
    for (Demand& demand : state_.jobs)
      if (demand.queued())
        demand.keeps = 0;
      else if (chance(.05))
        demand.keeps = chance(.5) ? 0 : demand.curve->size(number(0, demand.curve->count() - 1));
  }

  // What the scheduler reads anew before each plan; whose start has failed is passed over for a while.
  void look() {
    state_.quotas = {quota_left("a"), quota_left("b")};
    for (Pool& pool : state_.pools) pool.unplaceable = {};
    const std::vector<Ledger> ledgers = make_ledgers(state_);
    for (const auto& [p, hidden] : hidden_)
      state_.pools[p].unplaceable = smaller(hidden, positive(to_come(ledgers[p]) - ledgers[p].promised));
    for (Demand& demand : state_.jobs) {
      demand.wish = demand.curve->sizes().back();
      demand.resizing = late_.contains(demand.uid) || demand.held != demand.allocation.workers;
      if (demand.queued() && demand.held == 0) demand.resizing = false;
      demand.written = !late_.contains(demand.uid) && !(demand.queued() && now_ < demand.frozen_until);
      demand.quotas = {demand.namespace_name == "a" ? 0 : 1};
    }
  }

  Quota quota_left(const std::string& name) const {
    constexpr std::int64_t kMuch = 1'000'000'000;
    const auto quota = quotas_.find(name);
    if (quota == quotas_.end()) return {{kMuch, kMuch}, kMuch};
    std::int64_t used = 0;
    for (const Demand& demand : state_.jobs)
      if (demand.namespace_name == name) used += demand.of(demand.held).milli_cpu;
    return {{quota->second - used, kMuch}, kMuch};
  }

  void submit() {
    const int least = number(1, 8);
    const int most = chance(.3) ? least : least + number(1, 12);
    Demand demand = job(std::to_string(1'000'000 + submitted_++), least, most);
    if (most > least && chance(.4)) make_bumpy(demand);
    demand.since = now_;
    demand.worker = {number(1, 3) * 500, chance(.5) ? number(1, 4) * 500 : 0};
    demand.namespace_name = chance(.5) ? "a" : "b";
    demand.priority = chance(.2) ? number(1, 2) : 0;
    demand.work = number(1, 10);
    demand.trusted = number(least, most);
    if (chance(.3))
      demand.work_left.reset();
    else
      demand.work_left = number(1, 5000);
    if (state_.pools.size() > 1 && chance(.3)) demand.pools = {number(0, 1)};
    for (int p = 0; p < static_cast<int>(state_.pools.size()); ++p)
      if (chance(.1)) demand.free_only.push_back(p);
    state_.jobs.push_back(std::move(demand));
  }

  // Sizes with gaps, speeds that rise, fall and jump.
  void make_bumpy(Demand& demand) {
    std::vector<int> sizes{demand.floor};
    std::vector<double> speeds{1};
    for (int n = demand.floor + 1; n <= demand.wish; ++n) {
      if (n < demand.wish && chance(.4)) continue;
      sizes.push_back(n);
      speeds.push_back(speeds.back() * (.8 + .1 * number(0, 8)));
    }
    demand.reference = sizes[number(0, static_cast<int>(sizes.size()) - 1)];
    demand.curve = std::make_shared<const Curve>(sizes, speeds, state_.rules.objective);
  }

  // Pods go one at a time; those of a change that nobody has been told of stay.
  void move_pods(bool all) {
    for (Demand& demand : state_.jobs) {
      if (late_.contains(demand.uid)) continue;
      if (demand.held > demand.allocation.workers) --demand.held;
      if (all) demand.held = demand.allocation.workers;
    }
  }

  void end_some(double share) {
    std::erase_if(state_.jobs, [&](const Demand& demand) { return !demand.queued() && chance(share); });
  }

  // Plans until nothing is left to do.
  void settle(Operator fate) {
    for (int pass = 0; pass < 60; ++pass) {
      look();
      const Plan plan = schedule(state_, now_);
      check(plan);
      if (plan.grants.empty()) return check_rest(plan);
      Plan kept = plan;
      if (fate == Operator::Dies) kept.grants.resize(number(0, static_cast<int>(plan.grants.size())));
      for (const Grant& grant : kept.grants)
        if (chance(.05)) late_[state_.jobs[grant.job].uid] = state_.jobs[grant.job];
      carry_out(state_, kept, now_);
      if (fate == Operator::Dies) return;
    }
    ADD_FAILURE() << "does not come to rest (rule Q34)";
  }

  // I9: neither what was planned before nor where values are in memory decides. (I8, that all values stand in
  // statuses: operator/controller/scheduler_anew_test.cpp.)
  void decides_by_values_only(const Plan& plan) {
    QueueState copy = state_;
    for (Demand& demand : copy.jobs) demand.curve = std::make_shared<const Curve>(*demand.curve);
    std::ranges::reverse(copy.jobs);
    schedule(copy, now_ + Seconds(1));
    std::ranges::reverse(copy.jobs);
    const Plan again = schedule(copy, now_);
    ASSERT_EQ(plan.grants.size(), again.grants.size());
    for (std::size_t i = 0; i < plan.grants.size(); ++i) {
      EXPECT_EQ(plan.grants[i].job, again.grants[i].job);
      EXPECT_EQ(plan.grants[i].kind, again.grants[i].kind);
      EXPECT_EQ(plan.grants[i].other, again.grants[i].other);
      EXPECT_EQ(plan.grants[i].allocation, again.grants[i].allocation);
    }
    EXPECT_EQ(plan.waiting, again.waiting);
    EXPECT_EQ(plan.wake, again.wake);
    ASSERT_EQ(plan.reservations.size(), again.reservations.size());
    for (std::size_t i = 0; i < plan.reservations.size(); ++i) {
      EXPECT_EQ(plan.reservations[i].job, again.reservations[i].job);
      EXPECT_EQ(plan.reservations[i].start, again.reservations[i].start);
    }
  }

  static bool feasible(const Demand& demand, int workers) {
    const auto& sizes = demand.curve->sizes();
    return std::binary_search(sizes.begin(), sizes.end(), workers);
  }

  void check(const Plan& plan) {
    if (++passes_ % 8 == 0) decides_by_values_only(plan);
    std::vector<Resources> before(state_.pools.size()), after(state_.pools.size());
    for (const Demand& demand : state_.jobs)
      if (demand.allocation.pool >= 0) before[demand.allocation.pool] += demand.of(demand.held);
    after = before;
    std::vector<bool> seen(state_.jobs.size());
    for (const Grant& grant : plan.grants) {
      const Demand& demand = state_.jobs[grant.job];
      EXPECT_FALSE(seen[grant.job]) << "one grant a job";
      seen[grant.job] = true;
      check_grant(grant, demand);
      if (grant.allocation.workers > demand.held && grant.allocation.pool >= 0)
        after[grant.allocation.pool] += demand.of(grant.allocation.workers - demand.held);
    }
    check_quotas(plan);
    for (std::size_t p = 0; p < after.size(); ++p) {
      // I1 and I7: pods that have not gone count. What is over already, since nodes have gone, does not get
      // worse.
      const Resources& capacity = state_.pools[p].capacity;
      EXPECT_LE(after[p].milli_cpu, std::max(before[p].milli_cpu, capacity.milli_cpu)) << "over-committed";
      EXPECT_LE(after[p].memory_mib, std::max(before[p].memory_mib, capacity.memory_mib)) << "over-committed";
    }
  }

  // Q30: all that is granted to jobs of a namespace fits together.
  void check_quotas(const Plan& plan) {
    for (const auto& [name, quota] : quotas_) {
      std::int64_t before = 0, more = 0;
      for (const Demand& demand : state_.jobs)
        if (demand.namespace_name == name) before += demand.of(demand.held).milli_cpu;
      for (const Grant& grant : plan.grants) {
        const Demand& demand = state_.jobs[grant.job];
        if (demand.namespace_name == name)
          more += demand.of(std::max(0, grant.allocation.workers - demand.held)).milli_cpu;
      }
      EXPECT_LE(more, std::max<std::int64_t>(0, quota - before))
          << "more than the quota of " << name << " leaves";
    }
  }

  void check_grant(const Grant& grant, const Demand& demand) {
    const int workers = grant.allocation.workers;
    EXPECT_TRUE(demand.written) << "Q26";
    EXPECT_FALSE(grant.kind == Grant::Kind::Promise && free_only_in(demand, grant.allocation.pool)) << "Q29";
    if (workers > 0) {
      EXPECT_TRUE(feasible(demand, workers)) << "I2";
      EXPECT_GE(workers, demand.floor) << "I2, I3";
      EXPECT_LE(workers, std::max(demand.wish, demand.allocation.workers)) << "I2";
    }
    if (demand.queued()) {
      EXPECT_TRUE(workers == 0 || demand.held == 0) << "pods of the last attempt are still there";
    }
    if (demand.queued()) return;
    EXPECT_FALSE(demand.rigid()) << "I10";
    EXPECT_FALSE(demand.resizing) << "one change at a time";
    EXPECT_EQ(grant.allocation.pool, demand.allocation.pool);
    if (workers < demand.allocation.workers && grant.kind != Grant::Kind::GiveBack) {
      EXPECT_TRUE(workers >= demand.keeps || was_promised_before(grant)) << "a program's floor (Q15)";
    }
    if (grant.kind == Grant::Kind::Grow) {
      EXPECT_GE(now_, demand.changed + state_.rules.growth.cooldown) << "I11";
    }
    if (grant.kind == Grant::Kind::Move) {
      EXPECT_GE(now_, demand.changed + state_.rules.moves.rest) << "I11";
    }
  }

  // All the others, taken as far down as they choose, would not do for whoever is promised workers there.
  bool was_promised_before(const Grant& grant) const {
    if (grant.kind != Grant::Kind::Yield) return false;
    const int pool = grant.allocation.pool;
    const Ledger ledger = make_ledgers(state_)[pool];
    const Resources chosen =
        ledger.free + ledger.releasing + surplus(state_, pool, state_.jobs[grant.other].priority);
    return any_positive(ledger.promised - chosen);
  }

  // I6: the first that waits does not fit into what is free and nobody's; those behind it neither, unless
  // they would delay it.
  void check_rest(const Plan& plan) {
    if (plan.waiting.empty()) return;
    const std::vector<Ledger> ledgers = make_ledgers(state_);
    for (std::size_t place = 1; place < plan.waiting.size(); ++place) check_behind(plan, place, ledgers);
    const Demand& first = state_.jobs[plan.waiting.front()];
    if (std::ranges::find(plan.barred, plan.waiting.front(), &Barred::job) != plan.barred.end()) return;
    for (int p = 0; p < static_cast<int>(state_.pools.size()); ++p) {
      if (!first.pools.empty() && first.pools.front() != p) continue;
      Resources free = state_.pools[p].capacity - state_.pools[p].unplaceable;
      for (const Demand& demand : state_.jobs)
        if (demand.allocation.pool == p) free -= demand.of(std::max(demand.held, demand.lacking()));
      EXPECT_FALSE(fits(first.of(first.floor), free)) << "waits for nothing";
    }
  }

  // Room in a pool that belongs to nobody is kept from a job only if it would make somebody ahead wait
  // longer. Where nobody may pass it is kept in any case.
  void check_behind(const Plan& plan, std::size_t place, const std::vector<Ledger>& ledgers) {
    const Backfill backfill = state_.rules.backfill;
    if (backfill == Backfill::None || state_.rules.order.max_wait > Seconds(0)) return;
    const Demand& job = state_.jobs[plan.waiting[place]];
    if (is_barred(plan, plan.waiting[place])) return;
    for (int p = 0; p < static_cast<int>(state_.pools.size()); ++p) {
      const bool has_room = fits(job.of(job.floor), ledgers[p].free - ledgers[p].promised);
      if (!has_room || !fits_into(job, p) || nobody_can_tell(plan, place, p)) continue;
      ++kept_back_;
      EXPECT_TRUE(delays(plan, place, p)) << job.uid << ", at place " << place << ", waits for nothing";
    }
  }

  static bool is_barred(const Plan& plan, int job) {
    return std::ranges::find(plan.barred, job, &Barred::job) != plan.barred.end();
  }
  bool fits_into(const Demand& job, int pool) const {
    return (job.pools.empty() || job.pools.front() == pool) &&
           fits(job.of(job.floor), state_.pools[pool].capacity);
  }
  static const Reservation* reservation_of(const Plan& plan, int job) {
    const auto found = std::ranges::find(plan.reservations, job, &Reservation::job);
    return found == plan.reservations.end() ? nullptr : &*found;
  }

  // Somebody ahead waits there for ends that are not known, so there is no start to be delayed.
  bool nobody_can_tell(const Plan& plan, std::size_t place, int pool) const {
    const bool all_are_told = state_.rules.backfill == Backfill::Conservative;
    bool somebody = false, told = false, untold = false;
    for (std::size_t i = 0; i < place; ++i) {
      const int ahead = plan.waiting[i];
      if (is_barred(plan, ahead) || !fits_into(state_.jobs[ahead], pool)) continue;
      if (free_only_in(state_.jobs[ahead], pool)) continue;
      const Reservation* reservation = reservation_of(plan, ahead);
      somebody = true;
      told |= reservation && reservation->pool == pool;
      untold |= !reservation;
    }
    return all_are_told ? untold : somebody && !told;
  }

  // If it started there now, somebody ahead would be told a later start, or none, or another pool.
  bool delays(const Plan& plan, std::size_t place, int pool) const {
    QueueState with = state_;
    Demand& job = with.jobs[plan.waiting[place]];
    job.allocation = {.workers = job.floor, .pool = pool, .time = now_};
    job.held = job.floor;
    job.started = job.changed = now_;
    const Plan then = schedule(with, now_);
    for (std::size_t i = 0; i < place; ++i) {
      const Reservation* before = reservation_of(plan, plan.waiting[i]);
      if (!before || before->pool != pool) continue;
      const Reservation* after = reservation_of(then, plan.waiting[i]);
      if (!after || after->pool != pool || after->start > before->start) return true;
    }
    return false;
  }

  std::mt19937 random_;
  QueueState state_;
  std::map<int, Resources> hidden_;             // of pools, what no node has room for
  std::map<std::string, std::int64_t> quotas_;  // of namespaces, CPU in thousandths
  std::map<std::string, Demand> late_;          // by uid: as before a grant that stands in no status yet
  Time now_ = kStart;
  int submitted_ = 0;
  int passes_ = 0;
  int kept_back_ = 0;  // how often a job waited although it had room
};

TEST(Queue, HoldsItsPromisesOverRandomHistories) {
  constexpr unsigned kHistories = 250;  // of 200 events each
  // Other histories at each repetition (--gtest_shuffle --gtest_repeat).
  const unsigned first = 1000 * static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
  int kept_back = 0;
  for (unsigned seed = first; seed < first + kHistories && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    History history(seed);
    history.run(200);
    history.drain();
    kept_back += history.kept_back();
  }
  if (HasFailure()) return;
  EXPECT_GT(kept_back, 4 * static_cast<int>(kHistories))
      << "too few had room while they waited behind others";
}

}  // namespace
}  // namespace emj::queue
