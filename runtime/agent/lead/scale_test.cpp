// SPDX-License-Identifier: Apache-2.0
// No step of the lead's own code is more than linear in pods and ranks. Counted are allocations, of which
// each copy of a rank's id is one: its namespace has too long a name to be kept in place.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <random>

#include "runtime/agent/lead/awaited.hpp"
#include "runtime/agent/lead/lead.hpp"

namespace {

std::atomic<std::uint64_t> allocations{0};

}  // namespace

// Not inlined: else GCC takes what our new has from malloc for what somebody else's new has made, and warns
// of free().
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace empi::agent {
namespace {

constexpr int kSlots = 16;
constexpr char kJob[] = "a-job-with-a-long-name";

std::vector<Member> pods(int count, const std::string& name, int slots = kSlots) {
  std::vector<Member> members;
  for (int i = 0; i < count; ++i) {
    const std::string pod = name + "-" + std::to_string(i);
    members.push_back({"uid-of-" + pod, pod, pod + ":1", slots, "", 0});
  }
  return members;
}

template <class Work>
double allocations_of(Work work) {
  const std::uint64_t before = allocations;
  work();
  return static_cast<double>(allocations - before);
}

// Four times as many pods cost a step at most a little more than four times as much; something quadratic
// would cost it sixteen times as much.
void expect_linear(const std::function<double(int pods)>& cost) {
  const double few = cost(10), many = cost(40);
  ASSERT_GT(few, 0);
  EXPECT_LT(many, 6 * few) << "of 10 pods: " << few;
}
void expect_constant(const std::function<double(int pods)>& cost) {
  const double few = cost(10), many = cost(40);
  EXPECT_LT(many, 2 * few + 10) << "of 10 pods: " << few;
}

// As Open MPI's accept asks: each pod with all ranks of both sides, by name.
struct Accept {
  NamespaceTable spaces;
  Rendezvous rendezvous{spaces};
  std::vector<Member> members;
  std::vector<ProcId> procs;

  explicit Accept(int count) {
    std::vector<Member> old = pods(count / 2, "old"), joining = pods(count - count / 2, "joining");
    spaces.add(lay_out(std::string(kJob) + ".1", old));
    spaces.add(lay_out(std::string(kJob) + ".2", joining));
    members = old;
    members.insert(members.end(), joining.begin(), joining.end());
    procs = ranks_of(members);
  }
  RendezvousReplies contribute(const Member& member) {
    return rendezvous.contribute("connect", procs, {member.uid, 1}, "");
  }
};

TEST(LeadsWork, AContributionToACollectiveIsLinearInItsRanks) {
  expect_linear([](int count) {
    Accept accept(count);
    for (std::size_t i = 0; i + 2 < accept.members.size(); ++i) accept.contribute(accept.members[i]);
    const double cost =
        allocations_of([&] { EXPECT_TRUE(accept.contribute(*(accept.members.end() - 2)).empty()); });
    EXPECT_EQ(accept.contribute(accept.members.back()).size(), accept.members.size());
    return cost;
  });
}

// Ranks are runs, in messages as in what the lead makes of them.
TEST(LeadsWork, AContributionOfAllRanksCostsWhatThePodsCost) {
  const auto cost = [](int slots) {
    std::vector<Member> members = pods(8, "pod", slots);
    NamespaceTable spaces;
    spaces.add(lay_out(kJob, members));
    Rendezvous rendezvous(spaces);
    const std::string bytes = encode(Collective{1, "connect", ranks_of(members), ""});
    return allocations_of([&] {
      const auto asked = std::get<Collective>(decode_message(bytes));
      EXPECT_TRUE(rendezvous.contribute(asked.kind, asked.procs, {members[0].uid, 1}, "").empty());
    });
  };
  EXPECT_EQ(cost(64), cost(2));
}

TEST(LeadsWork, ARanksEndDuringACollectiveIsNoWalkOverAllRanks) {
  expect_constant([](int count) {
    Accept accept(count);
    accept.contribute(accept.members[0]);
    const ProcId gone = accept.procs.back();
    return allocations_of([&] {
      ASSERT_TRUE(accept.spaces.rank_exited(gone));
      EXPECT_TRUE(accept.rendezvous.rank_gone(gone).empty());
    });
  });
}

// A job that runs, until its last rank but one ends.
TEST(LeadsWork, ARanksEndIsNoWalkOverAllRanks) {
  expect_constant([](int count) {
    const std::vector<Member> members = pods(count, "pod");
    Lead lead({members[0].uid, kJob});
    const Moment now{};
    lead.start({Fence{1}, members}, now);
    for (const std::uint64_t step : {1, 2})
      for (const Member& m : members) lead.on(StepDone{"", step, {}}, m.uid, now);
    lead.take_actions();
    const std::vector<Member> placed = lead.membership().members;
    const auto end = [&](const Member& m, std::uint32_t i) {
      RankExited exit;
      exit.proc = {m.nspace, m.first_rank + i};
      exit.may_exit = exit.connected = true;
      lead.on(exit, m.uid, now);
    };
    for (const Member& m : placed)
      for (std::uint32_t i = 0; i < kSlots; ++i)
        if (&m != &placed.front()) end(m, i);
    for (std::uint32_t i = 2; i < kSlots; ++i) end(placed[0], i);
    const double cost = allocations_of([&] { end(placed[0], 1); });
    EXPECT_FALSE(lead.verdict());
    end(placed[0], 0);
    EXPECT_TRUE(lead.verdict());
    return cost;
  });
}

TEST(LeadsWork, WhoeverWasFoundIsNotLookedForAgain) {
  const std::vector<Member> members = [] {
    auto all = pods(20, "pod");
    lay_out(kJob, all);
    return all;
  }();
  const std::vector<ProcId> ranks = ranks_of(members);
  for (const bool in_order : {true, false}) {
    std::vector<ProcId> reports = ranks;
    if (!in_order) std::shuffle(reports.begin(), reports.end(), std::mt19937(12));
    const std::set<ProcId> all(ranks.begin(), ranks.end());
    std::set<ProcId> there;
    Awaited awaited;
    std::size_t looks = 0;
    for (const ProcId& proc : reports) {
      EXPECT_FALSE(awaited.all(all, [&](const ProcId& p) { return there.contains(p); }));
      there.insert(proc);
      awaited.all(all, [&](const ProcId& p) { return ++looks, there.contains(p); });
    }
    EXPECT_TRUE(awaited.all(all, [&](const ProcId& p) { return there.contains(p); }));
    EXPECT_LE(looks, 2 * ranks.size());
  }
}

}  // namespace
}  // namespace empi::agent
