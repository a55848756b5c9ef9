// SPDX-License-Identifier: Apache-2.0
#include "runtime/queue/queue.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "runtime/queue/packing.hpp"

namespace empi::queue {
namespace {

constexpr double kPortion = 4;        // a chunk is so small a part of a worker's share of what is queued
constexpr double kShortest = 500e-6;  // s: chunks are at least so long, where that many tasks are left
constexpr double kLongest = 100e-3;   // s: and at most so long, if more than one task
constexpr double kMessages = 10'000;  // a second: so many chunks of all workers, or they are longer

}  // namespace

void TaskTimes::add(const TaskTimes& other) {
  tasks += other.tasks;
  seconds += other.seconds;
  squares += other.squares;
}

double TaskTimes::deviation() const {
  if (tasks < 2) return 0;
  const double n = static_cast<double>(tasks);
  return std::sqrt(std::max(0.0, (squares - seconds * seconds / n) / (n - 1)));
}

TaskQueue::TaskQueue(std::int64_t total) : done_(static_cast<std::size_t>(total)), queued_(total) {
  if (total > 0) free_.push_back({0, total});
}

std::int64_t TaskQueue::chunk_size(int workers) const {
  const double mean = times_.mean();
  if (times_.tasks == 0) return 1;  // the first ones tell how long they take
  const double share = static_cast<double>(queued_) / std::max(1, workers);
  double size = share / kPortion;
  if (mean * size < kShortest) size = std::min(mean > 0 ? kShortest / mean : share, share / 2);
  const double longest = std::max(kLongest, workers / kMessages);
  if (mean * size > longest) size = longest / mean;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(size));
}

std::optional<Range> TaskQueue::take(const WorkerId& worker, int workers) {
  if (free_.empty()) return std::nullopt;
  const auto mine = held_.find(worker);
  const std::size_t has = mine == held_.end() ? 0 : mine->second.size();
  // Towards the end nobody may sit on a task that another could do at once.
  if (has >= kInFlight || (has > 0 && queued_ <= workers)) return std::nullopt;
  Range& front = free_.front();
  const Range chunk{front.first, std::min(front.count, chunk_size(workers))};
  front.first += chunk.count;
  front.count -= chunk.count;
  if (front.count == 0) free_.pop_front();
  queued_ -= chunk.count;
  held_[worker].push_back(chunk);
  return chunk;
}

std::vector<Range> TaskQueue::done(const WorkerId& worker, Range tasks, const TaskTimes& times) {
  std::vector<Range> fresh;
  if (tasks.first < 0 || tasks.count < 0 || tasks.end() > total())
    throw std::runtime_error("worker " + worker + " reports tasks " + std::to_string(tasks.first) + " to " +
                             std::to_string(tasks.end()) + " of " + std::to_string(total()));
  if (auto mine = held_.find(worker); mine != held_.end()) {
    std::vector<Range> rest;
    for (const Range& range : mine->second) {  // what is left of it before and after `tasks`
      const std::int64_t before = std::min(range.end(), tasks.first),
                         after = std::max(range.first, tasks.end());
      if (before > range.first) rest.push_back({range.first, before - range.first});
      if (range.end() > after) rest.push_back({after, range.end() - after});
    }
    mine->second = std::move(rest);
    if (mine->second.empty()) held_.erase(mine);
  }
  for (std::int64_t task = tasks.first; task < tasks.end(); ++task) {
    if (is_done(task)) continue;
    done_[static_cast<std::size_t>(task)] = true;
    ++completed_;
    if (!fresh.empty() && fresh.back().end() == task)
      ++fresh.back().count;
    else
      fresh.push_back({task, 1});
  }
  times_.add(times);
  return fresh;
}

// Given out first: whoever waits for the end of the phase waits for these.
void TaskQueue::requeue(Range tasks) {
  if (tasks.count == 0) return;
  free_.push_front(tasks);
  queued_ += tasks.count;
}

std::int64_t TaskQueue::give_back(const WorkerId& worker) { return keep_only(worker, {}); }

std::int64_t TaskQueue::keep_only(const WorkerId& worker, const std::vector<Range>& kept) {
  const auto mine = held_.find(worker);
  if (mine == held_.end()) return 0;
  const auto is_kept = [&](std::int64_t task) {
    return std::ranges::any_of(kept, [&](const Range& k) { return task >= k.first && task < k.end(); });
  };
  std::int64_t back = 0;
  std::vector<Range> still;
  for (const Range& range : mine->second)
    for (std::int64_t task = range.first; task < range.end();) {
      const bool keep = is_kept(task);
      std::int64_t end = task + 1;
      while (end < range.end() && is_kept(end) == keep) ++end;
      if (keep) {
        still.push_back({task, end - task});
      } else {
        requeue({task, end - task});
        back += end - task;
      }
      task = end;
    }
  mine->second = std::move(still);
  if (mine->second.empty()) held_.erase(mine);
  return back;
}

std::int64_t TaskQueue::in_work() const {
  std::int64_t tasks = 0;
  for (const auto& [worker, ranges] : held_)
    for (const Range& range : ranges) tasks += range.count;
  return tasks;
}

std::vector<Range> TaskQueue::held(const WorkerId& worker) const {
  const auto mine = held_.find(worker);
  return mine == held_.end() ? std::vector<Range>{} : mine->second;
}

std::vector<std::byte> TaskQueue::pack() const {
  Packer out;
  std::vector<Range> finished;
  for (std::int64_t task = 0; task < total(); ++task) {
    if (!is_done(task)) continue;
    if (!finished.empty() && finished.back().end() == task)
      ++finished.back().count;
    else
      finished.push_back({task, 1});
  }
  out.put(total());
  out.list(finished);
  out.list(free_);
  out.put(static_cast<std::uint64_t>(held_.size()));
  for (const auto& [worker, ranges] : held_) {
    out.put(worker);
    out.list(ranges);
  }
  out.put(times_);
  return out.take();
}

TaskQueue TaskQueue::unpack(std::span<const std::byte> bytes) {
  Unpacker in(bytes);
  const auto total = in.get<std::int64_t>();
  const auto ranges = [&]() {
    auto list = in.list<std::vector<Range>>();
    for (const Range& range : list)
      if (range.first < 0 || range.count < 0 || range.first > total - range.count)
        throw std::runtime_error("a queue of tasks that was handed over names tasks it has not");
    return list;
  };
  TaskQueue queue(total);
  for (const Range& range : ranges()) {
    queue.completed_ += range.count;
    for (std::int64_t t = range.first; t < range.end(); ++t) queue.done_[static_cast<std::size_t>(t)] = true;
  }
  const auto free = ranges();
  queue.free_.assign(free.begin(), free.end());
  queue.queued_ = 0;
  for (const Range& range : free) queue.queued_ += range.count;
  for (auto n = in.get<std::uint64_t>(); n > 0; --n) {
    std::string worker = in.text();
    queue.held_[std::move(worker)] = ranges();
  }
  queue.times_ = in.get<TaskTimes>();
  return queue;
}

}  // namespace empi::queue
