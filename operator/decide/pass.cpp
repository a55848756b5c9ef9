// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/pass.hpp"

#include <algorithm>

#include "runtime/base/backoff.hpp"
#include "runtime/base/json_text.hpp"

namespace emj {

Pass::Pass(const Observed& observed, Time at)
    : seen(observed),
      spec(observed.job.spec),
      name(observed.job.metadata.name),
      now(at),
      status(observed.job.status) {
  for (const PodView& view : observed.pods) {
    by_index_[view.index] = &view;
    by_uid_[view.uid] = &view;
    // An index counts as used even when the status that handed it out was lost.
    status.next_index = std::max(status.next_index, view.index + 1);
  }
}

void Pass::wake_at(Time time) {
  if (!wake_ || time < *wake_) wake_ = time;
}

void set_condition(std::vector<Condition>& conditions, Condition condition, Time now) {
  condition.message = empi::json_text::cut(std::move(condition.message), kLongestConditionMessage);
  condition.last_transition_time = now;
  if (condition.reason.empty()) condition.reason = condition.type;  // Kubernetes wants one
  const auto found = std::ranges::find(conditions, condition.type, &Condition::type);
  if (found == conditions.end()) {
    conditions.push_back(std::move(condition));
    return;
  }
  if (found->status == condition.status) condition.last_transition_time = found->last_transition_time;
  *found = std::move(condition);
}

void Pass::set_condition(const std::string& type, bool value, const std::string& reason,
                         const std::string& message) {
  emj::set_condition(status.conditions,
                     {type, value ? "True" : "False", reason, message, {}, seen.job.metadata.generation},
                     now);
}

const PodView* Pass::pod(int index) const {
  const auto found = by_index_.find(index);
  return found == by_index_.end() ? nullptr : found->second;
}

const PodView* Pass::pod(const std::string& uid) const {
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : found->second;
}

bool Pass::released(const PodView& pod) const {
  const auto& uids = seen.runtime.released;
  return seen.runtime.reachable && std::find(uids.begin(), uids.end(), pod.uid) != uids.end();
}

Seconds back_off_pause(int failures_before) {
  return empi::backoff(Seconds(10), Seconds(360), failures_before);
}

Seconds join_timeout(const Pass& pass) { return pass.spec.resize.join_timeout + pass.seen.provisioning; }

IndexSet Pass::members() const {
  return status.start && status.start->requested ? status.start->workers : status.active_workers;
}

IndexSet Pass::disrupted() const {
  IndexSet set;
  const std::string* left =
      status.allocation && status.allocation->moved_from ? &status.allocation->moved_from->pool : nullptr;
  for (const int index : status.active_workers)
    if (const PodView* view = pod(index);
        view && (view->terminating || view->disruption_target || (left && view->pool == *left)))
      set.insert(index);
  return set;
}

std::vector<MemberAddress> Pass::addresses(const IndexSet& workers) const {
  std::vector<MemberAddress> list;
  for (const int index : workers)
    if (const PodView* view = pod(index)) list.push_back({view->name, view->uid, view->ip, index});
  return list;
}

IndexSet Pass::take_indices(int count) {
  IndexSet taken;
  for (int i = 0; i < count; ++i) taken.insert(status.next_index++);
  return taken;
}

Decision Pass::finish() {
  if (wake_) act(Requeue{std::max(*wake_ - now, Millis(1))});
  return {std::move(actions), std::move(status), std::move(autoscaling)};
}

std::string workers_text(int count) { return std::to_string(count) + (count == 1 ? " worker" : " workers"); }

std::string describe_pod(const PodView& pod) {
  std::string text = pod.name;
  if (pod.exit_code) text += " (exit code " + std::to_string(*pod.exit_code) + ")";
  if (!pod.message.empty()) text += ": " + pod.message;
  return text;
}

std::string missing_worker(const Pass& pass, const IndexSet& workers) {
  std::string silent;
  for (const int index : workers) {
    const PodView* pod = pass.pod(index);
    if (pod && pod->ready) continue;
    const std::string& problem = pass.seen.creation_problem;
    if (!pod)
      return worker_name(pass.name, index) + " was not created" + (problem.empty() ? "" : ": " + problem);
    if (!pod->message.empty()) return describe_pod(*pod);
    if (silent.empty()) silent = describe_pod(*pod);
  }
  return silent;
}

}  // namespace emj
