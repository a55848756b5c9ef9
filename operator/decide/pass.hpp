// SPDX-License-Identifier: Apache-2.0
// One call of decide() while it is being worked out. Private to operator/decide.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/decide/decide.hpp"

namespace emj {

class Pass {
 public:
  Pass(const Observed& observed, Time now);

  const Observed& seen;
  const JobSpec& spec;
  const std::string& name;
  const Time now;
  JobStatus status;
  std::vector<Action> actions;
  std::string autoscaling;
  bool lost_nodes_serve = false;   // nodes that were avoided are not any more
  std::optional<Outlook> outlook;  // where this pass has judged a goal

  template <class A>
  void act(A action) {
    actions.emplace_back(std::in_place_type<A>, std::move(action));
  }
  void event(std::string reason, std::string message) {
    act(RecordEvent{false, std::move(reason), std::move(message)});
  }
  void warning(std::string reason, std::string message) {
    act(RecordEvent{true, std::move(reason), std::move(message)});
  }
  // decide() is to be called again at `time` at the latest.
  void wake_at(Time time);
  void set_condition(const std::string& type, bool value, const std::string& reason,
                     const std::string& message);

  const PodView* pod(int index) const;
  const PodView* pod(const std::string& uid) const;
  // The lead answers, and of the membership that we know: it can be told something.
  bool lead_known() const {
    return seen.runtime.reachable && !seen.runtime.lead_silent && seen.runtime.epoch == status.epoch;
  }
  bool released(const PodView& pod) const;
  // Members, and the workers the program was started on before the lead has confirmed it.
  IndexSet members() const;
  // Members whose pod is being deleted, evicted or drained, or is in a pool that the job leaves.
  IndexSet disrupted() const;
  std::vector<MemberAddress> addresses(const IndexSet& workers) const;
  IndexSet take_indices(int count);

  Decision finish();

 private:
  std::map<int, const PodView*> by_index_;
  std::map<std::string, const PodView*> by_uid_;
  std::optional<Time> wake_;
};

// lastTransitionTime moves only when the condition's status flips.
void set_condition(std::vector<Condition>& conditions, Condition condition, Time now);

constexpr Seconds kSilence{15};  // one look without an answer is no news, and not worth a write

std::string workers_text(int count);           // "1 worker", "4 workers"
std::string describe_pod(const PodView& pod);  // "demo-w-3 (exit code 139): last lines"
// One of `workers` that is not ready, if possible one that says why: "demo-w-3: no node has room".
std::string missing_worker(const Pass& pass, const IndexSet& workers);
std::string start_problem(
    const Pass& pass);  // why the lead does not confirm the start, "" while nobody knows

// The steps of decide(), in the order they are taken; each file holds one concern.
bool queue_step(Pass& pass);  // queueing.cpp: false while the job waits in its queue
// The run is over, and the next may begin after `pause`: nothing where the job is in no queue.
void pause_in_queue(Pass& pass, Seconds pause, const std::string& reason,
                    QueueCause cause = QueueCause::StartFailed);  // queueing.cpp
// A start that failed: true when the queue has the job again.
bool back_to_queue(Pass& pass, const std::string& reason,
                   QueueCause cause = QueueCause::StartFailed);  // queueing.cpp
void drop_allocation(Pass& pass);                                // queueing.cpp: of a run that is over
void renounce_allocation(Pass& pass);  // queueing.cpp: also of what was granted and has not been taken
void adopt_program_range(Pass& pass);  // sizing.cpp: what the program says that it can use
int within_program(const PolicyState& state, int workers);  // sizing.cpp: as many of them as it can use
int target_size(Pass& pass);                   // sizing.cpp: what the spec asks for, made feasible
PolicyInput policy_input(const Pass& pass);    // sizing.cpp: what its policy may know
void run_autoscaling(Pass& pass, int target);  // sizing.cpp
void update_performance(Pass& pass);
void update_forecast(Pass& pass);                       // outlook.cpp: when it will be over
void update_cost(Pass& pass);                           // outlook.cpp
double price_per_hour(const Pass& pass);                // outlook.cpp: of a worker
double spent_until(const CostStatus& cost, Time time);  // outlook.cpp: at the present size
// The job takes as long at least by spec.scheduling.expectedSeconds, were its speed in proportion to its
// workers; 0: it does not say.
double least_seconds(const Pass& pass);  // outlook.cpp
Seconds join_timeout(
    const Pass& pass);  // pass.cpp: resize.joinTimeoutSeconds, and what a node takes to be made
// pass.cpp: before the next attempt, or restart, when so many have failed before the last.
Seconds back_off_pause(int failures_before);
void update_risks(Pass& pass);       // outlook.cpp: conditions DeadlineAtRisk, BudgetAtRisk
void update_checkpoint(Pass& pass);  // checkpoints.cpp
void update_tasks(Pass& pass);       // sizing.cpp
void create_missing(Pass& pass, const IndexSet& workers);  // creation.cpp: their pods, those that it may
void start_step(Pass& pass);                               // start.cpp: Pending, Starting
// start.cpp: of a job that has not run yet, however many starts have failed. In a queue it waits anew after
// each.
std::optional<Time> first_start(const Pass& pass);
void resize_step(Pass& pass, int target);  // resize.cpp: Running, Resizing
void forget_lost_nodes(Pass& pass);        // succession.cpp: of which Kubernetes knows by now
// Not made yet, no room for it, and nodes that it was not to have may be had again: it is to be made anew.
bool made_too_narrow(const Pass& pass, const PodView& pod);  // succession.cpp
bool succession_step(Pass& pass);                            // succession.cpp: true while nobody leads
bool ended_by_program(Pass& pass);                           // ending.cpp: success, failure, lost members
void suspend(Pass& pass);                                    // ending.cpp
// ending.cpp: before its pods are deleted, if it may be running; before the run is forgotten.
void stop_program(Pass& pass, const std::string& reason);
void restart_step(Pass& pass, int target);  // restart.cpp: a restartable job's change of size
bool ended_to_restart(Pass& pass);          // restart.cpp: the program has ended as it was told
void restarted(Pass& pass);                 // restart.cpp: and it runs again
void forget_run(JobStatus& status);         // ending.cpp: back to before the first start
void fail(Pass& pass, const std::string& reason, const std::string& message, bool may_restart);  // ending.cpp
void clean_up(Pass& pass);                         // ending.cpp: pods of a job that has ended
void delete_when_due(Pass& pass);                  // ending.cpp: ttlSecondsAfterFinished
void delete_all(Pass& pass, DeleteReason reason);  // ending.cpp
void delete_leftovers(Pass& pass);                 // resize.cpp: pods that are no members and not planned
// standby.cpp: workers that join, those of the warm pool first. Others get indices, and pods later.
IndexSet take_newcomers(Pass& pass, int count);
void plan_standby(Pass& pass);       // standby.cpp: who is in the pool, before leftovers are deleted
void create_standby(Pass& pass);     // standby.cpp: its pods, after all else
void end_standby(Pass& pass);        // standby.cpp: the job has ended, and with it whoever waits to join
void delete_standby(Pass& pass);     // standby.cpp: of a job that has ended
void update_conditions(Pass& pass);  // conditions.cpp

}  // namespace emj
