// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/testing/program.hpp"

#include <algorithm>

namespace empi::agent::histories {

using namespace std::chrono_literals;
using Kind = RankReport::Kind;

Pod* Program::pod_of(const ProcId& proc) {
  const auto at = ranks_.find(proc);
  return at == ranks_.end() ? nullptr : world_.find(at->second.pod);
}

// What a rank says reaches its agent, unless one of them is gone by then.
void Program::say(const ProcId& proc, Kind kind, const std::string& change, bool ok, Ms delay) {
  world_.events.after(delay, [this, proc, kind, change, ok] {
    Pod* pod = pod_of(proc);
    if (!pod || !pod->alive() || !is_alive(proc)) return;
    RankReport report;
    report.kind = kind;
    report.proc = proc;
    report.change = change;
    report.ok = ok;
    report.error = ok ? "" : "it was called off";
    report.tasks = tasks_;
    report.address = kind == Kind::Queue ? "10.0.0.1:4000/key" : "";
    pod->report(report);
  });
}

int Program::connected(const Pod& pod) const {
  return static_cast<int>(std::ranges::count_if(
      pod.ranks(), [&](const ProcId& proc) { return is_alive(proc) && ranks_.at(proc).connected; }));
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

void Program::launch(Pod& pod, bool joining) {
  for (const ProcId& proc : pod.ranks()) {
    if (ranks_.contains(proc)) continue;
    ranks_[proc] = {.pod = pod.uid(), .member = !joining};
    const bool late = !world_.meter && world_.dice.percent(3);
    const Ms delay = world_.dice.delay(5, late ? 20'000 : 300);
    world_.events.after(delay, [this, proc] { ranks_[proc].connected = true; });
    say(proc, Kind::Hello, "", true, delay);
    const bool keeper = tasks_ && !joining && pod.membership().find(pod.uid()) &&
                        pod.membership().lead().uid == pod.uid() && proc == *pod.ranks().begin();
    if (keeper) keeper_ = proc;
    if (keeper) say(proc, Kind::Queue, "", true, delay + world_.dice.delay(1, 3000));
  }
}

void Program::build(Pod& pod, const ChangePlan& plan) {
  if (tasks_) world_.violations.push_back("a world is built in a master-worker program");
  Attempt& attempt = attempt_of(plan);
  attempt.ordered.insert(pod.ranks().begin(), pod.ranks().end());
  try_build(attempt);
}

// Collective over old ranks and joiners.
void Program::try_build(Attempt& attempt) {
  if (attempt.built || attempt.cancelled || attempt.ordered.size() < attempt.everybody.size()) return;
  const bool ready = std::ranges::all_of(attempt.everybody, [&](const ProcId& proc) {
    return attempt.ordered.contains(proc) && is_alive(proc) && !ranks_[proc].hangs && !ranks_[proc].finalized;
  });
  if (!ready) return;
  attempt.built = true;
  if (!world_.meter) return say_built(attempt);
  // As Open MPI's accept asks: each pod with all ranks of both sides.
  const auto missing = std::make_shared<std::size_t>(0);
  for (const std::vector<Member>* members : {&attempt.plan.old.members, &attempt.plan.add})
    for (const Member& member : *members) {
      ++*missing;
      world_.find(member.uid)->collective("connect", attempt.everybody, [this, &attempt, missing] {
        if (--*missing == 0) say_built(attempt);
      });
    }
}

void Program::say_built(const Attempt& attempt) {
  for (const ProcId& proc : attempt.everybody) {
    const Ms delay = world_.dice.delay(1, 60);
    say(proc, Kind::Built, attempt.plan.id, true, delay);
    if (!ranks_[proc].member) say(proc, Kind::AtBegin, attempt.plan.id, true, delay + 5ms);
  }
}

void Program::confirm(Pod& pod, const ChangePlan& plan, std::uint64_t iteration) {
  Attempt& attempt = attempt_of(plan);
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

// A rank has moved its data, which it cannot where somebody is missing; then it waits to be called back.
void Program::vote(const std::string& change, const ProcId& proc) {
  Attempt& attempt = attempts_[change];
  if (attempt.decided || !is_alive(proc) || ranks_[proc].hangs) return;
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

void Program::interrupt(Pod& pod, const ChangePlan& plan) {
  Attempt& attempt = attempt_of(plan);
  attempt.interrupted.insert(pod.uid());
  for (const ProcId& proc : pod.ranks())
    world_.events.after(world_.dice.delay(1, 20), [this, change = plan.id, proc] { vote(change, proc); });
}

// Of all that are alive: the dead have voted no, and one that stands still is waited for until the ranks are
// called back.
void Program::try_decide(Attempt& attempt) {
  if (attempt.decided) return;
  if (casualties_ == 0 && attempt.voted.size() < attempt.everybody.size()) return;
  for (const ProcId& proc : attempt.everybody) {
    if (attempt.voted.contains(proc)) continue;
    if (is_alive(proc) && (!ranks_[proc].hangs || attempt.interrupted.empty())) return;
    attempt.agreed = false;
  }
  attempt.decided = true;
  for (const ProcId& proc : attempt.everybody) {
    if (!is_alive(proc) || ranks_[proc].hangs) continue;
    const Ms delay = world_.dice.delay(1, 60);
    say(proc, Kind::Agreed, attempt.plan.id, attempt.agreed, delay);
    if (!attempt.agreed) continue;
    ranks_[proc].member = true;
    ranks_[proc].leaving = attempt.plan.leaves(ranks_[proc].pod);
    const Ms past = delay + world_.dice.delay(1, 400);
    say(proc, Kind::Past, attempt.plan.id, true, past);
    if (world_.meter) say(proc, Kind::Adapted, attempt.plan.id, true, past + 50ms);
  }
}

void Program::give_up(Pod& pod, const ChangePlan& plan) {
  if (plan.joins(pod.uid())) return end_ranks(pod, {pod.ranks().begin(), pod.ranks().end()}, 9);
  Attempt& attempt = attempt_of(plan);
  attempt.cancelled = true;
  if (attempt.confirmed && !attempt.decided) interrupt(pod, plan);
  for (const ProcId& proc : pod.ranks()) say(proc, Kind::Built, plan.id, false, world_.dice.delay(1, 60));
}

void Program::release(Pod& pod) {
  released_.insert(pod.uid());
  if (std::exchange(lingers_, false)) return;
  for (const ProcId& proc : pod.ranks())
    world_.events.after(world_.dice.delay(1, 3000), [this, proc] { finalize(proc, 0); });
}

void Program::attach(Pod& pod, const ChangePlan& plan) {
  for (const ProcId& proc : pod.ranks()) {
    say(proc, Kind::Built, plan.id, true, world_.dice.delay(1, 200));
    ranks_[proc].member = true;
  }
}

void Program::depart(Pod& pod, const ChangePlan& plan) {
  if (pod.ranks().contains(keeper_)) {
    keeper_ = ranks_of(plan.next_members().lead()).front();
    say(keeper_, Kind::Queue, "", true, world_.dice.delay(1, 200));
  }
  for (const ProcId& proc : pod.ranks()) {
    ranks_[proc].leaving = true;
    say(proc, Kind::Agreed, plan.id, true, world_.dice.delay(10, 4000));
  }
}

void Program::exit(const ProcId& proc, int code, int signal) {
  Rank& rank = ranks_[proc];
  if (!rank.alive) return;
  rank.alive = false;
  failed_ = failed_ || code != 0;
  ++casualties_;
  world_.tell("rank " + name_of(proc) + " ends, " + std::to_string(code) + " signal " +
              std::to_string(signal));
  if (Pod* pod = world_.find(rank.pod); pod && pod->alive())
    pod->rank_ended({proc, code, signal, rank.finalized, rank.connected, {"a line"}});
  for (auto& [change, attempt] : attempts_)
    if (attempt.confirmed && !attempt.plan.id.empty()) try_decide(attempt);
}

void Program::end_ranks(Pod& pod, const std::vector<ProcId>& ranks, int signal) {
  for (const ProcId& proc : ranks)
    if (pod.ranks().contains(proc) && is_alive(proc)) exit(proc, 0, signal);
}

void Program::pod_died(Pod& pod) {
  for (const ProcId& proc : pod.ranks()) ranks_[proc].alive = false;
  casualties_ += static_cast<int>(pod.ranks().size());
  for (auto& [change, attempt] : attempts_)
    if (attempt.confirmed) try_decide(attempt);
}

void Program::kill(const ProcId& proc) { exit(proc, 0, 9); }

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
  say(proc, Kind::Finalizing, "", true, 0ms);
  say(proc, Kind::Finalized, "", true, 2ms);
  world_.events.after(world_.dice.delay(3, 4), [this, proc] { ranks_[proc].finalized = true; });
  world_.events.after(world_.dice.delay(5, 3000), [this, proc, code] { exit(proc, code, 0); });
}

void Program::finish(const std::set<ProcId>& failing) {
  finished_ = true;
  for (const auto& [proc, rank] : ranks_)
    if (rank.alive && rank.member && !rank.leaving)
      world_.events.after(
          world_.dice.delay(1, 300),
          [this, proc = proc, code = failing.contains(proc) ? 7 : 0] { finalize(proc, code); });
}

}  // namespace empi::agent::histories
