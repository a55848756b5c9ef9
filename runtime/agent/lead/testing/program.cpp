// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/testing/program.hpp"

#include <algorithm>
#include <utility>

namespace empi::agent::histories {

using namespace std::chrono_literals;
using Kind = RankReport::Kind;

SimulatedPod* Program::pod_of(const ProcId& proc) {
  const auto at = ranks_.find(proc);
  return at == ranks_.end() ? nullptr : world_.find(at->second.pod);
}

// What a rank says reaches its agent, unless one of them is gone by then.
void Program::say(const ProcId& proc, Kind kind, const std::string& change, bool ok, Ms delay) {
  world_.events.after(delay, [this, proc, kind, change, ok] {
    SimulatedPod* pod = pod_of(proc);
    if (!pod || !pod->alive() || !is_alive(proc)) return;
    RankReport report;
    report.kind = kind;
    report.proc = proc;
    report.change = change;
    report.ok = ok;
    report.error = ok ? "" : "it was called off";
    report.tasks = tasks_;
    report.address = kind == Kind::Queue ? "10.0.0.1:4000/key" : "";
    if (kind == Kind::Queue) report.mirror = mirror_of(proc);
    pod->act([report](Pod& agent) { agent.rank_reported(report); });
  });
}

// A rank on another pod than the one that keeps the queue.
std::string Program::mirror_of(const ProcId& keeper) {
  const std::string& pod = ranks_.at(keeper).pod;
  const auto at = std::ranges::find_if(ranks_, [&](const auto& entry) {
    const auto& [proc, rank] = entry;
    return rank.alive && rank.hello && rank.member && !rank.leaving && !rank.ending && rank.pod != pod;
  });
  mirror_ = at == ranks_.end() ? ProcId() : at->first;
  return at == ranks_.end() ? "" : name_of(mirror_);
}

std::uint64_t Program::probes() const {
  return static_cast<std::uint64_t>((world_.events.now().time_since_epoch() - 1h) / 10ms);
}

Program::Attempt& Program::attempt_of(const ChangePlan& plan) {
  Attempt& attempt = attempts_[plan.id];
  if (!attempt.plan.id.empty()) return attempt;
  attempt.plan = plan;
  attempt.everybody = ranks_of(plan.old.members);
  std::ranges::copy(ranks_of(plan.add), std::back_inserter(attempt.everybody));
  return attempt;
}

std::vector<ProbeMark> Program::probe_marks(const std::vector<ProcId>& procs) const {
  std::vector<ProbeMark> marks;
  if (world_.events.now() < diverges_until_)
    for (const ProcId& proc : procs) add_mark(marks, {.rank = proc, .probes = 100, .first = proc.rank % 2});
  return marks;
}

void Program::launch(SimulatedPod& pod, const ProcId& proc, bool joining) {
  ranks_[proc] = {.pod = pod.uid(), .member = !joining};
  const bool late = !world_.meter && world_.dice.percent(3);
  world_.events.after(world_.dice.delay(5, late ? 20'000 : 300), [this, proc] { connect(proc); });
  const bool first = pod.ranks().size() == 1;
  if (tasks_ && !joining && first && pod.membership().lead().uid == pod.uid()) keep_queue(proc);
}

// MPI_Init: when all ranks of the pod are there, it waits for those of the others.
void Program::connect(const ProcId& proc) {
  SimulatedPod* pod = pod_of(proc);
  if (!pod || !pod->alive() || !is_alive(proc)) return;
  ranks_[proc].connected = true;
  pod->act([proc](Pod& agent) { agent.rank_connected(proc); });
  const bool all = pod->ranks().size() == static_cast<std::size_t>(pod->member().slots) &&
                   std::ranges::all_of(pod->ranks(), [&](const ProcId& p) { return ranks_[p].connected; });
  if (all)
    traffic_.collective(*pod, "fence", RankRuns{{proc.nspace, kAllRanks}}, [this, pod](bool well) {
      if (well) leave_init(*pod);
    });
}

void Program::leave_init(SimulatedPod& pod) {
  for (const ProcId& proc : pod.ranks()) {
    ranks_[proc].hello = true;
    say(proc, Kind::Hello, "", true, 1ms);
    if (recoverable_ && ranks_[proc].member)
      say(proc, Kind::Recoverable, "", true, world_.dice.delay(50, 1500));
    if (proc == keeper_) say(proc, Kind::Queue, "", true, world_.dice.delay(2, 3000));
  }
}

std::string Program::order(SimulatedPod& pod, const ProcId& proc, const RankOrder& order) {
  Rank& rank = ranks_[proc];
  if (!rank.alive || !rank.hello || rank.finalized) return "it is not connected";
  switch (order.kind) {
    case RankOrder::Kind::Prepare:
      attempt_of(pod.plan().value());
      if (!rank.hangs) say(proc, Kind::Ready, order.change, !rank.ending, world_.dice.delay(1, 20));
      break;
    case RankOrder::Kind::Build:
      if (tasks_) world_.violate("a world is built in a master-worker program");
      attempt_of(pod.plan().value()).ordered.insert(proc);
      try_build(attempts_[order.change]);
      break;
    case RankOrder::Kind::Cancel:
      cancel(pod, proc, order.change);
      break;
    case RankOrder::Kind::Release:
      release(pod, proc);
      break;
    case RankOrder::Kind::Attach:
      attach(proc, order.change);
      break;
    case RankOrder::Kind::Leave:
      depart(pod, proc, order.change);
      break;
    case RankOrder::Kind::Lost:
      if (order.port != name_of(proc) || rank.leaving) break;
      keep_queue(proc);  // as the mirror
      say(proc, Kind::Queue, "", true, world_.dice.delay(1, 200));
      break;
    case RankOrder::Kind::Recover:
      recover(proc, order.port);
      break;
  }
  return "";
}

// It makes a world with the others that are left and gets its data, unless it is told of another loss before.
void Program::recover(const ProcId& proc, const std::string& name) {
  if (!recoverable_) return world_.violate("a program that cannot go on is told to");
  ranks_[proc].recovery = name;
  world_.events.after(world_.dice.delay(20, 1500), [this, proc, name] {
    SimulatedPod* pod = pod_of(proc);
    if (!pod || !pod->alive() || !is_alive(proc) || ranks_[proc].recovery != name) return;
    ranks_[proc].recovery.clear();
    RankReport report;
    report.kind = Kind::Recovered;
    report.proc = proc;
    report.address = name;
    report.iteration = static_cast<std::int64_t>(probes());
    pod->act([report](Pod& agent) { agent.rank_reported(report); });
  });
}

// Or will have in a moment, by a vote; and does not leave.
bool Program::has_lost_a_rank(const std::string& pod) const {
  return lost_by_vote_.contains(pod) || std::ranges::any_of(ranks_, [&](const auto& entry) {
           const auto& [proc, rank] = entry;
           return rank.pod == pod && !rank.alive && !rank.leaving;
         });
}

bool Program::recovering() const {
  return std::ranges::any_of(
      ranks_, [](const auto& entry) { return entry.second.alive && !entry.second.recovery.empty(); });
}

// Collective over old ranks and joiners, which meet as Open MPI's accept does: each pod with all ranks of
// both sides.
void Program::try_build(Attempt& attempt) {
  if (attempt.built || attempt.cancelled || attempt.ordered.size() < attempt.everybody.size()) return;
  const bool ready = std::ranges::all_of(attempt.everybody, [&](const ProcId& proc) {
    return attempt.ordered.contains(proc) && is_alive(proc) && !ranks_[proc].hangs && !ranks_[proc].finalized;
  });
  if (!ready) return;
  attempt.built = true;
  std::vector<SimulatedPod*> pods;
  for (const std::vector<Member>* members : {&attempt.plan.old.members, &attempt.plan.add})
    for (const Member& member : *members) pods.push_back(world_.find(member.uid));
  const auto done = [this, change = attempt.plan.id](SimulatedPod& pod, bool well) {
    say_built(change, pod, well);
  };
  if (attempt.plan.add.empty())
    for (SimulatedPod* pod : pods) done(*pod, true);
  else
    traffic_.meet(pods, *pods.front(), attempt.plan.port, attempt.everybody, done);
}

void Program::say_built(const std::string& change, SimulatedPod& pod, bool well) {
  for (const ProcId& proc : pod.ranks()) {
    const Ms delay = world_.dice.delay(1, 60);
    if (attempts_[change].cancelled) return;  // that has been said
    say(proc, Kind::Built, change, well, delay);
    if (well && !ranks_[proc].member) say(proc, Kind::AtBegin, change, true, delay + 5ms);
  }
}

void Program::confirm(SimulatedPod& pod, const ChangePlan& plan, std::uint64_t iteration) {
  Attempt& attempt = attempt_of(plan);
  // By a lead that the others have gone on without: its ranks wait in vain, until it hears so.
  if (attempt.cancelled) return;
  attempt.confirmed = true;
  const Ms until = Ms(10 * (iteration > probes() ? iteration - probes() : 0));
  for (const ProcId& proc : pod.ranks())
    world_.events.after(until + world_.dice.delay(1, 40),
                        [this, change = plan.id, proc] { vote(change, proc); });
}

bool Program::in_window() const {
  return std::ranges::any_of(
      attempts_, [](const auto& entry) { return entry.second.confirmed && !entry.second.decided; });
}

// It has, and it has not said yet how that ended.
bool Program::is_voting(const ProcId& proc) const {
  return std::ranges::any_of(attempts_, [&](const auto& entry) {
    const Attempt& attempt = entry.second;
    const auto returns = attempt.returns.find(proc);
    return attempt.voted.contains(proc) &&
           (!attempt.decided || (returns != attempt.returns.end() && world_.events.now() < returns->second));
  });
}

// A rank has moved its data, which it cannot where somebody is missing; then it waits to be called back.
void Program::vote(const std::string& change, const ProcId& proc) {
  Attempt& attempt = attempts_[change];
  if (attempt.decided || !is_alive(proc) || ranks_[proc].hangs || ranks_[proc].ending) return;
  if (attempt.voted.contains(proc)) return try_decide(attempt);
  const bool whole = casualties_ == 0 || std::ranges::all_of(attempt.everybody, [&](const ProcId& other) {
                       return attempt.voted.contains(other) || (is_alive(other) && !ranks_[other].hangs);
                     });
  const bool interrupted = attempt.interrupted.contains(ranks_[proc].pod);
  if (!whole && !interrupted) return;
  attempt.voted.insert(proc);
  attempt.agreed = attempt.agreed && whole && !interrupted;
  try_decide(attempt);
}

// Confirmed already: every rank comes to the window, so it is there that the change must fail.
void Program::cancel(SimulatedPod& pod, const ProcId& proc, const std::string& change) {
  const auto at = attempts_.find(change);
  if (at == attempts_.end() || at->second.decided) return;
  if (at->second.confirmed) {
    at->second.interrupted.insert(pod.uid());
    return world_.events.after(world_.dice.delay(1, 20), [this, change, proc] { vote(change, proc); });
  }
  at->second.cancelled = true;
  say(proc, Kind::Built, change, false, world_.dice.delay(1, 60));
}

// Of all that are alive: the dead have voted no, and one that stands still is waited for until the ranks are
// called back. Whoever votes no calls the joiners off, whatever their agents have heard.
void Program::try_decide(Attempt& attempt) {
  if (attempt.decided) return;
  if (casualties_ == 0 && attempt.agreed && attempt.voted.size() < attempt.everybody.size()) return;
  std::vector<ProcId> missing;
  for (const ProcId& proc : attempt.everybody)
    if (!attempt.voted.contains(proc)) missing.push_back(proc);
  for (const ProcId& proc : missing) attempt.agreed = attempt.agreed && is_alive(proc);
  for (const ProcId& proc : missing) {
    if (!is_alive(proc) || (!attempt.agreed && !ranks_[proc].member)) continue;
    if (!ranks_[proc].hangs || attempt.interrupted.empty()) return;
    attempt.agreed = false;
  }
  attempt.decided = true;
  if (const auto lost = to_be_lost(attempt)) return split(attempt, *lost);
  for (const ProcId& proc : attempt.everybody) decide(attempt, proc, attempt.agreed);
}

void Program::decide(Attempt& attempt, const ProcId& proc, bool yes) {
  if (!is_alive(proc) || ranks_[proc].hangs) return;
  const Ms delay = world_.dice.delay(1, 60);
  say(proc, Kind::Agreed, attempt.plan.id, yes, delay);
  attempt.returns[proc] = world_.events.now() + delay;
  if (!yes) return;
  const bool joins = !std::exchange(ranks_[proc].member, true);
  ranks_[proc].leaving = attempt.plan.leaves(ranks_[proc].pod);
  const Ms past = delay + world_.dice.delay(1, 400);
  say(proc, Kind::Past, attempt.plan.id, true, past);
  if (world_.meter) say(proc, Kind::Adapted, attempt.plan.id, true, past + 50ms);
  if (joins && finished_) finalize_later(proc);
}

std::optional<ProcId> Program::to_be_lost(const Attempt& attempt) const {
  const auto& old = attempt.plan.old.members;
  const SimulatedPod* lead = world_.find(old.front().uid);
  if (!splits_ || !attempt.agreed || finished_ || !lead->responds() || lead->over() || !lead->is_lead() ||
      !lead->view().survives_loss)
    return std::nullopt;
  std::vector<const Member*> staying;
  for (const Member& member : old)
    if (!attempt.plan.leaves(member.uid) &&
        std::ranges::all_of(ranks_of(member), [&](const ProcId& proc) { return is_alive(proc); }))
      staying.push_back(&member);
  if (staying.size() < 2) return std::nullopt;  // others must be left
  return ranks_of(*staying.back()).back();
}

// An old rank learns of all votes, or of the loss. A joiner learns it from the first old rank, unless another
// one that has learned of the loss calls it off before.
void Program::split(Attempt& attempt, const ProcId& lost) {
  world_.tell("the vote of " + attempt.plan.id + " is split by the loss of " + name_of(lost));
  splits_ = false;
  ++split_;
  lost_by_vote_.insert(ranks_[lost].pod);
  std::optional<bool> first;
  for (const ProcId& proc : attempt.everybody) {
    const bool joins = !ranks_[proc].member;
    const bool yes = world_.dice.percent(50) && (!joins || first == true);
    if (!first) first = yes;
    decide(attempt, proc, yes);
    if (joins ? !yes : yes && attempt.plan.leaves(ranks_[proc].pod)) lost_by_vote_.insert(ranks_[proc].pod);
    if (joins && !yes)
      world_.events.after(10s, [this, proc] {
        if (!ranks_[proc].recovery.empty() || !is_alive(proc)) return;
        exit(proc, 0, 0);
      });
  }
  world_.events.after(world_.dice.delay(0, 60), [this, lost] { kill(lost, 9); });
}

void Program::release(SimulatedPod& pod, const ProcId& proc) {
  ranks_[proc].leaving = true;  // if it has not learned so
  if (released_.insert(pod.uid()).second && std::exchange(lingers_, false)) lingering_.insert(pod.uid());
  if (!lingering_.contains(pod.uid()))
    world_.events.after(world_.dice.delay(1, 3000), [this, proc] { finalize(proc, 0); });
}

void Program::attach(const ProcId& proc, const std::string& change) {
  say(proc, Kind::Built, change, true, world_.dice.delay(1, 200));
  ranks_[proc].member = true;
  if (finished_) finalize_later(proc);
}

// It joins a program of which nothing is left to be done.
void Program::finalize_later(const ProcId& proc) {
  world_.events.after(world_.dice.delay(700, 900), [this, proc] { finalize(proc, 0); });
}

void Program::depart(SimulatedPod& pod, const ProcId& proc, const std::string& change) {
  if (ranks_[proc].finishing) return;  // it is past its loop
  if (proc == mirror_ && proc != keeper_) {
    if (!is_alive(keeper_))  // it waits for the word that it is to take the queue over
      return world_.events.after(100ms, [this, &pod, proc, change] {
        if (is_alive(proc) && pod.alive() && pod.plan() && pod.plan()->id == change)
          depart(pod, proc, change);
      });
    ranks_[proc].leaving = true;
    say(keeper_, Kind::Queue, "", true, 1ms);  // another one mirrors it
  }
  if (proc == keeper_) {
    queue_moved_by_ = change;
    for (const ProcId& next : ranks_of(pod.plan().value().next_members().members))
      if (keep_queue(next); is_alive(next)) break;
    say(keeper_, Kind::Queue, "", true, world_.dice.delay(1, 200));
  }
  ranks_[proc].leaving = true;
  say(proc, Kind::Agreed, change, true, world_.dice.delay(10, 4000));
}

void Program::keep_queue(const ProcId& proc) {
  keeper_ = proc;
  keeps_since_ = world_.events.now();
}

bool Program::has_left(const std::string& pod) const {
  return std::ranges::all_of(
      ranks_, [&](const auto& entry) { return entry.second.pod != pod || entry.second.leaving; });
}

bool Program::passes_queue_on(const ChangePlan& plan) const {
  const auto keeper = ranks_.find(keeper_);
  return queue_moved_by_ == plan.id || (keeper != ranks_.end() && plan.leaves(keeper->second.pod));
}

void Program::exit(const ProcId& proc, int code, int signal) {
  Rank& rank = ranks_[proc];
  if (!rank.alive) return;
  rank.alive = false;
  if (code != 0) failed_in_.insert(rank.pod);
  if (tasks_ && proc == mirror_ && is_alive(keeper_) && !finished_) say(keeper_, Kind::Queue, "", true, 1ms);
  ++casualties_;
  world_.tell("rank " + name_of(proc) + " ends, " + std::to_string(code) + " signal " +
              std::to_string(signal));
  if (SimulatedPod* pod = world_.find(rank.pod); pod && pod->alive())
    pod->act([proc, code, signal](Pod& agent) { agent.rank_ended(proc, code, signal, {"a line"}); });
  for (auto& [change, attempt] : attempts_)
    if (attempt.confirmed && !attempt.plan.id.empty()) try_decide(attempt);
}

void Program::pod_died(SimulatedPod& pod) {
  for (const ProcId& proc : pod.ranks()) ranks_[proc].alive = false;
  casualties_ += static_cast<int>(pod.ranks().size());
  for (auto& [change, attempt] : attempts_)
    if (attempt.confirmed) try_decide(attempt);
}

void Program::kill(const ProcId& proc, int signal) {
  if (is_alive(proc)) exit(proc, 0, signal);
}

void Program::abort(const ProcId& proc) {
  SimulatedPod* pod = pod_of(proc);
  if (!pod || !pod->alive() || !is_connected(proc)) return;
  world_.tell("rank " + name_of(proc) + " calls MPI_Abort");
  pod->act([proc](Pod& agent) { agent.rank_aborted({proc, 3, "on purpose", {"a line"}}); });
  world_.events.after(5ms, [this, proc] { kill(proc, 6); });
}

// One that has voted, or is a member, would hang the program, whatever an agent does.
void Program::hang(const ProcId& proc) {
  for (const auto& [change, attempt] : attempts_)
    if (attempt.voted.contains(proc)) return;
  if (ranks_[proc].member) return;
  world_.tell("rank " + name_of(proc) + " stands still");
  ranks_[proc].hangs = true;
  ++casualties_;
  for (auto& [change, attempt] : attempts_)
    if (attempt.confirmed) try_decide(attempt);
}

void Program::finalize(const ProcId& proc, int code) {
  if (!is_alive(proc) || ranks_[proc].hangs || ranks_[proc].finalized) return;
  if (!ranks_[proc].hello || is_voting(proc))  // it is in MPI_Init still, or in the window
    return world_.events.after(100ms, [this, proc, code] { finalize(proc, code); });
  ranks_[proc].ending = true;
  say(proc, Kind::Finalizing, "", true, 0ms);
  say(proc, Kind::Finalized, "", true, 2ms);
  world_.events.after(world_.dice.delay(3, 4), [this, proc] { ranks_[proc].finalized = true; });
  world_.events.after(world_.dice.delay(5, 3000), [this, proc, code] { exit(proc, code, 0); });
}

void Program::finish(const std::set<ProcId>& failing) {
  finished_ = true;
  for (auto& [proc, rank] : ranks_) {
    if (!rank.alive || !rank.member || rank.leaving) continue;
    rank.finishing = true;
    world_.events.after(world_.dice.delay(1, 300),
                        [this, proc = proc, code = failing.contains(proc) ? 7 : 0] { end(proc, code); });
  }
}

// Unless it leaves its loop by a vote before that.
void Program::end(const ProcId& proc, int code) {
  if (is_voting(proc)) return world_.events.after(100ms, [this, proc, code] { end(proc, code); });
  if (!ranks_[proc].leaving) finalize(proc, code);
}

}  // namespace empi::agent::histories
