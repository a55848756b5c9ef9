// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/agent/lead/testing/course.hpp"

namespace empi::agent::histories {

using namespace std::chrono_literals;

namespace {
constexpr Ms kGrace = 5s;  // from SIGTERM to SIGKILL: the shortest there is, of local clusters
}

void Controller::begin() {
  World& world = course_.world;
  StartRequest request;
  request.fence = course_.fence;
  request.leaver_grace = std::chrono::seconds(world.dice.between(2, 5));
  for (int i = world.dice.between(2, 4); i > 0; --i) request.members.push_back(course_.make_pod().member());
  SimulatedPod& first = *world.find(request.members.front().uid);
  if (first.start(request).status != 200) world.violate("the start is refused");
  look();
}

void Controller::look() {
  World& world = course_.world;
  world.events.after(world.dice.delay(100, 700), [this] { look(); });
  if (named_lead_has_failed()) {  // and the job with it, whatever a lead before it believes
    for (const auto& [uid, other] : world.pods)
      if (other->alive() && !other->over()) delete_pod(*other);
    return;
  }
  if (course_.recoverable || course_.tasks) name_lead();
  SimulatedPod* pod = course_.lead();
  if (!pod || given_up_.contains(pod->uid())) return;
  const Membership& now = pod->lead().membership();
  if (!course_.quiet && !course_.program.finished() && world.dice.percent(25)) chat(now);
  if (state_of(*pod) != ChangeState::Stable) {
    if (!course_.quiet && world.dice.percent(2)) pod->cancel(change_of(*pod), course_.fence);
    return;
  }
  for (const auto& [uid, other] : world.pods)  // it deletes what has no place any more
    if (!now.find(uid) && other->alive() && !other->over() && other.get() != pod) delete_pod(*other);
  if (course_.quiet || course_.program.finished() || now.members.empty()) return;
  if (world.dice.percent(30)) return;
  request_change(*pod, now);
}

// As operators do (R20): a pod that is gone is proof, silence takes its time.
void Controller::name_lead() {
  World& world = course_.world;
  if (SimulatedPod* lead = course_.lead(); lead && !given_up_.contains(lead->uid())) {
    lead_answered_ = world.events.now();
    return tell_lead_who_is_lost(*lead);
  }
  const SimulatedPod* witness = nullptr;
  for (const auto& [uid, pod] : world.pods) {
    if (!pod->responds() || pod->over() || !pod->started() || !pod->membership().find(uid)) continue;
    if (given_up_.contains(uid) || !pod->view().survives_lead_loss) continue;
    if (!witness || pod->membership().epoch > witness->membership().epoch) witness = pod.get();
  }
  if (!witness) return;
  LeadRequest word{course_.fence, "", {}, "it is gone"};
  const MembershipView view = witness->view();
  const std::string& first = view.membership.lead().uid;
  const SimulatedPod* former = world.find(first);
  // One that has ended by itself is no loss: the job has ended with it, or it had handed over.
  if (former->over() && (former->alive() || !given_up_.contains(first))) return;
  if (former->alive()) {
    const bool lost = view.lead_silent_seconds >= 10 && world.events.now() - lead_answered_ >= 20s;
    if (!lost && !given_up_.contains(first)) return;
    course_.excused.insert(first);
  }
  given_up_.insert(first);
  for (const Member& member : view.membership.members) {
    const SimulatedPod* pod = world.find(member.uid);
    if (pod->alive() && !given_up_.contains(member.uid)) {
      if (word.lead.empty()) word.lead = member.uid;
    } else {
      word.dead.push_back(member.uid);
    }
  }
  SimulatedPod* next = world.find(word.lead);
  if (!next || !next->responds()) return;
  if (next->is_lead())  // it asks the others, and has lost some
    for (const std::string& uid : next->view().silent) {
      course_.excused.insert(uid);
      given_up_.insert(uid);
      if (std::ranges::find(word.dead, uid) == word.dead.end()) word.dead.push_back(uid);
    }
  word.fence = Fence{++course_.fence.value};
  word.epoch = view.membership.epoch;
  for (const Member& member : view.membership.members) word.members.push_back(member.uid);
  if (next->name_lead(word).status != 200) return;
  named_ = word.lead;
  world.tell("name " + word.lead + " the lead");
  ++course_.coverage.leads;
}

bool Controller::named_lead_has_failed() const {
  const SimulatedPod* named = course_.world.find(named_);
  if (!named || !named->over() || named->outcome().result != JobResult::Failed) return false;
  return std::ranges::none_of(course_.world.pods, [&](const auto& entry) {  // to whom it has handed over
    const auto& [uid, pod] = entry;
    return pod->alive() && !pod->over() && pod->is_lead() && !given_up_.contains(uid);
  });
}

void Controller::tell_lead_who_is_lost(SimulatedPod& lead) {
  const MembershipView view = lead.view();
  if (!view.survives_lead_loss) return;
  LeadRequest word{course_.fence, lead.uid(), {}, "it is gone"};
  for (const Member& member : view.membership.members)
    if (SimulatedPod* pod = course_.world.find(member.uid); !pod->alive()) word.dead.push_back(member.uid);
  const auto& plan = lead.plan();
  for (const std::string& uid : view.silent) {
    course_.excused.insert(uid);
    word.dead.push_back(uid);
    // Those who could take it over may be about to leave.
    const bool has_queue = course_.tasks && uid == course_.program.pod_of_queue();
    course_.may_fail = course_.may_fail || (has_queue && plan && !plan->remove.empty());
  }
  if (word.dead.empty()) return;
  given_up_.insert(word.dead.begin(), word.dead.end());
  word.fence = Fence{++course_.fence.value};
  lead.name_lead(word);
}

// As a cluster does, local ones too: it is told, and has time to end by itself. A lead that has handed over
// uses it to tell all members so.
void Controller::delete_pod(SimulatedPod& pod) {
  if (!deleted_.insert(pod.uid()).second) return;
  course_.world.tell("delete pod " + pod.uid());
  pod.terminate();
  course_.world.events.after(kGrace, [this, &pod] {
    if (pod.alive() && !pod.over()) course_.pod_dies(pod);
  });
}

void Controller::chat(const Membership& now) {
  std::vector<SimulatedPod*> members;
  std::vector<ProcId> ranks;
  for (const ProcId& proc : ranks_of(now.members))
    if (course_.program.is_settled(proc)) ranks.push_back(proc);
  for (const Member& member : now.members)
    if (SimulatedPod* pod = course_.world.find(member.uid);
        pod && std::ranges::any_of(ranks, [&](const ProcId& proc) { return pod->ranks().contains(proc); }))
      members.push_back(pod);
  course_.program.traffic().chat(members, ranks);
}

void Controller::request_change(SimulatedPod& pod, const Membership& now) {
  const int size = static_cast<int>(now.members.size());
  ChangeRequest request;
  request.id = "c" + std::to_string(next_change_++);
  request.fence = course_.fence;
  request.epoch = now.epoch;
  // Some are longer than a silent pod is borne.
  request.deadline_ms = course_.world.dice.percent(25) ? 20'000 : course_.world.dice.between(3000, 10'000);
  const int kind = course_.world.dice.below(3);
  if (kind != 0 && size > 1)
    for (int i = course_.world.dice.between(1, std::min(2, size - 1)); i > 0; --i) {
      const std::string& uid = now.members[static_cast<std::size_t>(course_.world.dice.below(size))].uid;
      if (std::ranges::find(request.remove, uid) == request.remove.end()) request.remove.push_back(uid);
    }
  if (kind != 1 && size < 6)
    for (int i = course_.world.dice.between(1, 2); i > 0; --i)
      request.add.push_back(course_.make_pod().member());
  if (request.add.empty() && request.remove.empty()) return;
  const int status = pod.change(request).status;
  if (status == 200) {
    std::string what = "change " + request.id;
    for (const Member& m : request.add) what += " +" + m.uid;
    for (const std::string& uid : request.remove) what += " -" + uid;
    course_.world.tell(what);
    ++course_.coverage.changes;
    if (course_.world.dice.percent(20) && pod.change(request).status != 200 && !pod.over())
      course_.world.violate("a change that is asked for again is refused");
    return;
  }
  for (const Member& member : request.add) course_.world.find(member.uid)->die();
}

}  // namespace empi::agent::histories
