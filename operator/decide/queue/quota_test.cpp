// SPDX-License-Identifier: Apache-2.0
// What quotas of namespaces let jobs have (rule Q30).
#include "operator/decide/queue/quota.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "operator/decide/queue/explain.hpp"
#include "operator/decide/queue/testing/jobs.hpp"

namespace emj::queue {
namespace {

using namespace testing_queue;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kMuch = 1'000'000'000;

// Of so many pods; all jobs of `counted()` share it.
QueueState machine_with_quota(int cores, int pods) {
  QueueState state = machine(cores);
  state.quotas = {{{kMuch, kMuch}, pods}};
  return state;
}
Demand counted(Demand demand) {
  demand.quotas = {0};
  return demand;
}
int workers_of(const Plan& plan, int job) {
  const Grant* grant = grant_of(plan, job);
  return grant ? grant->allocation.workers : 0;
}

TEST(Quotas, LeaveWhatTheTightestOfThemLeaves) {
  const std::vector<Quota> quotas = {{{4500, kMuch}, kMuch}, {{kMuch, 3000}, kMuch}, {{kMuch, kMuch}, 1}};
  Demand demand = job("a", 1, 1);
  demand.worker = {1000, 1024};
  demand.quotas = {0, 1};
  EXPECT_EQ(quota_room(quotas, demand), 2);
  demand.worker.memory_mib = 0;
  EXPECT_EQ(quota_room(quotas, demand), 4);
  demand.quotas = {2};
  EXPECT_EQ(quota_room(quotas, demand), 1);
  demand.quotas.clear();
  EXPECT_GT(quota_room(quotas, demand), 1000);
}

TEST(Quotas, AreSharedByTheStartsOfOnePass) {
  QueueState state = machine_with_quota(8, 4);
  state.jobs = {counted(job("a", 3, 3, 0)), counted(job("b", 3, 3, 1)), job("other", 4, 4, 2)};
  const Plan plan = schedule(state, at(10));
  EXPECT_EQ(workers_of(plan, 0), 3);
  EXPECT_EQ(grant_of(plan, 1), nullptr);
  EXPECT_EQ(workers_of(plan, 2), 4) << "another namespace's job does not stand back for it";
  ASSERT_EQ(plan.barred.size(), 1u);
  EXPECT_EQ(plan.barred[0].job, 1);
  EXPECT_THAT(explain_waiting(state, plan, 1),
              HasSubstr("the ResourceQuotas of namespace default leave room for 1"));
}

TEST(Quotas, AreSharedByStartsAndGrowth) {
  QueueState state = machine_with_quota(20, 6);
  state.jobs = {counted(running(job("a", 1, 8, 0), 2)), counted(job("b", 1, 8, 1))};
  const Plan plan = schedule(state, at(1000));
  const int grown = workers_of(plan, 0) > 0 ? workers_of(plan, 0) - 2 : 0;
  EXPECT_GE(workers_of(plan, 1), 1);
  EXPECT_EQ(grown + workers_of(plan, 1), 6);
}

TEST(Quotas, CountWorkersThatAreNoPodsYet) {
  QueueState state = machine_with_quota(8, 4);
  Demand starting = counted(running(job("a", 3, 3, 0), 3));
  starting.unmade = 3;
  state.jobs = {starting, counted(job("b", 2, 2, 1))};
  EXPECT_THAT(schedule(state, at(10)).grants, IsEmpty());
  state.jobs[0].unmade = 1;
  EXPECT_EQ(workers_of(schedule(state, at(10)), 1), 2);
}

TEST(Quotas, ShrinkNobodyForAJobThatTheyBar) {
  QueueState state = machine_with_quota(8, 3);
  state.jobs = {running(job("a", 1, 8, 0), 8), counted(job("b", 4, 4, 1))};
  EXPECT_THAT(schedule(state, at(10)).grants, IsEmpty());
}

TEST(Quotas, KeepWhatIsPromised) {
  QueueState state = machine_with_quota(8, 4);
  Demand promised = counted(job("b", 4, 4, 1));
  promised.allocation = {.promised = 4, .pool = 0, .time = at(1)};
  Demand donor = running(job("a", 1, 8, 0), 4);
  donor.held = 7;
  donor.resizing = true;
  state.jobs = {donor, promised, counted(job("c", 1, 1, 2))};
  EXPECT_THAT(schedule(state, at(10)).grants, IsEmpty()) << "there is a core free for c, and no quota";
}

TEST(Quotas, ThatHaveBecomeTooSmallWithdrawAPromise) {
  QueueState state = machine_with_quota(8, 3);
  Demand promised = counted(job("b", 4, 4, 1));
  promised.allocation = {.promised = 4, .pool = 0, .time = at(1)};
  state.jobs = {running(job("a", 1, 8, 0), 8), promised};
  const Plan plan = schedule(state, at(10));
  ASSERT_EQ(plan.grants.size(), 1u) << "nobody is asked for it";
  EXPECT_EQ(plan.grants[0].kind, Grant::Kind::Withdraw);
  EXPECT_THAT(explain(state, plan.grants[0], at(10)), HasSubstr("ResourceQuotas of namespace default"));
}

// A quota counts a pod a moment before its job is seen with it.
TEST(Quotas, OfPodsThatAreBeingMadeWithdrawNoPromise) {
  QueueState state = machine_with_quota(8, 4);
  Demand promised = counted(job("b", 4, 4, 1));
  promised.allocation = {.promised = 4, .pool = 0, .time = at(1)};
  Demand starting = counted(running(job("a", 2, 2, 0), 2));
  starting.unmade = 2;
  state.jobs = {starting, promised};
  EXPECT_THAT(schedule(state, at(10)).grants, IsEmpty());
  state.jobs[0].unmade = 0;
  EXPECT_EQ(workers_of(schedule(state, at(10)), 1), 4);
}

// While "low" has its promise, the quota bars "front", and "urgent" is first; once the promise is taken over
// it bars nobody, and "urgent" waits for "front", which has no room: "low" would be promised all of it again,
// for ever.
TEST(Quotas, ThatAPromiseFillsGiveItToNobodyBehindOneWhomTheyWouldLetIn) {
  QueueState state = urgent_behind_a_promise(5);
  state.quotas = {{{kMuch, kMuch}, 7}};
  state.jobs[1] = counted(state.jobs[1]);
  Demand front = counted(job("front", 5, 5, 0));
  front.priority = state.jobs[2].priority;
  ASSERT_NE(grant_of(schedule(state, at(3)), 1), nullptr) << "without it urgent takes the promise";
  state.jobs.insert(state.jobs.begin(), front);
  std::ranges::sort(state.jobs, {}, [](const Demand& demand) { return std::pair(demand.since, demand.uid); });
  for (int pass = 0; pass < 4; ++pass) {
    const Plan plan = schedule(state, at(3));
    EXPECT_THAT(plan.grants, IsEmpty()) << "pass " << pass;
    carry_out(state, plan, at(3));
  }
}

}  // namespace
}  // namespace emj::queue
