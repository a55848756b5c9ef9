// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/asking_crews.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

namespace emj {

AskingCrews::AskingCrews(CrewSizes sizes) {
  const std::array<int, 4> threads{sizes.news, sizes.quick, sizes.slow, sizes.stops};
  for (std::size_t crew = 0; crew < crews_.size(); ++crew) crews_[crew].threads = threads[crew];
  for (std::size_t crew = 0; crew < crews_.size(); ++crew)
    for (int i = 0; i < threads[crew]; ++i) threads_.emplace_back([this, crew] { work(crews_[crew]); });
}

AskingCrews::~AskingCrews() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  for (Crew& crew : crews_) crew.called.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void AskingCrews::work(Crew& crew) {
  std::unique_lock lock(mutex_);
  while (true) {
    std::optional<Waiting> taken;
    crew.called.wait(lock, [&] { return stopping_ || (taken = next(crew)); });
    if (stopping_) return;
    ++crew.busy;
    lock.unlock();
    taken->question();
    taken->question = nullptr;
    lock.lock();
    --crew.busy;
    if (taken->lane == AskingLane::Stops) ended_stop(taken->job);
  }
}

std::optional<AskingCrews::Waiting> AskingCrews::next(const Crew& crew) {
  for (const AskingLane lane : crew.lanes) {
    auto& waiting = in(lane);
    if (waiting.empty()) continue;
    const auto first = lane == AskingLane::Stops ? next_stop() : waiting.begin();
    Waiting taken = std::move(*first);
    waiting.erase(first);
    if (lane == AskingLane::Stops) ++being_ended_[taken.job.namespace_name];
    return taken;
  }
  return std::nullopt;
}

std::deque<AskingCrews::Waiting>::iterator AskingCrews::next_stop() {
  return std::ranges::min_element(in(AskingLane::Stops), {}, [&](const Waiting& waiting) {
    const auto found = being_ended_.find(waiting.job.namespace_name);
    return std::tuple(waiting.cost_time, found == being_ended_.end() ? 0 : found->second);
  });
}

void AskingCrews::ended_stop(const JobKey& job) {
  const auto found = being_ended_.find(job.namespace_name);
  if (--found->second == 0) being_ended_.erase(found);
}

void AskingCrews::queue(Waiting waiting) {
  const AskingLane lane = waiting.lane;
  in(lane).push_back(std::move(waiting));
  for (Crew& crew : crews_)
    if (std::ranges::find(crew.lanes, lane) != crew.lanes.end()) crew.called.notify_one();
}

bool AskingCrews::has_room(AskingLane lane) const {
  int free = 0;
  std::set<AskingLane> before;
  for (const Crew& crew : crews_) {
    const auto served = std::ranges::find(crew.lanes, lane);
    if (served == crew.lanes.end()) continue;
    free += crew.threads - crew.busy;
    before.insert(crew.lanes.begin(), std::next(served));
  }
  for (const AskingLane other : before) free -= static_cast<int>(in(other).size());
  return free > 0;
}

bool AskingCrews::put(const JobKey& job, AskingLane lane, Question question) {
  const std::lock_guard lock(mutex_);
  const bool at_once = has_room(lane);
  queue({job, lane, std::move(question)});
  return at_once;
}

void AskingCrews::put_stop(const JobKey& job, bool cost_time, Question question) {
  const std::lock_guard lock(mutex_);
  queue({job, AskingLane::Stops, std::move(question), cost_time});
}

bool AskingCrews::drop_stop(const JobKey& job) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(in(AskingLane::Stops), [&](const Waiting& waiting) { return waiting.job == job; }) > 0;
}

void AskingCrews::hurry(const JobKey& job) {
  const std::lock_guard lock(mutex_);
  std::deque<Waiting> rest;
  for (Waiting& waiting : std::exchange(in(AskingLane::Looks), {})) {
    if (waiting.job == job) {
      waiting.lane = AskingLane::News;
      queue(std::move(waiting));
    } else {
      rest.push_back(std::move(waiting));
    }
  }
  in(AskingLane::Looks) = std::move(rest);
}

}  // namespace emj
