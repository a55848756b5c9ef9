// SPDX-License-Identifier: Apache-2.0
// A change of size of a program that knows nothing of changes (seed 002, terminate and restart): it is told
// to write what it goes on from and to end, and is started again on as many workers as are wanted.
//
//   no resize    another size is wanted                                   -> Stopping
//   Stopping     the program is told, and runs on until it has written what it goes on from.
//                It ends as it was told: all pods go             -> Restarting, the job is Pending
//                it does not end within graceSeconds: it is told once more, and that is said.
//                Nothing is lost by waiting; and one that ends a minute later has not finished
//                it fails: as without a change
//   Restarting   the start of a job as ever (start.cpp), with the size that is wanted then.
//                The program runs                                         -> none

#include "operator/decide/resize.hpp"

namespace emj {
namespace {

std::string way_of(const RestartSpec& restart) {
  if (!restart.signal.empty()) return "by the signal " + restart.signal;
  return restart.file.empty() ? "by a command" : "by the file " + restart.file;
}

void begin(Pass& pass, int target) {
  ResizeStatus resize;
  resize.id = "change-" + std::to_string(pass.status.next_change++);
  resize.from = pass.status.active_workers.size();
  resize.to = target;
  resize.phase = ResizePhase::Stopping;
  resize.epoch = pass.status.epoch;
  resize.start_time = pass.now;
  resize.requested_time = pass.now;
  resize.deadline = pass.now + pass.spec.runtime.restart->grace;
  pass.status.resize = resize;
  pass.status.state = JobState::Resizing;
  pass.event("Resizing", std::to_string(resize.from) + " -> " + workers_text(target) +
                             ": the program is told " + way_of(*pass.spec.runtime.restart) + " to end");
}

// A signal is for all ranks, a file and a command are for one pod.
void give_notice(Pass& pass) {
  const RuntimeView& runtime = pass.seen.runtime;
  const ResizeStatus& resize = *pass.status.resize;
  if (!pass.lead_known() || runtime.program != ProgramState::Running || runtime.notice == resize.id) return;
  GiveNotice notice{resize.id, pass.status.fence, {}};
  const PodView* lead = pass.pod(runtime.lead_uid);
  if (!lead) return;
  if (!pass.spec.runtime.restart->signal.empty())
    notice.members = pass.addresses(set_difference(pass.status.active_workers, IndexSet{lead->index}));
  notice.members.push_back({lead->name, lead->uid, lead->ip, lead->index});
  pass.act(std::move(notice));
}

void remind(Pass& pass) {
  ResizeStatus& resize = *pass.status.resize;
  const Seconds grace = pass.spec.runtime.restart->grace;
  resize.id = "change-" + std::to_string(pass.status.next_change++);
  resize.deadline = pass.now + grace;
  const auto waited = std::chrono::duration_cast<Seconds>(pass.now - resize.start_time);
  pass.warning("NotEnding", "the program was told to end " + std::to_string(waited.count()) +
                                " s ago and still runs on " + workers_text(resize.from) +
                                "; it is told once more (spec.runtime.restart.graceSeconds is " +
                                std::to_string(grace.count()) + ")");
}

// Which exit code the program has ended with, as far as one is known.
std::optional<int> exit_code(const Pass& pass) {
  const RuntimeView& runtime = pass.seen.runtime;
  if (runtime.reachable && runtime.epoch > 0) {
    if (runtime.program == ProgramState::Succeeded) return 0;
    if (runtime.program == ProgramState::Failed && runtime.exit_code != 0) return runtime.exit_code;
  }
  // Agents end with the code of the program, when it is over everywhere. The code of one that was killed is
  // another.
  std::optional<int> code;
  for (const int index : pass.members()) {
    const PodView* pod = pass.pod(index);
    if (!pod || !pod->exit_code) continue;
    if (code && *code != *pod->exit_code) return std::nullopt;
    code = pod->exit_code;
  }
  return code;
}

}  // namespace

bool ended_to_restart(Pass& pass) {
  if (!pass.spec.runtime.restart || !pass.status.resize) return false;
  if (pass.status.resize->phase != ResizePhase::Stopping) return false;
  if (exit_code(pass) != pass.spec.runtime.restart->exit_code.value_or(0)) return false;
  ResizeStatus resize = *pass.status.resize;
  const auto changes = pass.status.policy_state.changes;
  resize.phase = ResizePhase::Restarting;
  forget_run(pass.status);
  pass.status.resize = resize;
  pass.status.policy_state.changes = changes;
  pass.status.state = JobState::Pending;
  pass.event("Restarting", "the program has ended as it was told; it begins again on other workers");
  delete_all(pass, DeleteReason::JobEnded);
  return true;
}

void restarted(Pass& pass) {
  ResizeStatus& resize = *pass.status.resize;
  resize.to = pass.status.active_workers.size();
  resizing::record_end(pass, ResizeResult::Committed, "");
  const std::chrono::duration<double> took(pass.now - resize.start_time);
  // The program wrote, ended, was started and read: for policies all of that is what a change costs.
  resizing::remember_change(pass, took.count(), 0);
  pass.event("Resized", std::to_string(resize.from) + " -> " + workers_text(resize.to) + " by a restart in " +
                            std::to_string((pass.now - resize.start_time).count()) + " ms");
  pass.status.resize.reset();
}

void restart_step(Pass& pass, int target) {
  auto& resize = pass.status.resize;
  if (!resize) {
    pass.status.state = JobState::Running;
    const RuntimeView& runtime = pass.seen.runtime;
    const bool runs = pass.lead_known() && runtime.program == ProgramState::Running && !runtime.ending;
    if (!runs || target == pass.status.active_workers.size()) return delete_leftovers(pass);
    begin(pass, target);
  }
  resize->to = target;
  const bool runs = pass.lead_known() && pass.seen.runtime.program == ProgramState::Running;
  if (pass.now >= resize->deadline && runs) remind(pass);
  if (pass.now < resize->deadline) pass.wake_at(resize->deadline);  // else: when the lead is heard of again
  give_notice(pass);
  delete_leftovers(pass);
}

}  // namespace emj
