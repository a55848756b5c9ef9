// SPDX-License-Identifier: Apache-2.0
// Master-worker programs (decision R8): a member that is lost is dropped from the membership, while nobody
// else stops. Only the pod with the queue and the lead cannot be lost.
#include <signal.h>

#include "runtime/agent/lead/lead.hpp"
#include "runtime/base/log.hpp"

namespace empi::agent {

void Lead::on_queue_report(const RankReport& report, Moment now) {
  state_.queue_keeper = report.proc;
  state_.queue_address = report.address;
  log::info("{} keeps the queue of tasks", name_of_rank(report.proc));
  driver_.queue_is_at(report.address, now.clock);
}

// A rank that was killed from outside. One that crashes or gives an error would do so again in another place.
bool Lead::survives(const RankExited& exit) const {
  const bool from_outside =
      exit.signal == SIGKILL || exit.signal == SIGTERM || exit.signal == SIGINT || exit.signal == SIGHUP;
  return from_outside && state_.tasks && state_.queue_keeper && exit.proc != *state_.queue_keeper;
}

bool Lead::survives_loss_of_pod(const std::string& uid) const {
  if (!state_.tasks || !state_.queue_keeper || uid == self_.uid) return false;
  const auto owner = spaces_.owner(*state_.queue_keeper);
  return owner && owner->uid != uid;
}

// A pod that has lost a rank is not what the job was promised: it goes as a whole, and can be replaced. In
// the pod of the lead or of the queue the other ranks go on.
void Lead::rank_lost(const ProcId& proc, const std::string& uid, const std::string& what,
                     const std::vector<std::string>& tail) {
  if (survives_loss_of_pod(uid)) {
    if (leads_) return drop_member(uid, what, tail);
    state_.lost.try_emplace(uid, what);  // and goes as soon as we lead
    return;
  }
  log::warn("{}; its tasks are given to others", what);
  tell_dropped({"", {proc}, membership_});
}

void Lead::tell_dropped(Dropped dropped) { send_all(uids_of(membership_.members), std::move(dropped)); }

void Lead::drop_member(const std::string& uid, const std::string& what,
                       const std::vector<std::string>& tail) {
  const Member* found = membership_.find(uid);
  if (!found || verdict_) return;
  const Member member = *found;
  ChangeStatus record;
  record.request.epoch = membership_.epoch;
  record.request.remove = {uid};
  record.from_ranks = membership_.ranks();
  membership_ = next_membership(membership_, {}, {uid});
  record.origin = ChangeOrigin::LostMember;
  record.request.id = "lost-" + std::to_string(membership_.epoch.value);
  record.to_ranks = membership_.ranks();
  record.outcome = ChangeOutcome::Committed;
  record.reason = what;
  record.released = {uid};
  state_.remember(std::move(record));
  log::warn("{}; pod {} is dropped from the job, its tasks are given to others", what, member.name);
  for (const ProcId& proc : ranks_of(member)) {
    state_.exit_codes.erase(proc);
    state_.lost_ranks.erase(proc);
    state_.hello.erase(proc);
  }
  state_.leave_requests.erase(uid);
  spaces_.pod_gone(uid);
  deliver(rendezvous_.recheck());
  dismiss(uid, {JobResult::Failed, what, 1, tail, {}});
  tell_dropped({uid, ranks_of(member), membership_});
  if (membership_.members.empty()) return fail_job(what + ", and nobody is left", 1, tail);
  if (!handing_over_ || uid != successor_) return;
  drop_lost_members();  // the next one may be one of them
  if (!verdict_) hand_over_to(membership_.lead().uid);
}

void Lead::drop_lost_members() {
  const auto lost = std::exchange(state_.lost, {});
  for (const auto& [uid, what] : lost) {
    if (survives_loss_of_pod(uid))
      drop_member(uid, what, {});
    else if (lost_pods_.contains(uid) && membership_.find(uid))
      return fail_job(what, 1, {});
    else if (membership_.find(uid))
      log::warn("{}; its tasks are given to others", what);
  }
  if (!lost.empty()) succeed_when_all_done();
}

}  // namespace empi::agent
