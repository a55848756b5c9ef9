// SPDX-License-Identifier: Apache-2.0
// Who may go on when members are lost, the lead perhaps (decision R20). Whose pod is gone or was killed is
// dead. A lead that has merely fallen silent is given up when a member has lost it, too, and for twice as
// long as silence is borne; members that a lead which answers has lost are, by its word. What is decided here
// is written, with a fence of its own, before it is told, so that nobody else can decide otherwise; and it is
// told until the lead shows that it has followed, by whichever operator is there then.

#include <algorithm>

#include "operator/decide/pass.hpp"

namespace emj {
namespace {

constexpr Seconds kTakesOver{120};
constexpr Seconds kToldAgain{1};
constexpr Seconds kSomebodyAnswers{10};
constexpr Seconds kNodeIsFoundOut{60};      // Kubernetes gives a node 40 to 50 s, and then keeps pods off it
constexpr std::size_t kMostLostNodes = 16;  // a rack; each is a line in the status and in pods
constexpr int kKilled = 128;  // exit codes from here on are of agents that did not end by themselves

using Uids = std::vector<std::string>;

bool contains(const Uids& uids, const std::string& uid) { return std::ranges::find(uids, uid) != uids.end(); }

bool is_dead(const PodView* pod) {
  return !pod || (pod->phase == PodPhase::Failed && pod->exit_code.value_or(kKilled) >= kKilled);
}

std::string name_of(const Pass& pass, const std::string& uid) {
  if (const PodView* pod = pass.pod(uid)) return pod->name;
  return uid == pass.status.lead_uid && !pass.status.lead_pod.empty() ? pass.status.lead_pod
                                                                      : "with UID " + uid;
}

struct Loss {
  Uids dead;
  std::string reason;  // of the first, or of the lead

