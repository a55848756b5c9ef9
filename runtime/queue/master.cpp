// SPDX-License-Identifier: Apache-2.0
// The master's main thread.
#include "runtime/queue/master.hpp"

#include <algorithm>
#include <stdexcept>

#include "runtime/queue/packing.hpp"

namespace empi::queue {

Master::Master(WorkerId self, const std::string& host, int others, std::string pod)
    : self_(std::move(self)),
      pod_(std::move(pod)),
      listener_(host),
      address_{host, listener_.port(), random_key()},
      others_(static_cast<std::size_t>(others)),
      server_([this] { serve(); }) {}

Master::Master(WorkerId self, const std::string& host, Handover handover, Bytes values, std::string pod)
    : self_(std::move(self)),
      pod_(std::move(pod)),
      listener_(handover.listener ? std::move(*handover.listener) : Listener(host)),
      address_(handover.address.port ? handover.address : Address{host, listener_.port(), random_key()}),
      phase_(handover.state.phase),
      active_(true),
      values_(std::move(values)),
      queue_(std::move(handover.state.queue)),
      results_(std::make_shared<Bytes>(std::move(handover.state.results))),
      in_hand_(handover.in_hand),
      own_given_(std::move(handover.in_hand)),
      early_(std::move(handover.early)),
      has_predecessor_(handover.predecessor.has_value()),
      predecessor_(handover.state.predecessor),
      expected_(std::move(handover.state.workers)),
      unheard_(std::move(handover.past)) {
  expected_.erase(self_);
  workers_ = announced_workers_ = 1 + static_cast<int>(expected_.size());
  changed_size_ = announced_changed_ = true;
  if (handover.predecessor) {
    Peer peer(std::move(*handover.predecessor));
    peer.predecessor = true;
    peer.connection.send({.kind = Kind::Ready}, bytes_of(address_.text()));
    const int fd = peer.connection.fd();
    peers_.emplace(fd, std::move(peer));
  } else {
    begin_in_place_of_lost(std::move(handover.lost));
  }
  wakeup_.notify();
  server_ = std::thread([this] { serve(); });
}

Master::~Master() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wakeup_.notify();
  server_.join();
}

Outcome Master::run(const Phase& phase, Bytes values, const Task& task) {
  {
    const std::lock_guard lock(mutex_);
    phase_ = phase;
    values_ = std::move(values);
    queue_ = TaskQueue(phase.tasks);
    results_ = std::make_shared<Bytes>(static_cast<std::size_t>(phase.tasks * phase.width));
    announced_ = false;
    finished_ns_ = 0;
    active_ = true;
    mirror_anew_ = mirrored();
  }
  wakeup_.notify();
  return resume(task);
}

Outcome Master::resume(const Task& task) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!error_.empty()) throw std::runtime_error(error_);
    if (announced_) {
      active_ = false;
      const Outcome outcome{false, results_, announced_workers_, announced_changed_};
      const std::string adopt = std::exchange(adopt_, "");
      lock.unlock();
      if (!adopt.empty()) maker_.adopt(adopt);
      return outcome;
    }
    if (handing_ == Handing::Done) return {true, nullptr, 0};
    const auto chunk = take_own();
    if (on_progress_) on_progress_(phase_, now());
    if (chunk) {
      if (maker_.build && queue_.queued() == 0)
        wakeup_.notify();  // time to build the world, while we compute
      lock.unlock();
      const Portion portion = compute(*chunk, phase_.width, task, [this] { return hurry_.load(); });
      lock.lock();
      record(self_, portion.tasks, portion.times, portion.results);
      // Otherwise the next master gives the rest out, or we do when it does not come to that.
      if (portion.tasks.count < chunk->count)
        in_hand_.insert(in_hand_.begin(), {portion.tasks.end(), chunk->end() - portion.tasks.end()});
      if (hands_over() || queue_.finished()) wakeup_.notify();
      if (mirrored()) log_wakeup_.notify();
      continue;
    }
    if (hands_over() && !main_idle_) {
      main_idle_ = true;
      wakeup_.notify();
    }
    const std::int64_t start = now_ns();
    const bool for_a_change = hands_over() || waits_for_world();
    changed_.wait(lock);
    const std::int64_t waited = now_ns() - start;
    idle_.add(waited);
    if (for_a_change) changes_.add(waited);
  }
}

std::optional<Range> Master::take_own() {
  if (hands_over()) return std::nullopt;
  if (!in_hand_.empty()) {  // from before we were the master
    const Range chunk = in_hand_.front();
    in_hand_.erase(in_hand_.begin());
    return chunk;
  }
  const auto chunk = queue_.take(self_, workers_);
  if (chunk && mirrored()) log_.took(self_, workers_);
  if (chunk && has_predecessor_) own_given_.push_back(*chunk);
  return chunk;
}

void Master::record(const WorkerId& worker, Range tasks, const TaskTimes& times,
                    std::span<const std::byte> results) {
  record_results(queue_, *results_, phase_.width, worker, tasks, times, results);
  if (mirrored()) log_.did(worker, tasks, times, results);
  if (finished_ns_ == 0 && queue_.finished()) finished_ns_ = now_ns();
  if (!hands_over()) return;
  // The next master waits for it.
  Packer out;
  out.put(worker);
  out.raw(results);
  forwards_.push_back({{.kind = Kind::Forward,
                        .phase = phase_.number,
                        .first = tasks.first,
                        .count = tasks.count,
                        .times = times},
                       out.take()});
}

void Master::close() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  wakeup_.notify();
  changed_.wait(lock, [&] { return stop_; });
}

void Master::leave(std::set<WorkerId> leaving, WorkerId preferred) {
  {
    const std::lock_guard lock(mutex_);
    if (handing_ != Handing::No) return;
    leaving_ = std::move(leaving);
    preferred_ = std::move(preferred);
    handing_ = Handing::Wanted;
  }
  wakeup_.notify();
}

void Master::lost(const WorkerId& worker) {
  {
    const std::lock_guard lock(mutex_);
    lost_.insert(worker);
  }
  wakeup_.notify();
}

MasterFigures Master::figures() const {
  const std::lock_guard lock(mutex_);
  return now();
}

std::uint64_t Master::looks() const {
  const std::lock_guard lock(mutex_);
  return looks_;
}

MasterFigures Master::now() const {
  return {queue_.total(), queue_.completed(), queue_.queued(), queue_.times(), workers_};
}

}  // namespace empi::queue
