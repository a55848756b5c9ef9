// SPDX-License-Identifier: Apache-2.0
// A lead that is lost is a lost member (decision R20): a controller names the next one, which asks the others
// what they know, ends the change that was in hand, drops whom it was told to be lost, and goes on. So that
// there are never two, a lead itself drops a member that has merely fallen silent only by a controller's
// word, where another could have been named meanwhile; a death that a pod has reported needs none.
#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/agent/lead/lead.hpp"
#include "runtime/base/log.hpp"

namespace empi::agent {
namespace {

// A failure to reach a pod that was not repeated for so long is over.
constexpr RunningTime kRepeated{std::chrono::seconds(5)};

}  // namespace

// By this change it may go to a rank that the lead alone hears of. One that joins and leaves can neither be
// undone by another lead nor be brought to its end.
bool Lead::moves_queue(const ChangePlan& plan) const {
  if (plan.remove.empty()) return false;
  const auto owner = state_.queue_keeper ? spaces_.owner(*state_.queue_keeper) : std::nullopt;
  return !plan.add.empty() || !owner || plan.leaves(owner->uid);
}

// Of a master-worker program: it is on another pod, or mirrored there. Not while it goes from one to another.
bool Lead::queue_outlives_this_pod() const {
  if (!state_.tasks || state_.ending || handing_over_ || !state_.queue_keeper ||
      state_.queue_address.empty() || membership_.members.size() < 2)
    return false;
  if (driver_.active() && moves_queue(driver_.plan())) return false;
  const auto owner = spaces_.owner(*state_.queue_keeper);
  return owner && (owner->uid != self_.uid || mirror_takes_over());
}

// One that still asks what the others know may be lost as well: they keep what they know.
std::optional<LeadNews> Lead::news() const {
  const bool queue = queue_outlives_this_pod();
  if (!recovers() && !queue) return std::nullopt;
  LeadNews news{next_space_, state_.resumed_at, state_.resumed_times, state_.checkpoint};
  if (queue) news.queue = {*state_.queue_keeper, state_.queue_mirror, state_.queue_address};
  return news;
}

// From then on members may go by it, whatever becomes of the queue: nobody is dropped for mere silence.
std::optional<LeadNews> Lead::news_to_tell() {
  auto told = news();
  state_.told_news = state_.told_news || (told && state_.tasks);
  return told;
}

bool Lead::needs_word(const std::string& uid) const {
  return (recovers() || state_.told_news) && !handing_over_ &&
         (membership_.find(uid) || (succession_ && succession_->asked.contains(uid)));
}

void Lead::pod_silent(const std::string& uid, const std::string& why, Moment now) {
  if (verdict_) return;
  if (!needs_word(uid)) return pod_lost(uid, why, now);
  const auto [at, first] = silent_.try_emplace(uid, Silence{why, now.running, now.running});
  at->second.said = now.running;
  const auto heard = last_heard_.find(uid);
  at->second.unheard = heard != last_heard_.end() && now.running - heard->second > self_.partition;
  if (first)
    log::warn("pod {}: {}; it is dropped when a controller says that it is lost", name_of_pod(uid), why);
}

void Lead::bound_silence(Moment now) {
  std::erase_if(silent_, [&](const auto& entry) { return now.running - entry.second.said > kRepeated; });
  for (const auto& [uid, silence] : silent_) {
    if (now.running - silence.since <= kWaitsForWord * self_.partition) continue;
    leads_ = true;  // nobody else does
    return fail_job(
        "pod " + name_of_pod(uid) + " is lost: " + silence.why + ", and no controller has said for " +
            std::to_string(
                std::chrono::duration_cast<std::chrono::seconds>(now.running - silence.since).count()) +
            " s who is to go on",
        1, {});
  }
}

void Lead::lose(const LeadRequest& request, Moment now) {
  for (const std::string& uid : request.dead) {
    if (verdict_) return;
    const bool known = membership_.find(uid) || driver_.is_union_member(uid) || succession_;
    if (known && uid != self_.uid && !lost_pods_.contains(uid)) pod_lost(uid, request.reason, now);
  }
}

void Lead::succeed(PodKnowledge own, const LeadRequest& request, Moment now) {
  leads_ = false;
  fence_ = request.fence;
  membership_ = own.membership;
  next_space_ = own.news.next_space + 1;  // a change that we have not heard of may have used that
  leaver_grace_ = own.leaver_grace;
  probe_ = own.probe;
  for (const Namespace& space : own.spaces) spaces_.add(space);
  state_.resumed_at = own.news.resumed_at;
  state_.resumed_times = own.news.resumed_times;
  state_.checkpoint = own.news.checkpoint;
  if (const auto& queue = own.news.queue) {
    state_.tasks = state_.told_news = true;
    state_.queue_keeper = queue->keeper;
    state_.queue_mirror = queue->mirror;
    state_.queue_address = queue->address;
    driver_.queue_is_at(queue->address, now.clock);
  } else {
    state_.recoverable = true;
  }
  named_by_ = request.fence;
  Succession next{{}, {}, std::move(own)};
  for (const std::string& uid : request.dead) next.dead.emplace(uid, request.reason);
  std::set<std::string> ours;  // members, and those of the change in hand
  for (const Member& member : membership_.members) ours.insert(member.uid);
  if (const auto& plan = next.own.plan)
    for (const auto* members : {&plan->old.members, &plan->add})
      for (const Member& member : *members) ours.insert(member.uid);
  for (const auto& [name, space] : spaces_.all())
    for (const NamespaceNode& node : space.nodes)
      if (!ours.contains(node.uid)) spaces_.pod_gone(node.uid);
  for (const Member& member : membership_.members)
    if (member.uid != self_.uid && !next.dead.contains(member.uid)) next.asked.insert(member.uid);
  for (const std::string& uid : next.asked) last_heard_[uid] = now.running;
  const std::string change = next.own.plan ? next.own.plan->id : "";
  const TakeOver word{request.fence, request.dead, change, request.reason};
  std::set<std::string> told = next.asked;
  // Who joins by the change in hand, and may not be there; and a leaver, which is no member any more where it
  // is committed.
  if (const auto& plan = next.own.plan) {
    for (const Member& member : plan->add) told.insert(member.uid);
    for (const Member& member : plan->old.members) {
      if (member.uid == self_.uid || next.dead.contains(member.uid)) continue;
      told.insert(member.uid);
      last_heard_[member.uid] = now.running;
    }
  }
  told.erase(self_.uid);
  send_all({told.begin(), told.end()}, word);
  // One that is cut off and not dead ends when it hears of it.
  for (const std::string& uid : request.dead) {
    send(uid, word);
    actions_.push_back(PartFromPod{uid});
  }
  log::warn("this pod leads the job from now on, by fence {}: {}", request.fence.value, request.reason);
  succession_ = std::move(next);
  if (succession_->asked.empty()) begin_after_loss(now);
}

void Lead::on_message(const TakenOver& m, const std::string& from, Moment now) {
  if (m.fence != named_by_) return;
  if (!succession_)  // of a pod that joins
    for (const RankReport& report : m.reports) driver_.reported(report, now.clock);
  if (!succession_) return perform_steps(now);
  Succession& next = *succession_;
  next.own.reports.insert(next.own.reports.end(), m.reports.begin(), m.reports.end());
  const bool was_asked = next.asked.erase(from) > 0;
  if (m.membership.epoch > membership_.epoch) hear_of_newer(m.membership);
  if (was_asked && next.asked.empty()) begin_after_loss(now);
}

// What the lost lead has begun to tell is what counts: that the change which we know to be in hand was
// committed, a vote may have been split by a loss; or that it was rolled back, and somebody dropped since.
void Lead::hear_of_newer(const Membership& newer) {
  PodKnowledge& own = succession_->own;
  if (own.plan) {
    if (own.followed == ChangeState::Committed || own.followed == ChangeState::Draining) return;
    // Of a queue members that stay need not come to a window.
    const bool may_be = own.followed == ChangeState::Window || state_.tasks;
    const bool committed = may_be && own.plan->is_committed_in(newer);
    own.followed = committed ? ChangeState::Committed : ChangeState::RollingBack;
    if (committed) return;
  }
  if (newer.find(self_.uid)) adopt_newer(newer);
}

// The lead before had dropped somebody and not told everyone. Nobody waits for those, and all hear of them.
void Lead::adopt_newer(const Membership& newer) {
  const Membership older = std::exchange(membership_, newer);
  for (const Member& member : older.members) {
    if (newer.find(member.uid)) continue;
    succession_->asked.erase(member.uid);
    last_heard_.erase(member.uid);
    silent_.erase(member.uid);
    spaces_.pod_gone(member.uid);
    if (succession_->own.plan) succession_->dead.try_emplace(member.uid, "the lead before had dropped it");
    tell_dropped({member.uid, ranks_of(member), membership_});
    actions_.push_back(PartFromPod{member.uid});
  }
}

void Lead::resume_change(const PodKnowledge& own, const std::string& why, Moment now) {
  const ChangePlan& plan = *own.plan;
  std::set<ProcId> ended;
  for (const auto* members : {&plan.old.members, &plan.add})
    for (const ProcId& proc : ranks_of(*members))
      if (spaces_.living_of({proc}).empty()) ended.insert(proc);
  JobFacts facts{.tasks = state_.tasks, .leaver_grace = leaver_grace_, .probe = probe_};
  for (const ProcId& proc : ranks_of(plan.old.members)) facts.hello.insert(proc);
  const bool committed = own.followed == ChangeState::Committed || own.followed == ChangeState::Draining;
  if (!state_.tasks || committed)
    return driver_.resume(plan, own.followed, own.iteration, std::move(facts), ended, now.clock);
  if (moves_queue(plan))
    return fail_job("the lead is lost: " + why +
                        ", while the queue of tasks may have been on its way by change " + plan.id,
                    1, {});
  // Joiners may be at work by now, and can be done without. Leavers may have left: they are asked again.
  driver_.resume(plan, plan.remove.empty() ? ChangeState::RollingBack : ChangeState::Preparing, 0,
                 std::move(facts), ended, now.clock);
}

// Of pods that have lost a rank before we led the others go on, where the queue is on its way to them, say.
void Lead::lose_after(const std::map<std::string, std::string>& dead, Moment now) {
  for (const auto& [uid, why] : dead) pod_lost(uid, why, now);
  if (!driver_.active() && !verdict_) drop_lost_members();
}

void Lead::recover_after(std::map<std::string, std::string> dead, Moment now) {
  const auto own = state_.lost.extract(self_.uid);
  dead.merge(std::exchange(state_.lost, {}));
  for (const auto& [uid, why] : dead) pod_lost(uid, why, now);
  // A rank of ours was lost before we led. Last: the next lead is told who is left.
  if (!own || verdict_) return;
  if (driver_.active())
    driver_.member_down(self_.uid, own.mapped(), now.clock);
  else
    hand_over_for_a_loss(own.mapped(), state_.last_tail);
}

void Lead::begin_after_loss(Moment now) {
  Succession before = std::move(*succession_);
  succession_.reset();
  leads_ = true;
  skips_epoch_ = true;
  if (held_back_) return conclude(std::move(*held_back_));
  for (const ProcId& proc : ranks_of(membership_.members)) state_.hello.insert(proc);
  if (before.own.plan) resume_change(before.own, before.dead.empty() ? "" : before.dead.begin()->second, now);
  if (verdict_) return;
  // What was said to the lead before was said in vain.
  for (const RankReport& report : before.own.reports) {
    if (report.kind == RankReport::Kind::Finalizing) state_.ending = true;
    driver_.reported(report, now.clock);
  }
  if (state_.tasks)
    lose_after(before.dead, now);
  else
    recover_after(std::move(before.dead), now);
  perform_steps(now);
  succeed_when_all_done();
}

}  // namespace empi::agent