  void add(const std::string& uid, std::string why) {
    if (contains(dead, uid)) return;
    dead.push_back(uid);
    if (reason.empty()) reason = std::move(why);
  }
};

bool lead_answers(const RuntimeView& runtime) { return runtime.reachable && !runtime.lead_silent; }

// Members that are lost by what is seen now.
Loss losses(Pass& pass) {
  const RuntimeView& runtime = pass.seen.runtime;
  Loss loss;
  for (const std::string& uid : runtime.members) {
    const PodView* pod = pass.pod(uid);
    if (is_dead(pod))
      loss.add(uid, name_of(pass, uid) + (pod && pod->exit_code ? " was killed" : " is gone"));
  }
  if (runtime.lead_silent && runtime.lead_silence >= runtime.partition && pass.seen.silent_since) {
    const Time due = *pass.seen.silent_since + 2 * runtime.partition;
    if (pass.now >= due)
      loss.add(runtime.lead_uid,
               name_of(pass, runtime.lead_uid) + " leads and has not answered for " +
                   std::to_string(std::chrono::floor<Seconds>(pass.now - *pass.seen.silent_since).count()) +
                   " s, and other members do not hear of it");
    else
      pass.wake_at(due);
  }
  // Once a lead is given up it is for good: what it says of others that it has lost counts no more.
  const auto& named = pass.status.succession;
  const bool given_up = !runtime.lead_silent && named && contains(named->dead, runtime.lead_uid);
  for (const std::string& uid : given_up ? Uids{} : runtime.silent)
    if (contains(runtime.members, uid))
      loss.add(uid, "the lead has not heard of " + name_of(pass, uid) + " for " +
                        std::to_string(runtime.partition.count()) + " s");
  return loss;
}

// The lead that was named leads, and nobody of the dead is a member any more.
bool is_followed(const RuntimeView& runtime, const SuccessionStatus& named) {
  return lead_answers(runtime) && runtime.lead_uid == named.lead_uid && runtime.fence >= named.fence &&
         std::ranges::none_of(named.dead, [&](const auto& uid) { return contains(runtime.members, uid); });
}

bool is_gone(const PodView* pod) { return !pod || has_ended(*pod); }

// A lead that is dead, or that has ended by itself: of a rank that was lost in its pod it hands the lead over
// before. Where nobody answers just now, or the last answer was still its own, the members that run are asked
// once more. One that is merely silent while another member is lost is borne as long as it would be
// otherwise.
bool somebody_may_answer(Pass& pass) {
  const RuntimeView& runtime = pass.seen.runtime;
  const PodView* lead = pass.pod(pass.status.lead_uid);
  if (!pass.seen.lead_was_replaceable || (lead && lead->phase == PodPhase::Succeeded)) return false;
  if (runtime.reachable && runtime.lead_uid != pass.status.lead_uid) return false;
  const IndexSet members = pass.members();
  const auto gone = std::ranges::count_if(members, [&](int index) { return is_gone(pass.pod(index)); });
  if (gone == members.size()) return false;
  if (!is_gone(lead) && (runtime.reachable || gone == 0)) return false;
  const Seconds bound = is_gone(lead) ? kSomebodyAnswers : 2 * runtime.partition;
  const Time until = pass.seen.silent_since.value_or(pass.now) + bound;
  if (pass.now >= until) return false;
  pass.wake_at(until);
  return true;
}

// Who has ended by the word of its kubelet was lost without its node.
void avoid_nodes_of(Pass& pass, const Uids& dead) {
  auto& nodes = pass.status.lost_nodes;
  for (const std::string& uid : dead) {
    const PodView* pod = pass.pod(uid);
    if (is_gone(pod) || pod->node.empty()) continue;
    std::erase_if(nodes, [&](const LostNode& node) { return node.name == pod->node; });
    nodes.push_back({pod->node, pass.now + kNodeIsFoundOut});
    pass.wake_at(nodes.back().until);
  }
  if (nodes.size() > kMostLostNodes)
    nodes.erase(nodes.begin(), nodes.end() - static_cast<std::ptrdiff_t>(kMostLostNodes));
}

void name(Pass& pass, const std::string& uid, Loss loss) {
  avoid_nodes_of(pass, loss.dead);
  auto& named = pass.status.succession;
  const bool other = uid != pass.seen.runtime.lead_uid;
  named = SuccessionStatus{++pass.status.fence,  uid,         pass.pod(uid)->name,
                           std::move(loss.dead), loss.reason, pass.now};
  pass.warning(other ? "LeadLost" : "WorkersLost",
               loss.reason + (other ? "; " + named->lead_pod + " leads from now on, and the job goes on"
                                    : "; the job goes on without"));
}

}  // namespace

void forget_lost_nodes(Pass& pass) {
  const auto over = [&](const LostNode& node) { return node.until <= pass.now; };
  pass.lost_nodes_serve = std::erase_if(pass.status.lost_nodes, over) > 0;
  for (const LostNode& node : pass.status.lost_nodes) pass.wake_at(node.until);
}

bool made_too_narrow(const Pass& pass, const PodView& pod) {
  return pass.lost_nodes_serve && pod.unschedulable_since.has_value();
}

bool succession_step(Pass& pass) {
  JobStatus& status = pass.status;
  auto& named = status.succession;
  const RuntimeView& runtime = pass.seen.runtime;
  const bool over = runtime.reachable && runtime.program != ProgramState::Running;
  if (status.active_workers.empty() || over) {
    named.reset();
    return false;
  }
  if (named && is_followed(runtime, *named)) named.reset();
  if (!named && !runtime.survives_lead_loss) return somebody_may_answer(pass);
  Loss loss;
  if (named) loss = {named->dead, named->reason};
  for (const Loss seen = losses(pass); const std::string& uid : seen.dead) loss.add(uid, seen.reason);
  if (loss.dead.empty()) return somebody_may_answer(pass);
  const auto next = std::ranges::find_if(runtime.members, [&](const auto& uid) {
    return !contains(loss.dead, uid) && pass.pod(uid) && !pass.pod(uid)->ip.empty();
  });
  if (next == runtime.members.end() && runtime.reachable) {
    if (named) fail(pass, "WorkerLost", loss.reason + ", and nobody is left who may lead", true);
    return named.has_value();
  }
  const bool news =
      !named || loss.dead.size() > named->dead.size() || (runtime.reachable && *next != named->lead_uid);
  if (runtime.reachable && news) name(pass, *next, std::move(loss));
  if (!named) return false;
  if (pass.now >= named->time + kTakesOver) {
    const std::string why = named->reason + ", and " + named->lead_pod + " has not taken the lead within " +
                            std::to_string(kTakesOver.count()) + " s: " + pass.seen.command_problem;
    fail(pass, "WorkerLost", why, true);
    return true;
  }
  const PodView* lead = pass.pod(named->lead_uid);
  if (is_gone(lead)) return false;  // and nobody else answers, or it has ended by itself
  NameLead word{{lead->name, lead->uid, lead->ip, lead->index}, named->fence, named->dead, named->reason};
  if (runtime.reachable) word.epoch = runtime.epoch, word.members = runtime.members;
  pass.act(std::move(word));
  pass.wake_at(pass.now + kToldAgain);
  return !lead_answers(runtime) || contains(named->dead, runtime.lead_uid);
}

}  // namespace emj
