// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/asking_crews.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace emj {
namespace {

bool ends_a_program(AskingLane lane) { return lane == AskingLane::Stops || lane == AskingLane::SlowStops; }

}  // namespace

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
    if (ends_a_program(taken->lane)) ended_stop(taken->job);
  }
}

std::optional<AskingCrews::Waiting> AskingCrews::next(const Crew& crew) {
  for (const AskingLane lane : crew.lanes) {
    auto& waiting = in(lane);
    if (waiting.empty()) continue;
    const auto first = ends_a_program(lane) ? next_stop(lane) : waiting.begin();
    Waiting taken = std::move(*first);
    waiting.erase(first);
    if (ends_a_program(lane)) ++being_ended_[taken.job.namespace_name];
    return taken;
  }
  return std::nullopt;
}

std::deque<AskingCrews::Waiting>::iterator AskingCrews::next_stop(AskingLane lane) {
  return std::ranges::min_element(in(lane), {}, [&](const Waiting& waiting) {
    const auto found = being_ended_.find(waiting.job.namespace_name);
    return found == being_ended_.end() ? 0 : found->second;
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

void AskingCrews::put_stop(const JobKey& job, bool can_wait, Question question) {
  const std::lock_guard lock(mutex_);
  queue({job, can_wait ? AskingLane::SlowStops : AskingLane::Stops, std::move(question)});
}

void AskingCrews::hurry_stop(const JobKey& job) {
  const std::lock_guard lock(mutex_);
  auto& slow = in(AskingLane::SlowStops);
  const auto its = std::ranges::find(slow, job, &Waiting::job);
  if (its == slow.end()) return;
  Waiting stop = std::move(*its);
  slow.erase(its);
  slow.push_front(std::move(stop));
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
