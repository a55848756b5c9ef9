// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/turns.hpp"

#include <algorithm>
#include <utility>

namespace emj {
namespace {

constexpr std::chrono::seconds kComes{10};  // after it was called: a pass over the job, with a slow look

}  // namespace

int Turns::held(const JobKey& job) const {
  const auto found = held_.find(job.namespace_name);
  return found == held_.end() ? 0 : found->second;
}

std::size_t Turns::free() const {
  int left = places_;
  for (const auto& [name, count] : held_) left -= count;
  return static_cast<std::size_t>(std::max(0, left));
}

std::vector<Turns::Waiting*> Turns::order() {
  std::map<std::string, int> before;  // called ones of a namespace
  std::vector<std::pair<int, Waiting*>> order;
  for (Waiting& waiting : line_) {
    int& called = before[waiting.job.namespace_name];
    order.emplace_back(held(waiting.job) + called, &waiting);
    called += waiting.called.has_value();
  }
  std::ranges::stable_sort(order, {}, &std::pair<int, Waiting*>::first);
  std::vector<Waiting*> waiting;
  for (const auto& [count, one] : order) waiting.push_back(one);
  return waiting;
}

bool Turns::take(const JobKey& job, Instant now) {
  std::erase_if(line_, [&](const Waiting& waiting) {
    return waiting.job != job && waiting.called && now - *waiting.called >= kComes;
  });
  if (std::ranges::find(line_, job, &Waiting::job) == line_.end()) line_.push_back({job});
  const auto order = this->order();
  const auto own = std::ranges::find(order, job, &Waiting::job);
  if (static_cast<std::size_t>(own - order.begin()) < free()) {
    forget(job);
    ++held_[job.namespace_name];
    return true;
  }
  (*own)->called.reset();
  (*own)->tried = true;
  return false;
}

void Turns::leave(const JobKey& job) {
  const auto found = held_.find(job.namespace_name);
  if (found != held_.end() && --found->second == 0) held_.erase(found);
}

std::vector<JobKey> Turns::call(Instant now) {
  std::vector<JobKey> called;
  for (std::size_t i = 0; i < std::min(free(), line_.size()); ++i) {
    Waiting* const next = order()[i];
    if (next->called) continue;
    next->called = now;
    called.push_back(next->job);
  }
  return called;
}

bool Turns::pass(const JobKey& job) {
  const auto waiting = std::ranges::find(line_, job, &Waiting::job);
  if (waiting == line_.end() || std::exchange(waiting->tried, false)) return false;
  line_.erase(waiting);
  return true;
}

bool Turns::forget(const JobKey& job) {
  return std::erase_if(line_, [&](const Waiting& waiting) { return waiting.job == job; }) > 0;
}

}  // namespace emj
