// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/testing/course.hpp"

#include <algorithm>

namespace empi::agent::histories {

using namespace std::chrono_literals;

Course::Course(std::uint64_t seed, Coverage& met, Job what)
    : world(seed),
      job(what),
      tasks((world.dice.percent(20) && job == Job::Any) || job == Job::Mirrored),
      recoverable(job == Job::Recoverable || job == Job::Votes),
      program(world, tasks, recoverable),
      coverage(met) {
  world.program = &program;
}

SimulatedPod& Course::make_pod() {
  const std::string n = std::to_string(next_pod++);
  const Member member{"u" + n, "w-" + n, "10.0.0." + n + ":7400", world.dice.between(1, 4), "", 0};
  auto pod = std::make_unique<SimulatedPod>(world, member, tokens);
  return *(world.pods[member.uid] = std::move(pod));
}

SimulatedPod* Course::lead() {
  for (const auto& [uid, pod] : world.pods)
    if (pod->responds() && !pod->over() && pod->is_lead() && pod->lead().membership().lead().uid == uid)
      return pod.get();
  return nullptr;
}

SimulatedPod* Course::leaving_lead() {
  for (const auto& [uid, pod] : world.pods)
    if (pod->responds() && !pod->over() && pod->is_lead() && pod->lead().membership().lead().uid != uid &&
        state_of(*pod) == ChangeState::Draining)
      return pod.get();
  return nullptr;
}

ChangeState state_of(const SimulatedPod& pod) { return pod.lead().state(); }

std::string change_of(const SimulatedPod& pod) {
  MembershipView view;
  pod.lead().describe(view);
  return view.change;
}

SimulatedPod* Course::any_pod() {
  std::vector<SimulatedPod*> alive;
  for (const auto& [uid, pod] : world.pods)
    if (pod->alive() && !pod->over()) alive.push_back(pod.get());
  return alive.empty() ? nullptr
                       : alive[static_cast<std::size_t>(world.dice.below(static_cast<int>(alive.size())))];
}

void Course::pod_dies(SimulatedPod& pod) {
  world.tell("kill pod " + pod.uid());
  pod.die();
  program.pod_died(pod);
}

void Course::finish() {
  // Nobody has heard yet that the rank with the queue is lost: no such program ends.
  if (job == Job::Mirrored && !program.is_alive(program.keeper())) may_fail = true;
  if (program.finished() || program.in_window() || program.recovering()) return;
  SimulatedPod* pod = lead();
  if (!pod) pod = leaving_lead();
  if (!pod) return;
  // Others end before they hear that a rank is lost.
  std::vector<Member> members = pod->lead().membership().members;
  if (pod->plan()) std::ranges::copy(pod->plan()->add, std::back_inserter(members));
  const auto has_lost = [&](const Member& member) { return program.has_lost_a_rank(member.uid); };
  may_fail = may_fail || (recoverable && std::ranges::any_of(members, has_lost));
  std::set<ProcId> failing;
  if (world.dice.percent(40)) {
    auto ranks = ranks_of(pod->lead().membership().members);
    // What a leaver returns counts only until its change is committed.
    const auto leaves = [&](const ProcId& proc) {
      return std::ranges::any_of(
          pod->plan() ? pod->plan()->remove : std::vector<std::string>{},
          [&](const std::string& uid) { return world.find(uid)->ranks().contains(proc); });
    };
    std::erase_if(ranks, [&](const ProcId& proc) { return !program.is_alive(proc) || leaves(proc); });
    if (ranks.empty()) return;
    failing.insert(ranks[static_cast<std::size_t>(world.dice.below(static_cast<int>(ranks.size())))]);
  }
  fails = !failing.empty();
  world.tell(fails ? "the program ends with 7" : "the program ends");
  program.finish(failing);
}

}  // namespace empi::agent::histories
