// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/asking_crews.hpp"

#include <algorithm>
#include <utility>

namespace emj {

AskingCrews::AskingCrews(CrewSizes sizes) {
  const std::array<int, 4> threads{sizes.news, sizes.quick, sizes.slow, sizes.stops};
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
    Question question;
    crew.called.wait(lock, [&] { return stopping_ || (question = next(crew)); });
    if (stopping_) return;
    lock.unlock();
    question();
    question = nullptr;
    lock.lock();
  }
}

AskingCrews::Question AskingCrews::next(const Crew& crew) {
  for (const AskingLane lane : crew.lanes) {
    if (in(lane).empty()) continue;
    Question question = std::move(in(lane).front().question);
    in(lane).pop_front();
    return question;
  }
  return nullptr;
}

void AskingCrews::queue(Waiting waiting, AskingLane lane) {
  in(lane).push_back(std::move(waiting));
  for (Crew& crew : crews_)
    if (std::ranges::find(crew.lanes, lane) != crew.lanes.end()) crew.called.notify_one();
}

void AskingCrews::put(const JobKey& job, AskingLane lane, Question question) {
  const std::lock_guard lock(mutex_);
  queue({job, std::move(question)}, lane);
}

void AskingCrews::hurry(const JobKey& job) {
  const std::lock_guard lock(mutex_);
  std::deque<Waiting> rest;
  for (Waiting& waiting : std::exchange(in(AskingLane::Looks), {})) {
    if (waiting.job == job)
      queue(std::move(waiting), AskingLane::News);
    else
      rest.push_back(std::move(waiting));
  }
  in(AskingLane::Looks) = std::move(rest);
}

}  // namespace emj
