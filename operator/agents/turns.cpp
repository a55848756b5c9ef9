// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/turns.hpp"

#include <algorithm>

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
  std::vector<Waiting*> order;
  for (Waiting& waiting : line_) order.push_back(&waiting);
  std::ranges::stable_sort(order, {}, [&](const Waiting* waiting) { return held(waiting->job); });
  return order;
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
  return false;
}

void Turns::leave(const JobKey& job) {
  const auto found = held_.find(job.namespace_name);
  if (found != held_.end() && --found->second == 0) held_.erase(found);
}

std::vector<JobKey> Turns::call(Instant now) {
  std::vector<JobKey> called;
  const auto order = this->order();
  for (std::size_t i = 0; i < std::min(free(), order.size()); ++i) {
    if (order[i]->called) continue;
    order[i]->called = now;
    called.push_back(order[i]->job);
  }
  return called;
}

void Turns::forget(const JobKey& job) {
  std::erase_if(line_, [&](const Waiting& waiting) { return waiting.job == job; });
}

}  // namespace emj
