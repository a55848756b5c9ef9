// SPDX-License-Identifier: Apache-2.0
// The clock's part of a change (decision R17): what bounds each state, and whom a change that is late waits
// for.
#include <algorithm>

#include "runtime/agent/lead/change_driver.hpp"
#include "runtime/agent/lead/history_hooks.hpp"

namespace empi::agent {
namespace {

using Kind = DriverStep::Kind;
using State = ChangeState;
using Event = ChangeEvent;

// Between SIGTERM and SIGKILL of a leaver that does not go.
constexpr auto kTerminatePatience = std::chrono::seconds(5);
constexpr std::size_t kMostNamed = 3;  // leavers that are named where many had to be ended

}  // namespace

// Whom a change that is late waits for, in words.
std::string ChangeDriver::missing() const {
  const auto first_without = [](const std::set<ProcId>& all, const std::set<ProcId>& done) -> std::string {
    for (const ProcId& proc : all)
      if (!done.contains(proc)) return name_of(proc);
    return "";
  };
  const bool asked = step_ && !unanswered_.empty();
  if (asked && (state_ == State::Preparing || (state_ == State::Building && step_->kind == Kind::Fetch)))
    return ": pod " + *unanswered_.begin() + " has not answered";
  if (state_ == State::Preparing) {
    if (const auto rank = first_without(old_ranks_, hello_); !rank.empty())
      return ": rank " + rank + " has not called MPI_Init_adapt (was it linked with libelastic_mpi?)";
    if (const auto rank = first_without(joiner_ranks_, hello_); !rank.empty())
      return ": joining rank " + rank + " is not past MPI_Init";
  }
  if (state_ == State::Building) {
    std::set<ProcId> all = old_ranks_;
    all.insert(joiner_ranks_.begin(), joiner_ranks_.end());
    if (const auto rank = first_without(all, built_); !rank.empty())
      return ": rank " + rank + " has not built the next world";
    if (const auto rank = first_without(joiner_ranks_, at_begin_); !rank.empty())
      return ": joining rank " + rank + " is not in MPI_Comm_adapt_begin";
  }
  if (state_ == State::Window && plan_.tasks) {
    if (!not_departing_.empty()) return ": " + not_departing_;
    if (const auto rank = first_without(leaver_ranks_, left_); !rank.empty())
      return ": rank " + rank + " has not left: its task is not done";
  }
  if (state_ == State::Draining && !released_) {
    std::set<ProcId> all = old_ranks_;
    all.insert(joiner_ranks_.begin(), joiner_ranks_.end());
    std::set<ProcId> done = past_;
    done.insert(gone_.begin(), gone_.end());
    if (const auto rank = first_without(all, done); !rank.empty())
      return ": rank " + rank + " is not out of the window";
  }
  if (state_ == State::Ready && !agreement_.why.empty()) {
    const bool alone = probe_ == ProbeMode::All && agreement_.match == ProbeMatch::Doubtful;
    return ": " + agreement_.why +
           (alone ? " (where rank 0 alone is to probe: spec.runtime.probe: Root)" : "");
  }
  return "";
}

// Every state has a bound (decision R17). Before the window the change is rolled back; in it the ranks still
// decide, and those that wait for one that stands still are called back; after it there is nothing to undo.
void ChangeDriver::past_deadline(TimePoint now) {
  const std::string late = "after " + std::to_string(status_.request.deadline_ms) + " ms";
  if (put_back(OldFault::B8) && (state_ == State::Window || committed())) return;
  if (state_ == State::Window && !plan_.tasks) {
    if (interrupted_) return;
    status_.reason = "the window was not over " + late + ": its ranks were told to vote no";
    interrupt(Event::Deadline, status_.reason, {});
  } else if (state_ == State::Window || (committed() && !released_ && !forgotten_)) {
    status_.reason = "not over " + late + ", in state " + std::string(to_string(state_)) + missing();
  } else {
    const bool differ = state_ == State::Ready && agreement_.match == ProbeMatch::Doubtful;
    give_up(differ ? Event::ProbesDoNotMatch : Event::Deadline,
            "not ready " + late + ", in state " + std::string(to_string(state_)) + missing(), now);
  }
}

// Decision R5': a leaver that neither finalises nor probes again (which ends it) is ended. One that finalises
// keeps its epilogue for as long as its pod may take to go, which the change's deadline is made of.
void ChangeDriver::see_off_leavers(TimePoint now) {
  if (state_ != State::Draining || !released_) return;
  using std::chrono::milliseconds, std::chrono::seconds;
  const auto pods_grace = std::max<milliseconds>(leaver_grace_, milliseconds(status_.request.deadline_ms));
  DriverStep terminate{Kind::Terminate, 0, {}, 0, {}}, kill{Kind::Kill, 0, {}, 0, {}};
  for (Overdue& one : overdue_) {
    if (one.killed || gone_.contains(one.rank) || now < one.since + kTerminatePatience) continue;
    one.killed = true;
    kill.uids.insert(pod_of(one.rank));
    kill.leavers.push_back(one.rank);
  }
  for (const ProcId& proc : leaver_ranks_) {
    const bool finalises = finalising_.contains(proc);
    const auto grace = finalises ? pods_grace : milliseconds(leaver_grace_);
    if (gone_.contains(proc) || now < released_at_ + grace) continue;
    if (!terminated_.insert(proc).second) continue;
    overdue_.push_back({proc,
                        "leaving rank " + name_of(proc) +
                            (finalises ? " did not end within " : " did not call MPI_Finalize within ") +
                            std::to_string(std::chrono::ceil<seconds>(grace).count()) + " s of its release",
                        now});
    terminate.uids.insert(pod_of(proc));
    terminate.leavers.push_back(proc);
  }
  if (kill.uids.empty() && terminate.uids.empty()) return;
  for (DriverStep* step : {&kill, &terminate})
    if (!step->uids.empty()) {
      step->number = ++number_;
      step->state = state_;
      out_.push_back(std::move(*step));
    }
  status_.reason.clear();
  for (std::size_t i = 0; i < std::min(kMostNamed, overdue_.size()); ++i)
    status_.reason +=
        (i ? "; " : "") + overdue_[i].what + (overdue_[i].killed ? ": it was killed" : ": it was terminated");
  if (overdue_.size() > kMostNamed)
    status_.reason += "; and " + std::to_string(overdue_.size() - kMostNamed) + " more";
}

void ChangeDriver::tick(TimePoint now) {
  if (!active()) return;
  if (state_ == State::Ready && !step_ && now < deadline_) issue(Kind::ReadProbes, old_uids(), now);
  if (now >= deadline_) past_deadline(now);
  see_off_leavers(now);
  if (state_ == State::RollingBack && now >= rollback_until_ && step_) step_complete(now);
  advance(now);
}

}  // namespace empi::agent
