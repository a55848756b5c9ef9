// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/lead.hpp"

#include <algorithm>
#include <concepts>
#include <utility>

#include "runtime/agent/lead/history_hooks.hpp"
#include "runtime/base/log.hpp"

namespace empi::agent {

void Lead::send(const std::string& uid, Message message) { send_all({uid}, std::move(message)); }

void Lead::send_all(std::vector<std::string> uids, Message message) {
  if (!uids.empty()) actions_.push_back(SendMessage{std::move(uids), std::move(message)});
}

std::vector<std::string> Lead::others() const {
  std::vector<std::string> uids;
  for (const Member& member : membership_.members)
    if (member.uid != self_.uid) uids.push_back(member.uid);
  return uids;
}

void Lead::deliver(const RendezvousReplies& replies) {
  if (answers_no_more_) return;
  for (const RendezvousReply& reply : replies)
    send(reply.to.uid,
         Reply{.id = reply.to.id, .status = reply.status, .blob = reply.blob, .found = reply.found});
}

bool Lead::on(const Message& message, const std::string& from, Moment now) {
  return std::visit(
      [&](const auto& m) {
        if constexpr (requires { on_message(m, from, now); }) {
          if (!verdict_ && still_ours(message, from)) on_message(m, from, now);
          return true;
        } else {
          return false;
        }
      },
      message);
}

void Lead::heard(const std::string& uid, Moment now) {
  if (auto at = last_heard_.find(uid); at != last_heard_.end()) at->second = now.running;
  if (const auto at = silent_.find(uid); at != silent_.end() && at->second.unheard) silent_.erase(at);
}

void Lead::reached(const std::string& uid) {
  if (const auto at = silent_.find(uid); at != silent_.end() && !at->second.unheard) silent_.erase(at);
}

void Lead::on_message(const Collective& m, const std::string& from, Moment) {
  deliver(m.answered ? rendezvous_.answered(m.kind, m.procs, m.round, m.blob)
                     : rendezvous_.contribute(m.kind, m.procs, {from, m.id}, m.blob, m.round));
}

void Lead::on_message(const Publish& m, const std::string& from, Moment) {
  deliver(rendezvous_.publish(m.data, {from, m.id}));
}

void Lead::on_message(const Lookup& m, const std::string& from, Moment now) {
  const auto until =
      m.timeout_s > 0 ? now.clock + std::chrono::seconds(m.timeout_s) : ChangeDriver::TimePoint::max();
  deliver(rendezvous_.lookup(m.keys, m.wait, until, {from, m.id}));
}

void Lead::on_message(const Unpublish& m, const std::string& from, Moment) {
  deliver(rendezvous_.unpublish(m.keys, m.owner, {from, m.id}));
}

void Lead::on_message(const Beat& m, const std::string& from, Moment now) {
  // A leaver's last beat may come after the change that it left by.
  if (m.leave && membership_.find(from)) state_.leave_requests.insert(from);
  if (!membership_.find(from) && !driver_.is_union_member(from)) return;
  if (m.connected) {
    connected_[from] = std::max(0, *m.connected);
    fail_if_ranks_are_missing();
  }
  if (m.sample) samples_.add(from, *m.sample, now.window);
  learn(m, from, now);
}

// What of a pod's state we have not heard yet.
void Lead::learn(const Beat& m, const std::string& from, Moment now) {
  if (put_back(OldFault::B9)) return;
  RankReported hello;
  hello.report.tasks = state_.tasks;
  for (const ProcId& proc : m.hello)
    if (!state_.hello.contains(proc)) hello.ranks.insert(proc);
  if (!hello.ranks.empty()) on_message(hello, from, now);
  if (m.queue && is_news(*m.queue)) on_message(RankReported{*m.queue, {m.queue->proc}}, from, now);
  for (const ProcId& proc : m.parked) state_.parked.try_emplace(proc, 1);
  for (const RankExited& exit : m.ended)
    if (!verdict_ && told_ended_.insert(exit.proc).second) on_message(exit, from, now);
}

// A pod goes on saying that its rank keeps the queue when that has passed it on: while the one that we know
// lives and has not left, its own word counts, and never that of one which has left the queue or ended.
bool Lead::is_news(const RankReport& queue) const {
  if (!state_.queue_keeper) return true;
  if (queue.proc == *state_.queue_keeper)
    return queue.address != state_.queue_address ||
           queue.mirror != (state_.queue_mirror ? name_of(*state_.queue_mirror) : "");
  const auto lives = [this](const ProcId& proc) { return !spaces_.living_of({proc}).empty(); };
  const bool kept = lives(*state_.queue_keeper) && !driver_.has_left(*state_.queue_keeper);
  return lives(queue.proc) && !driver_.has_left(queue.proc) && !kept;
}

void Lead::tick(Moment now) {
  if (verdict_) return;
  if (leaves_at_ && now.clock >= *leaves_at_) return leave_as_former_lead();
  const auto due = std::ranges::partition(suspicions_, [&](const Suspicion& s) { return s.due > now.clock; });
  const std::vector<Suspicion> ripe(due.begin(), due.end());
  suspicions_.erase(due.begin(), due.end());
  for (const Suspicion& s : ripe) {
    if (verdict_) return;
    if (s.abort)
      rank_aborted(*s.abort, s.what, now);
    else
      fail_job(s.what, s.exit_code, {});
  }
  if (verdict_) return;
  bound_recovery(now);
  bound_queue_on_its_way(now);
  if (verdict_) return;
  driver_.tick(now.clock);
  deliver(rendezvous_.expire(now.clock));
  perform_steps(now);
}

void Lead::second(Moment now) {
  if (verdict_) return;
  std::vector<std::string> hear = others();
  if (driver_.active())
    for (const Member& member : driver_.plan().add) hear.push_back(member.uid);
  send_all(std::move(hear), Beat{.news = news_to_tell()});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(self_.partition).count();
  std::vector<std::string> silent;
  for (const auto& [uid, heard] : last_heard_)
    if (now.running - heard > self_.partition) silent.push_back(uid);
  for (const std::string& uid : silent)
    pod_silent(uid, "its agent was not heard of for " + std::to_string(seconds) + " s", now);
  bound_silence(now);
  bound_hand_over(now);
}

void Lead::pod_lost(const std::string& uid, const std::string& why, Moment now) {
  if (verdict_) return;
  actions_.push_back(DropPod{uid});
  lost_pods_.insert(uid);
  last_heard_.erase(uid);
  silent_.erase(uid);
  if (handed_over_) return lost_as_former_lead(uid);
  if (succession_) {
    succession_->dead.try_emplace(uid, why);
    succession_->asked.erase(uid);
    if (succession_->asked.empty()) begin_after_loss(now);
    return;
  }
  const bool in_change = driver_.is_union_member(uid);
  const Member* member = membership_.find(uid);
  const std::string what = "pod " + name_of_pod(uid) + " is lost: " + why;
  if (handing_over_ && uid != successor_) {  // the next lead's to judge, or ours if that is lost
    if (member) state_.lost.try_emplace(uid, what);
    return;
  }
  const bool is_down = in_change && recovers() && driver_.counts_as_member(ranks_of(*find_pod(uid)).front());
  const bool had_queue = in_change && queue_may_be_lost() && spaces_.owner(*state_.queue_keeper)->uid == uid;
  if (had_queue) tell_lost_in_change(uid);
  if (is_down)
    driver_.member_down(uid, what, now.clock);
  else if (in_change)
    driver_.pod_lost(uid, what, now.clock);
  spaces_.pod_gone(uid);
  deliver(rendezvous_.recheck());
  if (!is_down && member && !survives_loss_of_pod(uid)) {
    if (!in_change || state_.tasks) fail_job(what + what_the_queue_lacks(uid), 1, {});
  } else if (member && !in_change) {
    drop_member(uid, what, {});
  } else if (is_down || (in_change && state_.tasks && !had_queue)) {
    tell_lost_in_change(uid);
  }
  perform_steps(now);
  succeed_when_all_done();
}

void Lead::dismiss(const std::string& uid, const JobOutcome& outcome) {
  send(uid, End{outcome});
  last_heard_.erase(uid);
  connected_.erase(uid);
  samples_.forget(uid);
  actions_.push_back(PartFromPod{uid});
}

// The job cannot go on.
void Lead::fail_job(const std::string& reason, int exit_code, std::vector<std::string> tail) {
  conclude({JobResult::Failed, reason, exit_code ? exit_code : 1, std::move(tail)});
}

void Lead::conclude(JobOutcome outcome) {
  if (verdict_) return;
  if (!leads_) {
    if (!held_back_) held_back_ = std::move(outcome);
    return;
  }
  outcome.last_change = last_change();
  tell_all(outcome);
  verdict_ = std::move(outcome);
}

void Lead::stop(JobOutcome outcome) {
  outcome.last_change = last_change();
  tell_all(outcome);
}

// Everybody who hears the lead's verdict: of a change that is not over, newcomers and leavers as well.
void Lead::tell_all(const JobOutcome& outcome) {
  std::set<std::string> told;
  for (const Member& member : membership_.members) told.insert(member.uid);
  if (driver_.active() || driver_.state() == ChangeState::Failed)
    for (const auto* members : {&driver_.plan().add, &driver_.plan().old.members})
      for (const Member& member : *members) told.insert(member.uid);
  told.erase(self_.uid);
  send_all({told.begin(), told.end()}, End{outcome});
}

JobRecord Lead::record() const {
  return {fence_, membership_.epoch, self_.uid, next_space_, leaver_grace_, probe_, {}, {}};
}

JobRecord Lead::whole_record() const {
  JobRecord whole = record();
  whole.members = uids_of(membership_.members);
  for (const auto& [name, space] : spaces_.all()) whole.spaces.push_back(space);
  return whole;
}

ChangeState Lead::state() const {
  const bool in_hand = driver_.active() || driver_.state() == ChangeState::Failed;
  return in_hand ? driver_.state() : ChangeState::Stable;
}

void Lead::describe(MembershipView& view) const {
  view.fence = fence_;
  view.membership = membership_;
  if (state() != ChangeState::Stable) {
    view.state = state();
    view.change = driver_.plan().id;
  }
  view.ranks = members_ranks();
  view.ending = state_.ending;
  view.checkpoint = state_.checkpoint;
  view.survives_loss = recovers() || (state_.tasks && state_.queue_keeper.has_value());
  view.survives_lead_loss = recovers() || state_.told_news;
  view.recovering = describe_recovery();
  for (const auto& [uid, silence] : silent_) view.silent.push_back(uid);
  std::set<std::string_view> members;
  for (const Member& member : membership_.members) members.insert(member.uid);
  view.parked_helpers = 0;
  for (const auto& [proc, count] : state_.parked)
    if (const auto owner = spaces_.owner(proc); owner && members.contains(owner->uid))
      view.parked_helpers += count;
  view.leave_requests.clear();
  for (const std::string& uid : state_.leave_requests)
    if (members.contains(uid)) view.leave_requests.push_back(uid);
}

std::vector<ChangeStatus> Lead::known_changes() const {
  std::vector<ChangeStatus> changes(state_.history.begin(), state_.history.end());
  if (driver_.active()) changes.push_back(driver_.status());
  return changes;
}

std::optional<ChangeRecord> Lead::last_change() const {
  if (driver_.active() || driver_.state() == ChangeState::Failed) return record_of(driver_.status());
  if (state_.history.empty()) return std::nullopt;
  return record_of(state_.history.back());
}

// As the members have last said.
int Lead::members_ranks() const {
  int ranks = 0;
  for (const Member& member : membership_.members)
    if (const auto told = connected_.find(member.uid); told != connected_.end()) ranks += told->second;
  return ranks;
}

const Member* Lead::find_pod(const std::string& uid) const {
  const ChangePlan& plan = driver_.plan();
  for (const std::vector<Member>* members : {&membership_.members, &plan.old.members, &plan.add})
    if (const auto at = std::ranges::find(*members, uid, &Member::uid); at != members->end()) return &*at;
  return nullptr;
}

std::string Lead::name_of_pod(const std::string& uid) const {
  const Member* pod = find_pod(uid);
  return pod ? pod->name : uid;
}

std::string Lead::name_of_rank(const ProcId& proc) const {
  const auto owner = spaces_.owner(proc);
  const std::string pod = owner ? owner->host : "?";
  if (const Member* member = owner ? membership_.find(owner->uid) : nullptr)
    return "rank " +
           std::to_string(membership_.world_rank(member->uid) +
                          static_cast<int>(proc.rank - member->first_rank)) +
           " (pod " + pod + ")";
  return "joining rank " + name_of(proc) + " (pod " + pod + ")";
}

}  // namespace empi::agent
