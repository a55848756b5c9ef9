// SPDX-License-Identifier: Apache-2.0
// A member that is lost is dropped from the membership, and the job goes on. Of a master-worker program
// (decision R8) nobody else stops; the rank that mirrors the queue is told to keep it when the one that does
// is lost, and only the pod of the lead cannot be. Others go back to their last snapshots (recovery.cpp);
// where the lead is lost, another one leads (succession.cpp).
#include <signal.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/agent/lead/lead.hpp"
#include "runtime/base/log.hpp"

namespace empi::agent {

std::optional<ProcId> Lead::rank_named(const std::string& id) const {
  std::vector<ProcId> ranks = ranks_of(membership_.members);
  if (driver_.active()) std::ranges::copy(ranks_of(driver_.plan().add), std::back_inserter(ranks));
  const auto at = std::ranges::find_if(ranks, [&](const ProcId& proc) { return name_of(proc) == id; });
  return at == ranks.end() ? std::nullopt : std::optional(*at);
}

void Lead::on_queue_report(const RankReport& report, Moment now) {
  const bool new_address = state_.queue_address != report.address;
  state_.queue_keeper = report.proc;
  state_.queue_address = report.address;
  state_.queue_mirror = rank_named(report.mirror);
  const std::string mirror = state_.queue_mirror ? name_of_rank(*state_.queue_mirror) : "nobody";
  log::info("{} keeps the queue of tasks, {} mirrors it", name_of_rank(report.proc), mirror);
  send_all(others(), Beat{.news = news_to_tell()});  // who may be the next lead
  if (!new_address) return;
  driver_.queue_is_at(report.address, now.clock);
}

// Who kept the queue has passed it on and left, and nobody has said yet to have it. Where it has ended as
// a member, the program is over.
bool Lead::queue_is_on_its_way() const {
  const ProcId& keeper = *state_.queue_keeper;
  const bool ended = spaces_.living_of({keeper}).empty() && !state_.exit_codes.contains(keeper);
  return ended || driver_.has_left(keeper);
}

// The one who keeps the queue is lost, or will be: who mirrors it is not, and on another pod that hears us.
bool Lead::mirror_takes_over() const {
  const auto& mirror = state_.queue_mirror;
  if (!mirror || driver_.has_left(*state_.queue_keeper) || driver_.has_left(*mirror)) return false;
  const auto owner = spaces_.owner(*mirror), keeper = spaces_.owner(*state_.queue_keeper);
  return owner && keeper && owner->uid != keeper->uid && membership_.find(owner->uid) &&
         !lost_pods_.contains(owner->uid) && !spaces_.living_of({*mirror}).empty();
}

// It keeps the queue from now on, and says so once it does. Until then nobody mirrors it.
void Lead::pass_queue_on(Dropped& dropped) {
  if (!queue_may_be_lost() || std::ranges::find(dropped.procs, *state_.queue_keeper) == dropped.procs.end())
    return;
  const ProcId before = *state_.queue_keeper;
  dropped.queue_to = name_of(*state_.queue_mirror);
  state_.queue_keeper = std::exchange(state_.queue_mirror, std::nullopt);
  state_.queue_address.clear();
  driver_.queue_is_lost();
  log::warn("{} kept the queue of tasks; {} has a copy and takes it over", name_of(before),
            name_of_rank(*state_.queue_keeper));
}

// The one who was to take it over: it may have left, and nobody have heard so, when it was named.
void Lead::fail_if_queue_is_lost() {
  if (!state_.queue_keeper || !state_.queue_address.empty() || !driver_.has_left(*state_.queue_keeper))
    return;
  fail_job("the rank with the queue of tasks was lost, and " + name_of_rank(*state_.queue_keeper) +
               ", which mirrored it, has left",
           1, {});
}

// Whoever was given it says so at once. It may have been lost before that, as a worker like any other.
void Lead::bound_queue_on_its_way(Moment now) {
  if (!state_.tasks || !state_.queue_keeper || state_.ending || !queue_is_on_its_way())
    return queue_due_.reset();
  if (!queue_due_) queue_due_ = now.running + kWaitsForWord * self_.partition;
  if (now.running < *queue_due_) return;
  const auto& lost = driver_.lost();
  fail_job((lost.empty() ? "" : lost.begin()->second + "; ") + name_of_rank(*state_.queue_keeper) +
               " has passed the queue of tasks on and left, and no rank has said that it keeps it",
           1, {});
}

// A rank that was killed from outside. One that crashes or gives an error would do so again in another place,
// and one that the queue was on its way to may have taken it along.
bool Lead::survives(const RankExited& exit) const {
  const bool from_outside =
      exit.signal == SIGKILL || exit.signal == SIGTERM || exit.signal == SIGINT || exit.signal == SIGHUP;
  if (!from_outside) return false;
  if (recovers()) return true;
  if (!state_.tasks || !state_.queue_keeper) return false;
  return exit.proc == *state_.queue_keeper ? mirror_takes_over() : !queue_is_on_its_way();
}

bool Lead::survives_loss_of_pod(const std::string& uid) const {
  if (uid == self_.uid) return recovers() && membership_.members.size() > 1;
  if (recovers()) return true;
  if (!state_.tasks || !state_.queue_keeper) return false;
  const auto owner = spaces_.owner(*state_.queue_keeper);
  if (owner && owner->uid == uid) return mirror_takes_over();
  return owner && !queue_is_on_its_way();  // to this pod, as likely as not
}

// Why a master-worker program cannot go on without this pod, after what has happened to it.
std::string Lead::what_the_queue_lacks(const std::string& uid) const {
  if (!state_.tasks || !state_.queue_keeper) return "";
  const auto owner = spaces_.owner(*state_.queue_keeper);
  if (owner && owner->uid == uid) return "; it kept the queue of tasks, and nobody else had a copy";
  return queue_is_on_its_way() ? "; the queue of tasks was on its way, perhaps to it" : "";
}

// A pod that has lost a rank is not what the job was promised: it goes as a whole, and can be replaced; that
// of the lead, too. In the pod of the queue, or of the lead of a master-worker program, the other ranks go
// on, where they can.
void Lead::rank_lost(const ProcId& proc, const std::string& uid, const std::string& what,
                     const std::vector<std::string>& tail) {
  if (survives_loss_of_pod(uid)) {
    if (leads_ && uid == self_.uid) return hand_over_for_a_loss(what, tail);
    if (leads_) return drop_member(uid, what, tail);
    state_.lost.try_emplace(uid, what);  // and goes as soon as we lead
    return;
  }
  if (!state_.tasks) return fail_job(what + ", in the pod of the lead", 1, tail);
  log::warn("{}; its tasks are given to others", what);
  tell_dropped({"", {proc}, membership_});
}

void Lead::tell_dropped(Dropped dropped) {
  pass_queue_on(dropped);
  dropped.fence = fence_;
  send_all(uids_of(membership_.members), std::move(dropped));
}

// It is dropped when the change is over. But a leaver may wait for it, to hand the queue over or to see it
// follow the queue, and the change for the leaver.
void Lead::tell_lost_in_change(const std::string& uid) {
  const Member* pod = find_pod(uid);
  if (!pod) return;
  const std::vector<ProcId> ranks = ranks_of(*pod);
  if (is_member(ranks.front(), uid)) tell_dropped({"", ranks, membership_});
}

void Lead::drop_member(const std::string& uid, const std::string& what,
                       const std::vector<std::string>& tail) {
  const Member* found = membership_.find(uid);
  if (!found || verdict_) return;
  const Member member = *found;
  ChangeStatus record;
  record.request.epoch = membership_.epoch;
  record.request.remove = {uid};
  record.from_ranks = membership_.ranks();
  if (std::exchange(skips_epoch_, false)) ++membership_.epoch.value;
  membership_ = next_membership(membership_, {}, {uid});
  record.origin = ChangeOrigin::LostMember;
  record.request.id = "lost-" + std::to_string(membership_.epoch.value);
  record.to_ranks = membership_.ranks();
  record.outcome = ChangeOutcome::Committed;
  record.reason = what;
  record.released = {uid};
  state_.remember(std::move(record));
  log::warn("{}; pod {} is dropped from the job, {}", what, member.name,
            state_.tasks ? "its tasks are given to others" : "the others go on from their last snapshot");
  for (const ProcId& proc : ranks_of(member)) {
    state_.exit_codes.erase(proc);
    state_.lost_ranks.erase(proc);
    state_.hello.erase(proc);
  }
  state_.leave_requests.erase(uid);
  spaces_.pod_gone(uid);
  deliver(rendezvous_.recheck());
  if (uid != self_.uid) dismiss(uid, {JobResult::Failed, what, 1, tail, {}});
  if (!state_.tasks) begin_recovery();
  tell_dropped({uid, ranks_of(member), membership_, state_.recovery});
  if (membership_.members.empty()) return fail_job(what + ", and nobody is left", 1, tail);
  if (!handing_over_ || uid != successor_) return;
  drop_lost_members();  // the next one may be one of them
  if (!verdict_) hand_over_to(membership_.lead().uid);
}

void Lead::drop_lost_members() {
  const auto lost = std::exchange(state_.lost, {});
  for (const auto& [uid, what] : lost) {
    const Member* member = membership_.find(uid);
    if (!member) continue;
    if (survives_loss_of_pod(uid)) {
      if (uid != self_.uid) drop_member(uid, what, {});
    } else if (lost_pods_.contains(uid) || !state_.tasks) {
      const bool parked = state_.recoverable && has_parked();
      return fail_job(what + (parked ? ", in a change that not all helper threads came back from" : ""), 1,
                      {});
    } else {
      std::vector<ProcId> ranks = ranks_of(*member);
      std::erase_if(ranks, [this](const ProcId& proc) { return !state_.lost_ranks.contains(proc); });
      log::warn("{}; its tasks are given to others", what);
      tell_dropped({"", std::move(ranks), membership_});
    }
  }
  // Last: the next lead is told who is left.
  if (const auto own = lost.find(self_.uid);
      own != lost.end() && membership_.find(self_.uid) && !state_.tasks && !verdict_)
    return hand_over_for_a_loss(own->second, state_.last_tail);
  if (!lost.empty()) succeed_when_all_done();
}

}  // namespace empi::agent
