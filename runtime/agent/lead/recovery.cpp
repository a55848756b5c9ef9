// SPDX-License-Identifier: Apache-2.0
// Programs that go on without members that are lost (decision R18): their ranks leave the world, make one of
// those who are left, and go back to their last snapshots. The lead drops the members, says of whom the world
// is, and waits until all have it; a further loss meanwhile begins all of it anew.
#include <algorithm>
#include <chrono>

#include "runtime/agent/lead/lead.hpp"
#include "runtime/base/log.hpp"

namespace empi::agent {
namespace {

constexpr std::chrono::seconds kRecoveryBound{300};
constexpr int kSameIteration = 3;  // a program that is lost so often at one iteration kills its ranks itself

}  // namespace

// Beside a helper thread that never came back from a change MPI makes no world (quirk two-makers).
bool Lead::recovers() const {
  return self_.malleable && state_.may_recover && state_.recoverable && !state_.tasks && !state_.ending &&
         !has_parked();
}

bool Lead::has_parked() const {
  return std::ranges::any_of(state_.parked, [this](const auto& rank) {
    const auto owner = spaces_.owner(rank.first);
    return rank.second > 0 && owner && membership_.find(owner->uid) && !lost_pods_.contains(owner->uid);
  });
}

// When all have: before, not every pod can tell its ranks of the others (Pod::rank_recoverable).
void Lead::on_recoverable(const RankReport& report) {
  if (state_.recoverable) return;
  state_.declared.insert(report.proc);
  state_.recoverable = std::ranges::all_of(
      ranks_of(membership_.members), [this](const ProcId& proc) { return state_.declared.contains(proc); });
  if (!state_.recoverable) return;
  state_.declared.clear();
  log::info(
      "every rank has copies on another pod: from now on the job goes on without members that are lost");
  send_all(others(), Beat{.news = news()});  // from now on the loss of the lead is borne, too
}

void Lead::begin_recovery() {
  state_.recovery = "recover-" + std::to_string(membership_.epoch.value);
  state_.recovered.clear();
  recovery_due_.reset();
}

void Lead::on_recovered(const RankReport& report) {
  if (!report.ok && report.address.empty()) return fail_job(report.error, 1, {});  // it waited for others
  if (state_.recovery.empty() || report.address != state_.recovery) return;
  if (!report.ok) return fail_job(describe_recovery() + ", and cannot: " + report.error, 1, {});
  state_.recovered.insert(report.proc);
  ChangeStatus& lost = state_.history.back();  // no other change begins before all have their data
  lost.times.lost_ms = std::max(lost.times.lost_ms, report.lost_ms);
  lost.repeated_iterations = std::max(lost.repeated_iterations, report.repeated);
  if (!std::ranges::all_of(ranks_of(membership_.members),
                           [this](const ProcId& proc) { return state_.recovered.contains(proc); }))
    return;
  state_.recovery.clear();
  state_.resumed_times = state_.resumed_at == report.iteration ? state_.resumed_times + 1 : 1;
  state_.resumed_at = report.iteration;
  log::info("the job goes on from iteration {} with {} ranks", report.iteration, membership_.ranks());
  if (state_.resumed_times >= kSameIteration)
    fail_job("ranks were lost " + std::to_string(kSameIteration) + " times after iteration " +
                 std::to_string(report.iteration) + ": " + state_.history.back().reason,
             1, {});
}

void Lead::bound_recovery(Moment now) {
  if (state_.recovery.empty()) return;
  if (!recovery_due_) recovery_due_ = now.clock + kRecoveryBound;
  if (now.clock < *recovery_due_) return;
  std::string waits_for;
  for (const ProcId& proc : ranks_of(membership_.members))
    if (!state_.recovered.contains(proc) && waits_for.empty()) waits_for = name_of_rank(proc);
  fail_job(describe_recovery() + ", and " + waits_for + " has not within " +
               std::to_string(kRecoveryBound.count()) + " s",
           1, {});
}

std::string Lead::describe_recovery() const {
  if (state_.recovery.empty()) return "";
  return state_.history.back().reason + "; the other ranks make a world without it";
}

}  // namespace empi::agent
