// SPDX-License-Identifier: Apache-2.0
// Pods for workers that have none yet. In a queue a job holds no more than it was granted, at no moment: what
// it has let go takes up its place until it is gone (rule Q8), and a newcomer waits for that.

#include <algorithm>

#include "operator/decide/pass.hpp"
#include "operator/decide/queueing.hpp"

namespace emj {
namespace {

// Whoever is replaced holds a place that is lost to the job: on a node that is drained or dead, or in the
// pool that it leaves.
int held_of_allocation(const Pass& pass) {
  const IndexSet replaced = pass.disrupted();
  const auto& moved_from = pass.status.allocation->moved_from;
  const auto holds = [&](const PodView& pod) {
    const bool lives = pod.phase == PodPhase::Pending || pod.phase == PodPhase::Running;
    const bool elsewhere = moved_from && pod.pool == moved_from->pool;
    return lives && !pod.disruption_target && !elsewhere && !replaced.contains(pod.index);
  };
  return static_cast<int>(std::ranges::count_if(pass.seen.pods, holds) +
                          std::ranges::count_if(pass.actions, [](const Action& action) {
                            return holds_alternative<CreatePod>(action);
                          }));
}

}  // namespace

void create_missing(Pass& pass, const IndexSet& workers) {
  const bool bounded = in_queue(pass.spec) && pass.status.allocation;
  int room = bounded ? pass.status.allocation->workers - held_of_allocation(pass) : workers.size();
  for (const int index : workers)
    if (!pass.pod(index) && room-- > 0) pass.act(CreatePod{index});
}

}  // namespace emj
