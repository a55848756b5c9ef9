// SPDX-License-Identifier: Apache-2.0
// Losses of a master-worker program, by what the lead has heard.
#include <gtest/gtest.h>

#include "runtime/agent/lead/lead.hpp"

namespace empi::agent {
namespace {

// The queue of tasks went from a rank to another. The pod of the first, which does not learn of it, repeats
// in each beat what its rank has said last: joiners were sent to a queue that had gone.
TEST(Losses, WhoKeptTheQueueBeforeDoesNotKeepItAgain) {
  const std::vector<Member> pods = {{"uid-0", "pod-0", "pod-0:1", 1, "", 0},
                                    {"uid-1", "pod-1", "pod-1:1", 1, "", 0},
                                    {"uid-2", "pod-2", "pod-2:1", 1, "", 0}};
  const Moment now{};
  Lead lead({"uid-0", "job"});
  lead.start({Fence{1}, pods}, now);
  for (const std::uint64_t step : {1, 2})
    for (const Member& pod : pods) lead.on(StepDone{"", step, {}}, pod.uid, now);
  std::vector<RankReport> keeps;
  for (const Member& member : lead.membership().members) {
    RankReport hello;
    hello.proc = {member.nspace, member.first_rank};
    hello.tasks = true;
    lead.on(RankReported{hello, {hello.proc}}, member.uid, now);
    hello.kind = RankReport::Kind::Queue;
    hello.address = member.address + "/queue";
    keeps.push_back(hello);
  }
  for (const int i : {1, 2})
    lead.on(RankReported{keeps[i], {keeps[i].proc}}, "uid-" + std::to_string(i), now);
  lead.on(Beat{.queue = keeps[1]}, "uid-1", now);
  lead.pod_lost("uid-1", "the test says so", now);
  EXPECT_FALSE(lead.verdict()) << lead.verdict()->reason;
  lead.pod_lost("uid-2", "the test says so", now);
  EXPECT_TRUE(lead.verdict());
}

}  // namespace
}  // namespace empi::agent
