// SPDX-License-Identifier: Apache-2.0
// A world of MPI for the ranks that take part, where some have come or gone (decision R8). While the last
// tasks of a phase are done, all build it in the background; the phase's end waits for them. What comes or
// wants to go meanwhile does so in the next phase.
//
//   M -> *  World   build it. A rank was lost meanwhile, or left before it knew: another World
//   * -> M  Built
//   M -> *  Adopt   all have built it, and the tasks are done; Results follow
#include <algorithm>

#include "runtime/queue/master.hpp"
#include "runtime/queue/packing.hpp"

namespace empi::queue {
namespace {

constexpr int kMostFailures = 5;  // to build one, in a phase. That of a worker that dies is noticed at once

}  // namespace

void Master::use_world(WorldMaker maker) {
  const std::lock_guard lock(mutex_);
  maker_ = std::move(maker);
}

void Master::world_built(const std::string& name, const std::string& error) {
  {
    const std::lock_guard lock(mutex_);
    on_built(self_, name, error);
  }
  wakeup_.notify();
}

// Who gets the results: the master is rank 0, the others are in the order of their ids.
const std::vector<WorkerId>& Master::present() {
  if (present_) return *present_;
  std::set<WorkerId> others;
  for (const auto& [fd, peer] : peers_)
    if (peer.welcome && peer.informed && !peer.leaving) others.insert(peer.id);
  std::vector<WorkerId>& ranks = present_.emplace({self_});
  ranks.insert(ranks.end(), others.begin(), others.end());
  return ranks;
}

// Whether the world, as far as it is concerned, lets the phase end. Begins to build one when that is near.
bool Master::world_is_ready() {
  if (!maker_.build || !changed_size_) return true;
  if (queue_.queued() > 0 || !all_known() || !expected_.empty()) return false;
  const std::vector<WorkerId>& ranks = present();
  if (ranks == world_ranks_) return true;
  if (ranks != proposed_) propose_world(ranks);
  return built_.size() == proposed_.size();
}

void Master::propose_world(std::vector<WorkerId> ranks) {
  proposed_ = std::move(ranks);
  proposed_name_ = self_ + "." + std::to_string(++worlds_);
  built_.clear();
  Packer out;
  out.put(proposed_name_);
  out.list(proposed_);
  const auto payload = std::make_shared<const Bytes>(out.take());
  for (auto& [fd, peer] : peers_)
    if (peer.welcome && peer.informed && !peer.leaving)
      say(peer, {.kind = Kind::World, .phase = phase_.number}, payload);
  maker_.build(proposed_name_, proposed_);
}

void Master::on_built(const WorkerId& worker, const std::string& name, const std::string& error) {
  if (name != proposed_name_ || announced_) return;
  if (error.empty()) {
    built_.insert(worker);
    return;
  }
  look_at_all_ = true;
  proposed_.clear();  // again, perhaps without somebody who is gone
  proposed_name_.clear();
  built_.clear();
  if (++worlds_failed_ >= kMostFailures)
    error_ = "the world could not be rebuilt at the end of a phase, " + std::to_string(worlds_failed_) +
             " times; the last time worker " + worker + " said: " + error;
}

void Master::adopt_world() {
  if (proposed_.empty()) return;
  if (present() == world_ranks_) {  // those that were to be in a new one have gone
    proposed_.clear();
    proposed_name_.clear();
    built_.clear();
    return;
  }
  for (auto& [fd, peer] : peers_)
    if (peer.welcome && peer.informed && !peer.leaving)
      say(peer, {.kind = Kind::Adopt, .phase = phase_.number}, bytes_of(proposed_name_));
  world_ranks_ = std::exchange(proposed_, {});
  adopt_ = std::exchange(proposed_name_, "");
  built_.clear();
  worlds_failed_ = 0;
}

}  // namespace empi::queue
