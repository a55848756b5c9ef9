// SPDX-License-Identifier: Apache-2.0
// A grow takes what comes (decision K15): newcomers that are ready wait patienceSeconds for the others, then
// they join, as many as make an allowed size. The rest stays wanted in status.resize.awaited, where its pods
// are neither thrown away nor made again, and joins by later changes in the same way. The whole is described
// in resize.cpp.

#include <algorithm>

#include "operator/decide/resize.hpp"

namespace emj::resizing {

IndexSet ready_of(const Pass& pass, const IndexSet& workers) {
  IndexSet ready;
  for (const int index : workers)
    if (const PodView* pod = pass.pod(index); pod && pod->ready && !pod->terminating) ready.insert(index);
  return ready;
}

int aim(const Pass& pass) {
  const auto& awaited = pass.status.awaited;
  return pass.status.resize->to + (awaited ? awaited->workers.size() : 0);
}

// Those that are ready stay before those that are not, older ones before newer.
void keep_at_most(const Pass& pass, int count, IndexSet& workers, IndexSet& created) {
  IndexSet unready = set_difference(workers, ready_of(pass, workers));
  while (workers.size() > count) {
    const int out = (unready.empty() ? workers : unready).ascending().back();
    unready.erase(out);
    workers.erase(out);
    created.erase(out);
  }
}

std::optional<std::string> replace_evicted(Pass& pass, IndexSet& workers, IndexSet& created) {
  const IndexSet planned = workers;
  for (const int index : planned) {
    const PodView* pod = pass.pod(index);
    if (pod ? pod->terminating || made_too_narrow(pass, *pod) : created.contains(index)) {
      workers.erase(index);
      created.erase(index);
      workers.insert(*take_newcomers(pass, 1).begin());
    } else if (pod && has_ended(*pod)) {
      return describe_pod(*pod);
    } else if (pod) {
      created.insert(index);
    }
  }
  return std::nullopt;
}

int may_join(Pass& pass, const IndexSet& newcomers, int leaving, std::optional<Time>& ready_time,
             Time latest) {
  const int present = pass.status.active_workers.size();
  const int staying = present - leaving;
  const int ready = ready_of(pass, newcomers).size();
  const int size = feasible_size(pass.spec, std::max(1, staying + ready));
  const bool serves = size > present || (size == present && leaving > 0);
  if (ready == 0 || size > staying + ready || !serves) {
    ready_time.reset();
    return 0;
  }
  if (!ready_time) ready_time = pass.now;
  const Time due = std::min(*ready_time + pass.spec.resize.patience, latest);
  if (pass.now >= due) return size - staying;
  pass.wake_at(due);
  return 0;
}

void go_on_without_the_rest(Pass& pass, int joining) {
  ResizeStatus& resize = *pass.status.resize;
  const IndexSet ready = ready_of(pass, resize.add);
  const std::vector<int>& oldest = ready.ascending();
  const IndexSet join(std::vector<int>(oldest.begin(), oldest.begin() + joining));
  AwaitedWorkers rest{set_difference(resize.add, join), set_difference(resize.created, join), resize.deadline,
                      std::nullopt};
  const int wanted = resize.to;
  resize.to -= rest.workers.size();
  resize.add = join;
  resize.created = join;
  pass.event("ResizePartial", std::to_string(resize.from) + " -> " + workers_text(resize.to) +
                                  " now, the rest of " + std::to_string(wanted) +
                                  " when it comes; missing: " + missing_worker(pass, rest.workers));
  pass.status.awaited = std::move(rest);
}

bool wait_for_rest(Pass& pass, const Goal& goal) {
  auto& awaited = pass.status.awaited;
  if (!awaited || !goal.remove.empty() || goal.add > awaited->workers.size()) return false;
  keep_at_most(pass, goal.add, awaited->workers, awaited->created);
  if (replace_evicted(pass, awaited->workers, awaited->created)) return false;
  if (ready_of(pass, awaited->workers) == awaited->workers) return false;
  if (may_join(pass, awaited->workers, 0, awaited->ready_time, Time::max()) > 0) return false;
  const bool all_exist = awaited->created == awaited->workers;
  if (pass.now < awaited->deadline)
    pass.wake_at(awaited->deadline);
  else if (!all_exist || pass.spec.resize.on_timeout == OnTimeout::Fail)
    return false;
  create_missing(pass, awaited->workers);
  return true;
}

}  // namespace emj::resizing
