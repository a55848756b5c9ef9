// SPDX-License-Identifier: Apache-2.0
// What ranks report, how they end, and what that means for the job.
#include <algorithm>
#include <utility>

#include "runtime/agent/lead/lead.hpp"
#include "runtime/base/log.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::agent {
namespace {

// A leaver of a master-worker program: it has given back what it had, and is in an epilogue of its own,
// whatever the other leavers are still at (decision R8'').
bool has_left_the_queue(const ChangeDriver& driver, const ProcId& proc, const std::string& uid) {
  return driver.active() && driver.plan().tasks && driver.has_left(proc) && driver.plan().leaves(uid);
}

}  // namespace

void Lead::on_message(const RankReported& m, const std::string& from, Moment now) {
  RankReport report = m.report;
  for (const ProcId& proc : m.ranks) {
    report.proc = proc;
    reported(report, from, now);
    report.bytes = 0;  // it is of all together
  }
  perform_steps(now);
}

void Lead::reported(const RankReport& report, const std::string& from, Moment now) {
  if (succession_) succession_->own.reports.push_back(report);
  if (report.kind == RankReport::Kind::Hello) {
    state_.hello.insert(report.proc);
    state_.tasks = state_.tasks || report.tasks;
  }
  if (report.kind == RankReport::Kind::Queue) on_queue_report(report, now);
  if (report.kind == RankReport::Kind::Recoverable) on_recoverable(report);
  if (report.kind == RankReport::Kind::Recovered) on_recovered(report);
  if (report.kind == RankReport::Kind::Checkpoint) state_.checkpoint.update(report.checkpoint);
  if (report.kind == RankReport::Kind::WorldDropped)
    deliver(rendezvous_.give_up_world(report.address, report.ok ? std::nullopt : std::optional(report.proc)));
  const bool committed =
      driver_.state() == ChangeState::Committed || driver_.state() == ChangeState::Draining;
  // A leaver goes, the job does not.
  const bool leaves = (committed || driver_.has_left(report.proc)) && driver_.plan().leaves(from);
  const bool leaver =
      leaves || (!state_.tasks && driver_.lost().contains(from));  // or is about to be dropped
  if (report.kind == RankReport::Kind::Finalizing && membership_.find(from) && !leaver) state_.ending = true;
  if (report.kind == RankReport::Kind::Adapted)
    for (ChangeStatus& past : state_.history)
      if (past.request.id == report.change) past.times.lost_ms = std::max(past.times.lost_ms, report.lost_ms);
  if (report.parked > 0 && std::exchange(state_.parked[report.proc], report.parked) != report.parked)
    log::warn("{} has parked {} helper threads", name_of_rank(report.proc), report.parked);
  log::debug("{} reports {} {} {}", name_of(report.proc), to_string(report.kind), report.ok, report.error);
  driver_.reported(report, now.clock);
  fail_if_queue_is_lost();
}

void Lead::on_message(const RankExited& m, const std::string& from, Moment now) {
  told_ended_.insert(m.proc);
  if (m.may_exit && !m.connected && membership_.find(from)) state_.without_init.insert(m.proc);
  rank_gone(m, now);
  fail_if_ranks_are_missing();
}

bool Lead::is_member(const ProcId& proc, const std::string& uid) const {
  return membership_.find(uid) || driver_.has_ended(proc) || driver_.has_joined(proc);
}

