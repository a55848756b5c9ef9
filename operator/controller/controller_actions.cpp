// SPDX-License-Identifier: Apache-2.0
// What a pass does of what was decided, and how it tells what could not be done.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "operator/controller/controller.hpp"

namespace emj {
namespace {

constexpr int kConflictsInARow = 5;    // fewer are the ordinary course of things: somebody else wrote first
constexpr Seconds kBetweenWords{600};  // of a problem that stays

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

// Where a job in a queue has a pool, its pods are made for the nodes of that pool or not at all.
Outcome Controller::create_pods(const ElasticMPIJob& job, const std::vector<int>& workers) {
  const std::string& queue = job.spec.scheduling.queue_name;
  const std::string place = !queue.empty() && job.status.allocation ? job.status.allocation->pool : "";
  const auto spec = scheduler_ && !place.empty() ? scheduler_->queue(queue) : std::nullopt;
  const PoolSpec* pool = nullptr;
  if (spec) {
    const auto found = std::ranges::find(spec->pools, place, &PoolSpec::name);
    if (found != spec->pools.end()) pool = &*found;
  }
  if (!place.empty() && !pool)
    return Outcome::retry("pool " + place + " of ElasticQueue \"" + queue +
                          "\" cannot be read: no pods are made while it does not say on which nodes");
  std::vector<nlohmann::json> pods;
  for (const int worker : workers) pods.push_back(build_pod(job, worker, options_.build, pool));
  return cluster_.create_pods(job, pods);
}

bool Controller::make_pods(const JobKey& key, const ElasticMPIJob& job, const std::vector<int>& workers,
                           Memory& memory, ReconcileResult& result) {
  const Outcome outcome = create_pods(job, workers);
  if (outcome.kind == Outcome::Kind::Refused) {
    memory.invalid_template = outcome.message;
    memory.invalid_generation = job.metadata.generation;
  }
  std::string what = to_string(Action(CreatePod{workers.front()}));
  if (workers.size() > 1) what += " and " + std::to_string(workers.size() - 1) + " more";
  const bool made = done(key, what, outcome, memory, result);
  // A conflict goes away by itself, as a rule.
  const bool lasts = outcome.kind == Outcome::Kind::Conflict && memory.times >= kConflictsInARow;
  const bool denied = outcome.kind == Outcome::Kind::Denied;
  memory.namespace_ends = outcome.kind == Outcome::Kind::Ending;
  memory.creation_problem =
      outcome.kind == Outcome::Kind::Retry || denied || lasts ? outcome.message : std::string();
  if (!denied)
    memory.creation_denied_since.reset();
  else if (!memory.creation_denied_since)
    memory.creation_denied_since = clock_();
  return made;
}

bool Controller::done(const JobKey& key, const std::string& what, const Outcome& outcome, Memory& memory,
                      ReconcileResult& result) {
  if (outcome.ok()) return true;
  result.failed = true;
  result.requeue_after = std::min(result.requeue_after, 4 * options_.fast);
  return report(key, what, outcome, memory);
}

bool Controller::act(const JobKey& key, const ElasticMPIJob& job, const ElasticMPIJob& run,
                     const Action& action, Memory& memory, ReconcileResult& result) {
  const auto done = [&](const Outcome& outcome) {
    return this->done(key, to_string(action), outcome, memory, result);
  };
  const auto command = [&](const Outcome& outcome) {
    memory.command_problem = outcome.message;
    return done(outcome);
  };
  return std::visit(
      Overloaded{[&](const CreatePod& create) { return make_pods(key, job, {create.index}, memory, result); },
                 [&](const DeletePod& pod) { return done(cluster_.delete_pod(key, pod)); },
                 [&](const StartJob& start) { return command(runtime_.start(run, start)); },
                 [&](const StopJob& stop) {
                   // Best effort: the pods are deleted next, and a lead that is gone cannot be
                   // told.
                   const Outcome told = runtime_.stop(run, stop);
                   if (!stop.blind) report(key, to_string(action), told, memory);
                   return true;
                 },
                 [&](const NameLead& lead) { return command(runtime_.name_lead(run, lead)); },
                 [&](const SendChange& change) { return command(runtime_.change(run, change)); },
                 [&](const CancelChange& cancel) { return command(runtime_.cancel(run, cancel)); },
                 [&](const GiveNotice& notice) { return command(runtime_.give_notice(run, notice)); },
                 [&](const WriteScale& scale) {
                   result.requeue_after = std::min(result.requeue_after, options_.fast);
                   const Outcome outcome = cluster_.write_scale(job, scale.replicas);
                   if (outcome.kind == Outcome::Kind::Refused) memory.scale_problem = outcome.message;
                   return done(outcome);
                 },
                 [&](const DeleteJob& job_to_go) { return done(cluster_.delete_job(key, job_to_go.uid)); },
                 [&](const Requeue& requeue) {
                   result.timed = true;
                   result.requeue_after = std::min(result.requeue_after, std::max(requeue.after, Millis(1)));
                   return true;
                 },
                 [&](const RecordEvent& event) {
                   cluster_.record_event(key, event);
                   return true;
                 }},
      action);
}

void Controller::log_decisions(const JobKey& key, const JobStatus& status, Memory& memory) {
  for (const DecisionRecord& decision : status.decisions) {
    if (memory.last_decision && decision.time <= *memory.last_decision) continue;
    memory.last_decision = decision.time;
    if (decision.action == DecisionAction::Scale) continue;  // told by its event
    log_(key, std::string(to_string(decision.action)) + ", " + decision.reason);
  }
}

bool Controller::report(const JobKey& key, const std::string& what, const Outcome& outcome, Memory& memory) {
  if (outcome.ok()) return true;
  const std::string problem = what + ": " + outcome.message;
  if (problem != memory.last_problem || memory.times == 0) {
    memory.last_problem = problem;
    memory.times = 0;
    memory.told = {};
  }
  ++memory.times;
  const bool ordinary = outcome.kind == Outcome::Kind::Conflict && memory.times < kConflictsInARow;
  const Time now = clock_();
  if (ordinary || (memory.told != Time{} && now - memory.told < kBetweenWords)) return false;
  memory.told = now;
  log_(key, problem + (memory.times > 1 ? " (" + std::to_string(memory.times) + " times)" : ""));
  return false;
}

}  // namespace emj
