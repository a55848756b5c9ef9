// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/order.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "operator/decide/queue/urgent.hpp"

namespace emj::queue {
namespace {

struct Place {
  int job;
  int priority;
  bool overdue;
  bool urgent;
  Time key;
};

int weight_of(const FairShare& shares, const std::string& name) {
  const auto found = shares.weights.find(name);
  return found == shares.weights.end() ? 100 : found->second;
}

}  // namespace

bool overdue(const QueueState& state, const Demand& job, Time now) {
  const Seconds bound = state.rules.order.max_wait;
  return bound.count() > 0 && now - job.since > bound;
}

double share_penalty(const QueueState& state, const std::string& namespace_name) {
  const FairShare& shares = state.rules.order.fair_share;
  if (!shares.by_namespace) return 0;
  // Among those that have something or want something: what others have used is forgotten slowly, and who
  // has gone has no share.
  std::set<std::string> names{namespace_name};
  for (const Demand& job : state.jobs) names.insert(job.namespace_name);
  double used = 0;
  double weights = 0;
  for (const std::string& name : names) {
    const auto found = state.usage.find(name);
    used += found == state.usage.end() ? 0 : found->second;
    weights += weight_of(shares, name);
  }
  const auto own = state.usage.find(namespace_name);
  if (used <= 0 || own == state.usage.end()) return 0;
  const double share = own->second / used;
  const double due = weight_of(shares, namespace_name) / weights;
  const double excess = std::clamp(share / due - 1, 0.0, 1.0);
  return static_cast<double>(shares.penalty.count()) * std::floor(excess * 10) / 10;
}

std::vector<int> waiting_order(const QueueState& state, Time now) {
  std::map<std::string, double> penalties;
  const bool shares = state.rules.order.fair_share.by_namespace;
  std::vector<Place> places;
  for (int i = 0; i < static_cast<int>(state.jobs.size()); ++i) {
    const Demand& job = state.jobs[i];
    // With pods of its last attempt still there it would hold more than it is given.
    if (!job.queued() || job.allocation.promised > 0 || !job.written || job.held > 0) continue;
    Time key = job.since;
    if (shares) {
      const auto [found, fresh] = penalties.try_emplace(job.namespace_name);
      if (fresh) found->second = share_penalty(state, job.namespace_name);
      key = after(key, found->second);
    }
    places.push_back({i, job.priority, overdue(state, job, now), is_urgent(state, job, now), key});
  }
  const auto before = [](const Place& a, const Place& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.overdue != b.overdue) return a.overdue;
    if (a.urgent != b.urgent) return a.urgent;
    return a.key < b.key;
  };
  // Mostly they are in order as they come.
  if (!std::is_sorted(places.begin(), places.end(), before))
    std::stable_sort(places.begin(), places.end(), before);
  std::vector<int> order;
  order.reserve(places.size());
  for (const Place& place : places) order.push_back(place.job);
  return order;
}

}  // namespace emj::queue