void Lead::rank_gone(const RankExited& exit, Moment now) {
  const bool good_end = exit.signal == 0 && exit.may_exit;
  std::string what = name_of_rank(exit.proc);
  if (exit.signal)
    what += " was killed by signal " + std::to_string(exit.signal);
  else if (exit.code)
    what += " exited with code " + std::to_string(exit.code);
  else
    what += " exited without MPI_Finalize";
  if (spaces_.rank_exited(exit.proc)) deliver(rendezvous_.rank_gone(exit.proc));
  const auto owner = spaces_.owner(exit.proc);
  if (owner && state_.leave_requests.contains(owner->uid)) what += "; its pod had been asked to terminate";
  const bool left = owner && has_left_the_queue(driver_, exit.proc, owner->uid);
  const bool member = owner && !left && is_member(exit.proc, owner->uid);
  if (left && (exit.code || !good_end)) log::warn("{}, after it has left the queue of tasks", what);
  if (driver_.active() && owner && driver_.is_union_member(owner->uid)) {
    state_.last_tail = exit.tail;
    if (state_.tasks && member && !good_end && !survives(exit)) return member_failed(what, exit, now);
    const bool is_down = recovers() && survives(exit) && driver_.may_be_member(exit.proc);
    if (is_down && survives_loss_of_pod(owner->uid)) {
      driver_.member_down(owner->uid, what, now.clock);
      if (member) tell_dropped({"", {exit.proc}, membership_});  // who is none yet may never be missed
    } else {
      if (state_.tasks && !good_end && exit.proc == state_.queue_keeper)
        tell_dropped({"", {exit.proc}, membership_});  // who takes the queue over must know
      driver_.rank_exited(exit.proc, good_end, what, now.clock);
    }
  } else if (member && !good_end) {
    if (!survives(exit)) return member_failed(what, exit, now);
    rank_lost(exit.proc, owner->uid, what, exit.tail);
  }
  if (member && state_.tasks && !good_end) {
    state_.lost_ranks.insert(exit.proc);
  } else if (member && good_end) {
    state_.exit_codes[exit.proc] = exit.code;
    if (exit.code) log::warn("{}: the job fails when all have ended", what);
    if (exit.code && state_.first_failure.result == JobResult::Running)
      state_.first_failure = {JobResult::Failed, what, exit.code, exit.tail, {}};
  }
  perform_steps(now);
  succeed_when_all_done();
}

// A rank that exits without a word often follows another that has said why, whose report is under way.
void Lead::member_failed(std::string what, const RankExited& exit, Moment now) {
  if (state_.tasks && exit.proc == state_.queue_keeper && !queue_may_be_lost())
    what += what_the_queue_lacks(spaces_.owner(exit.proc)->uid);
  if (exit.signal || !exit.tail.empty()) return fail_job(what, exit.code, exit.tail);
  suspicions_.push_back({now.clock + kPatienceForCause, std::nullopt, std::move(what), exit.code});
}

void Lead::on_message(const RankAborted& m, const std::string& from, Moment now) {
  if (state_.tasks && !membership_.find(from) && !driver_.is_union_member(from)) return;  // dropped already
  const std::string what =
      name_of_rank(m.proc) + " called MPI_Abort" + (m.message.empty() ? "" : ": " + m.message);
  // MPI aborts because another rank has died: the news of that one, the cause, is under way.
  if (m.status == names::kMpiErrProcFailed || m.status == names::kMpiErrRevoked)
    suspicions_.push_back({now.clock + kPatienceForCause, m, what, 0});
  else
    rank_aborted(m, what, now);
}

// MPI_Abort ends the ranks of a communicator. Those of a joiner are joiners alone until they are members: the
// change is rolled back, the job goes on.
void Lead::rank_aborted(const RankAborted& m, const std::string& what, Moment now) {
  const auto owner = spaces_.owner(m.proc);
  const bool left = owner && has_left_the_queue(driver_, m.proc, owner->uid);
  if (owner && !left && is_member(m.proc, owner->uid)) return fail_job(what, m.status, m.tail);
  if (!owner || !driver_.active() || !driver_.is_union_member(owner->uid)) return;  // dismissed already
  state_.last_tail = m.tail;
  driver_.rank_exited(m.proc, false, what, now.clock);
  perform_steps(now);
}

// MPI_Init waits for every rank of the start. One that has ended without it is no failure of a program
// without MPI; where others have called MPI_Init they would wait for ever.
void Lead::fail_if_ranks_are_missing() {
  if (state_.without_init.empty() || members_ranks() == 0) return;
  fail_job(
      name_of_rank(*state_.without_init.begin()) +
          " ended without MPI_Init, and other ranks wait for it there: all ranks of the job, or none, have "
          "to call MPI_Init",
      1, {});
}

void Lead::succeed_when_all_done() {
  if (verdict_ || membership_.members.empty() || driver_.awaits_an_end()) return;
  // Asked at every rank's end.
  const std::size_t ended = state_.exit_codes.size() + state_.lost_ranks.size();
  if (ended < static_cast<std::size_t>(membership_.ranks())) return;
  const std::vector<ProcId> ranks = ranks_of(membership_.members);
  const auto has_ended = [&](const ProcId& p) {
    return state_.exit_codes.contains(p) || state_.lost_ranks.contains(p);
  };
  if (!std::ranges::all_of(ranks, has_ended)) return;
  // A rank may finalise MPI and then return a code of its own: the job ran to its end, and failed.
  conclude(state_.first_failure.result == JobResult::Running ? JobOutcome{JobResult::Succeeded, "", 0, {}, {}}
                                                             : state_.first_failure);
}

}  // namespace empi::agent
