// SPDX-License-Identifier: Apache-2.0
#include "operator/controller/controller.hpp"

#include <algorithm>

#include "operator/controller/accounting.hpp"

namespace emj {

namespace {

bool moving(const JobStatus& status) {
  return status.state == JobState::Pending || status.state == JobState::Starting ||
         status.state == JobState::Resizing || status.resize.has_value();
}

constexpr Millis kBetweenSamples{500};
// A pass makes and deletes no more, the rest is the next one's: a job of thousands would keep the others
// waiting.
constexpr int kPodsPerPass = 100;

}  // namespace

Controller::Controller(Cluster& cluster, Runtime& runtime, Clock clock, Log log, ControllerOptions options,
                       Scheduler* scheduler)
    : cluster_(cluster),
      runtime_(runtime),
      clock_(std::move(clock)),
      log_(std::move(log)),
      options_(std::move(options)),
      scheduler_(scheduler) {}

// While pods come up their agents are asked directly: a kubelet tells only at its next turn, a second later,
// that a container runs and that its probe has succeeded. One that does not answer is enough: at a start all
// are waited for, and the others of a grow can wait for their kubelet. But those that have no place yet keep
// nobody waiting in a grow.
void Controller::ask_newcomers(const ElasticMPIJob& job, std::vector<PodView>& pods) {
  const auto& start = job.status.start;
  const auto& resize = job.status.resize;
  const bool creating = resize && resize->phase == ResizePhase::CreatingPods;
  if (!creating && !(start && !start->requested)) return;
  const IndexSet& awaited = creating ? resize->add : start->workers;
  std::vector<PodView> asked;
  for (const PodView& pod : pods) {
    if (!awaited.contains(pod.index) || pod.ready) continue;
    const bool may_answer = !pod.ip.empty() && !pod.terminating && !pod.exit_code;
    if (may_answer)
      asked.push_back(pod);
    else if (!creating)
      break;
  }
  if (asked.empty()) return;
  const std::set<std::string> answering = runtime_.answering(job, asked);
  for (PodView& pod : pods) pod.ready = pod.ready || answering.contains(pod.uid);
}

std::optional<QueueGrant> Controller::grant_for(const ElasticMPIJob& job) const {
  if (scheduler_) return scheduler_->grant_of(job.metadata.uid);
  return QueueGrant{std::nullopt, QueueCause::NoSuchQueue,
                    "this operator has no queues: it was installed without them (chart value queues.enabled)",
                    std::nullopt};
}

namespace {

void observe_pools(const ElasticMPIJob& job, const QueueSpec& queue, Observed& observed) {
  int fastest = 0;
  for (const PoolSpec& pool : queue.pools) {
    const auto& names = job.spec.scheduling.pools;
    const bool may = names.empty() ? !pool.spot : std::ranges::find(names, pool.name) != names.end();
    if (may) fastest = std::max(fastest, pool.speed_percent);
    if (job.status.allocation && job.status.allocation->pool == pool.name)
      observed.provisioning = pool.provisioning;
  }
  if (fastest > 0) observed.speed_percent = fastest;
  observed.pending_bound = std::max(queue.pending, observed.provisioning);
}

}  // namespace

std::optional<Observed> Controller::observe(const JobRecord& record, const JobKey& key, Memory& memory,
                                            Time now) {
  const bool may_run = asked_to_start(record.job.status);
  Observed observed;
  observed.pods = cluster_.list_pods(key);
  if (!may_run)
    runtime_.nothing_runs(key);
  else if (!runtime_.prepared(record.job, observed.pods))
    return std::nullopt;
  observed.job = record.job;
  observed.fence = fence_for(record.job.status, memory);
  observed.runtime_image = options_.build.runtime_image;
  observed.mutual_tls = options_.build.mutual_tls;
  observed.cancel_requested = record.cancel_requested;
  observed.resume_autoscaling = record.resume_autoscaling;
  ask_newcomers(record.job, observed.pods);
  if (memory.invalid_generation != record.job.metadata.generation) memory.invalid_template.clear();
  observed.invalid_template = record.invalid.empty() ? memory.invalid_template : record.invalid;
  observed.creation_problem = memory.creation_problem;
  observed.creation_denied_since = memory.creation_denied_since;
  observed.namespace_ends = memory.namespace_ends;
  observed.command_problem = memory.command_problem;
  observed.internal_error = memory.internal_error;
  observed.scale_problem = std::exchange(memory.scale_problem, "");
  if (const std::string& queue = record.job.spec.scheduling.queue_name; !queue.empty()) {
    observed.grant = grant_for(record.job);
    if (const auto spec = scheduler_ ? scheduler_->queue(queue) : std::nullopt)
      observe_pools(record.job, *spec, observed);
  }
  if (!may_run) return observed;
  observed.runtime = runtime_.observe(record.job, observed.pods);
  const bool silent = !observed.runtime.reachable || observed.runtime.lead_silent;
  if (!silent)
    memory.silent_since.reset();
  else if (!memory.silent_since)
    memory.silent_since = now;
  observed.silent_since = memory.silent_since;
  memory.lead_was_replaceable = is_replaceable(observed.runtime, memory.lead_was_replaceable);
  observed.lead_was_replaceable = memory.lead_was_replaceable;
  if (observed.runtime.unmeasured.empty())
    memory.unmeasured_since.reset();
  else if (!memory.unmeasured_since)
    memory.unmeasured_since = now;
  observed.unmeasured_since = memory.unmeasured_since;
  if (observed.runtime.stale_token)
    report(key, "an agent does not take the job's token", cluster_.renew_token(record.job), memory);
  if (options_.fence == 0 && observed.runtime.fence > std::max(observed.fence, record.job.status.fence)) {
    // Nobody that writes the status holds the agents' fence: the status was restored from a backup, say. Or
    // somebody does and the cache does not show it; then the write that claims the next one is refused.
    observed.fence = memory.fence = observed.runtime.fence + 1;
  }
  if (now - memory.last_samples >= kBetweenSamples && observed.runtime.epoch > 0) {
    memory.samples = runtime_.samples(record.job);
    memory.last_samples = now;
  }
  observed.samples = memory.samples;
  return observed;
}

// The job was deleted: its agents take the end of their pods for a drain and would go on for the whole grace
// period. Best effort; after that they end in any case.
void Controller::end_program(Memory& memory) {
  if (!memory.running) return;
  const JobStatus& status = memory.running->status;
  if (status.epoch > 0 && !std::exchange(memory.accounted, true)) account(*memory.running);
  const Outcome told = runtime_.stop(
      *memory.running,
      StopJob{std::max(status.fence, memory.fence), "the job was deleted", addresses_of(memory.pods)});
  memory.told_to_end = told.ok();
  memory.running.reset();
}

// By whoever ends the job, so that each has one line: a job that has ended is not looked at for this again.
void Controller::account(const ElasticMPIJob& job) const {
  if (options_.account) options_.account(key_of(job), accounting_line(job, clock_()));
}

// A tenth is what waiting for the next look can add to anything that takes its time, and a look costs
// requests.
Millis Controller::next_look(const Observed& observed, const JobStatus& decided, Memory& memory,
                             Time now) const {
  const bool cleaning_up = is_terminal(decided.state) && !observed.pods.empty();
  if (observed.pods != memory.pods || decided != observed.job.status || now < memory.last_change) {
    memory.pods = observed.pods;
    memory.last_change = now;
  }
  if (!moving(decided) && !cleaning_up) return options_.steady;
  return std::clamp((now - memory.last_change) / 10, options_.fast, std::max(options_.fast, options_.steady));
}

Controller::Memory& Controller::memory_of(const JobKey& key) {
  const std::lock_guard lock(mutex_);
  return memory_[key];
}

// Another job of the same name has nothing to do with what is remembered; its predecessor was deleted.
Controller::Memory& Controller::memory_for(const JobKey& key, const std::string& uid) {
  Memory& memory = memory_of(key);
  if (memory.uid != uid && !memory.uid.empty()) {
    end_program(memory);
    runtime_.forget(key);
    memory = {};
  }
  memory.uid = uid;
  return memory;
}

std::int64_t Controller::fence_for(const JobStatus& status, Memory& memory) const {
  if (options_.fence > 0) return std::max(options_.fence, memory.named_fence);
  if (is_terminal(status.state)) return status.fence;  // nobody left to command
  if (memory.fence == 0) memory.fence = status.fence + 1;
  return memory.fence;
}

// Another installation, or a process without leader election, has held the job: when it goes, nobody would
// look after the job until this process starts anew.
void Controller::overtake(const JobKey& key, const JobStatus& status, Memory& memory, Time now) {
  if (options_.fence > 0 || memory.fence == 0 || status.fence <= memory.fence || is_terminal(status.state)) {
    memory.newer_fence = 0;
    return;
  }
  if (memory.newer_fence != status.fence) {
    memory.newer_fence = status.fence;
    memory.newer_since = now;
  }
  if (now - memory.newer_since < options_.overtaken) return;
  memory.fence = status.fence + 1;
  cluster_.record_event(key, {true, "Fenced",
                              "another operator had taken this job and has not let it go for " +
                                  std::to_string(options_.overtaken.count() / 1000) +
                                  " s: taken back; one installation should look after a namespace"});
}

ReconcileResult Controller::reconcile(const JobKey& key) {
  try {
    ReconcileResult result = pass_over(key);
    if (!result.gone && !result.asking) memory_of(key).internal_error.clear();
    return result;
  } catch (const std::exception& error) {
    return broken_off(key, error.what());
  }
}

ReconcileResult Controller::broken_off(const JobKey& key, const std::string& what) {
  ReconcileResult result;
  result.failed = result.broken = true;
  result.requeue_after = options_.steady;
  if (scheduler_) scheduler_->unreadable(key);
  try {
    Memory& memory = memory_of(key);
    report(key, "a defect of the operator, nothing is done about this job", Outcome::retry(what), memory);
    memory.internal_error = what;
    const auto record = cluster_.read_job(key);
    if (!record || !record->unreadable.empty() ||
        record->job.status.fence > fence_for(record->job.status, memory))
      return result;
    result.status = with_internal_error(record->job, what, clock_());
    if (result.status != record->job.status) cluster_.write_status(record->job, result.status);
  } catch (const std::exception& error) {
    log_(key, std::string("and it cannot be told so: ") + error.what());
  }
  return result;
}

ReconcileResult Controller::pass_over(const JobKey& key) {
  ReconcileResult result;
  const auto record = cluster_.read_job(key);
  if (!record || record->job.metadata.deletion_time) end_program(memory_of(key));
  if (!record) {
    const std::lock_guard lock(mutex_);
    memory_.erase(key);
    runtime_.forget(key);
    if (scheduler_) scheduler_->gone(key);
    result.gone = true;
    return result;
  }
  Memory& memory = memory_for(key, record->job.metadata.uid);
  if (!record->unreadable.empty()) {
    // Its program goes on as it is; nothing is decided about what is not understood.
    if (scheduler_) scheduler_->unreadable(key);
    const Outcome told = cluster_.tell_unreadable(*record);
    report(key, "reading the job, it is left alone", Outcome::retry(record->unreadable), memory);
    if (!told.ok()) log_(key, "telling that it cannot be read: " + told.message);
    result.status.reason = condition::kReasonUnreadable;
    result.failed = true;
    result.requeue_after = options_.steady;
    return result;
  }
  const Time now = clock_();
  overtake(key, record->job.status, memory, now);
  const std::optional<Observed> seen = observe(*record, key, memory, now);
  if (!seen) {
    result.asking = true;
    result.status = record->job.status;
    result.requeue_after = options_.steady;
    return result;
  }
  const Observed& observed = *seen;
  const Decision decision = decide(observed, now);
  result.status = decision.status;
  result.terminal = is_terminal(decision.status.state);
  result.pods = observed.pods;
  result.requeue_after = next_look(observed, decision.status, memory, now);

  if (decision.status != record->job.status) {
    const Outcome written = cluster_.write_status(record->job, decision.status);
    if (!report(key, "writing the status", written, memory)) {
      const bool conflict = written.kind == Outcome::Kind::Conflict;
      // Not ours until it is written: somebody else may have written the same number.
      if (record->job.status.fence < observed.fence) memory.fence = 0;
      if (scheduler_ && !conflict)
        scheduler_->saw(record->job, observed.pods);  // others need not wait for it
      result.status = record->job.status;
      result.terminal = false;
      result.requeue_after = options_.fast;
      result.failed = true;
      return result;
    }
  }
  // To name a lead takes a fence of its own, which is ours by that write.
  const bool ours = decision.status.fence >= observed.fence && record->job.status.fence <= observed.fence;
  if (ours && decision.status.fence > observed.fence)
    memory.fence = memory.named_fence = decision.status.fence;
  if (record->resume_autoscaling) report(key, "resuming autoscaling", cluster_.clear_resume(key), memory);
  log_decisions(key, decision.status, memory);

  ElasticMPIJob job = record->job;
  job.status = decision.status;
  if (scheduler_) scheduler_->saw(job, observed.pods);
  if (result.terminal && !is_terminal(record->job.status.state)) account(job);
  memory.running.reset();
  if (asked_to_start(job.status) && !result.terminal && !memory.told_to_end) {
    memory.running = job;
    // decide() leaves another operator's job as it is.
    if (ours && job.status.epoch > 0)
      report(key, "keeping the job's other objects", cluster_.keep_children(job), memory);
  }
  // A refusal of long ago says nothing of the next pod.
  if (std::ranges::none_of(decision.actions,
                           [](const Action& action) { return std::holds_alternative<CreatePod>(action); }))
    memory.creation_denied_since.reset();
  int pods = 0;
  for (auto action = decision.actions.begin(); action != decision.actions.end();) {
    const bool creates = std::holds_alternative<CreatePod>(*action);
    if ((creates || std::holds_alternative<DeletePod>(*action)) && pods >= kPodsPerPass) {
      result.requeue_after = options_.fast;
      break;
    }
    if (!creates) {
      pods += std::holds_alternative<DeletePod>(*action);
      if (!act(key, job, record->job, *action++, memory, result)) break;
      continue;
    }
    std::vector<int> workers;
    for (; action != decision.actions.end() && pods < kPodsPerPass; ++action, ++pods) {
      const auto* create = std::get_if<CreatePod>(&*action);
      if (!create) break;
      workers.push_back(create->index);
    }
    if (!make_pods(key, job, workers, memory, result)) break;
  }
  if (!result.failed) memory.times = 0;
  return result;
}

}  // namespace emj
