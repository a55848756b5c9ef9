// SPDX-License-Identifier: Apache-2.0
#include "runtime/queue/participant.hpp"

#include <stdexcept>

namespace empi::queue {

Participant::Participant(WorkerId self, std::string host, std::optional<std::string> pod)
    : self_(std::move(self)), host_(std::move(host)), pod_(pod ? *pod : self_) {}

Participant::~Participant() = default;

void Participant::be_master(int others) {
  auto master = std::make_shared<Master>(self_, host_, others, pod_);
  const std::string address = master->address().text();
  {
    const std::lock_guard lock(mutex_);
    master_ = std::move(master);
    if (leaving_) master_->leave(*leaving_, preferred_);
    master_->on_progress(on_progress_);
  }
  if (on_master_) on_master_(address);
  master_->on_mirror(on_mirror_);
}

void Participant::be_worker(const std::string& master, bool joining) {
  auto worker = std::make_shared<Worker>(self_, Address::parse(master),
                                         joining ? Newcomer::Joiner : Newcomer::Member, host_, pod_);
  const std::lock_guard lock(mutex_);
  worker_ = std::move(worker);
  if (leaving_) worker_->leave();
}

std::optional<Bytes> Participant::await_values() {
  auto values = worker_->await_values();
  if (!values) return std::nullopt;
  phases_ = values->phase - 1;
  return std::move(values->bytes);
}

Outcome Participant::phase(std::int64_t tasks, std::int64_t width, const Task& task,
                           const std::function<Bytes()>& values) {
  const Phase phase{++phases_, tasks, width};
  if (master_) return master_->run(phase, values(), task);
  Worker::End end = worker_->run(phase, task);
  if (!end.handover) return end.outcome;
  take_over(std::move(*end.handover), values());
  return master_->resume(task);
}

void Participant::take_over(Handover handover, Bytes values) {
  const std::int64_t offered_ns = handover.since_ns;
  auto master = std::make_shared<Master>(self_, host_, std::move(handover), std::move(values), pod_);
  const std::string address = master->address().text();
  {
    const std::lock_guard lock(mutex_);
    change_before_ns_ += worker_->change_ns() + now_ns() - offered_ns;
    idle_before_ += worker_->idle_seconds();
    // Since the handover was made the worker alone may have heard of one.
    for (const WorkerId& id : worker_->all_lost()) master->lost(id);
    worker_.reset();
    master_ = std::move(master);
    master_->use_world(world_);
    if (leaving_) master_->leave(*leaving_, preferred_);
    master_->on_progress(on_progress_);
  }
  if (on_master_) on_master_(address);
  master_->on_mirror(on_mirror_);
}

void Participant::use_world(WorldMaker maker) {
  const std::lock_guard lock(mutex_);
  world_ = std::move(maker);
  if (master_) master_->use_world(world_);
  if (worker_) worker_->use_world(world_);
}

void Participant::world_built(const std::string& name, const std::string& error) {
  const std::lock_guard lock(mutex_);
  if (master_) master_->world_built(name, error);
  if (worker_) worker_->world_built(name, error);
}

void Participant::finish() {
  if (worker_) worker_->finish();
  retire();
  if (master_) master_->close();
}

void Participant::break_down() {
  retire();
  const std::lock_guard lock(mutex_);
  master_.reset();
}

void Participant::retire() {
  std::shared_ptr<Worker> worker;  // ends without the lock
  const std::lock_guard lock(mutex_);
  worker = std::move(worker_);
  if (!worker) return;
  change_before_ns_ += worker->change_ns();
  idle_before_ += worker->idle_seconds();
}

void Participant::leave(std::set<WorkerId> leaving, WorkerId preferred) {
  const std::lock_guard lock(mutex_);
  leaving_ = std::move(leaving);
  preferred_ = std::move(preferred);
  if (master_) master_->leave(*leaving_, preferred_);
  if (worker_) worker_->leave();
}

void Participant::lost(const WorkerId& worker, const WorkerId& next) {
  const std::lock_guard lock(mutex_);
  if (master_) master_->lost(worker);
  if (worker_) worker_->lost(worker, next);
}

bool Participant::is_master() const {
  const std::lock_guard lock(mutex_);
  return master_ != nullptr;
}

std::optional<MasterFigures> Participant::figures() const {
  const std::lock_guard lock(mutex_);
  if (!master_) return std::nullopt;
  return master_->figures();
}

std::int64_t Participant::change_ns() const {
  const std::lock_guard lock(mutex_);
  return change_before_ns_ + (master_ ? master_->change_ns() : worker_ ? worker_->change_ns() : 0);
}

double Participant::idle_seconds() const {
  const std::lock_guard lock(mutex_);
  return idle_before_ + (master_ ? master_->idle_seconds() : worker_ ? worker_->idle_seconds() : 0);
}

}  // namespace empi::queue
