// SPDX-License-Identifier: Apache-2.0
// A master that leaves hands the queue over to a worker, and the workers go there, while tasks are done.
//
//   M -> S  TakeOver   the queue, the results so far, who works on what
//   S -> M  Ready      S listens
//   M -> *  Moved      the other workers' next stop; each goes there with the chunks it has, then says Bye
//   M -> S  Forward    results that still come to M
//   M -> S  HandedOver everybody has gone over and M's last results are on their way; M leaves
#include <algorithm>

#include "runtime/queue/master.hpp"

namespace empi::queue {

// Until it is accepted nothing changes: M keeps its books as before, but gives nothing out.
void Master::offer() {
  const bool preferred_is_there = std::ranges::any_of(peers_, [&](const auto& p) {
    return p.second.welcome && !p.second.leaving && p.second.id == preferred_;
  });
  for (auto& [fd, peer] : peers_) {
    if (!peer.welcome || peer.leaving || peer.phase != phase_ || leaving_.contains(peer.id)) continue;
    if (preferred_is_there && peer.id != preferred_) continue;
    drop_mirror();
    HandoverState state{phase_, queue_, *results_, {}, self_};
    for (const auto& [other_fd, other] : peers_)
      if (other.welcome && !other.leaving) state.workers.insert(other.id);
    say(peer, {.kind = Kind::TakeOver, .phase = phase_.number}, state.pack());
    successor_ = peer.id;
    handing_ = Handing::Offered;
    hurry_ = true;
    return;
  }
}

// The worker does not answer, it is gone: another one.
void Master::withdraw_offer() {
  if (handing_ != Handing::Offered) return;
  look_at_all_ = true;
  handing_ = Handing::Wanted;
  successor_.clear();
  forwards_.clear();
  hurry_ = main_idle_ = false;
}

void Master::on_ready(Peer& peer, const Message& message) {
  if (peer.id != successor_ || handing_ != Handing::Offered) return;
  successor_address_ = message.text();
  handing_ = Handing::Moving;
  for (auto& [fd, other] : peers_)
    if (other.welcome && other.id != successor_) move(other);
}

void Master::move(Peer& peer) {
  say(peer, {.kind = Kind::Moved, .count = queue_.queued()}, bytes_of(successor_address_));
}

void Master::send_forwards() {
  for (auto& [fd, peer] : peers_) {
    if (!peer.welcome || peer.id != successor_) continue;
    for (Message& message : forwards_) say(peer, message.head, std::move(message.payload));
    forwards_.clear();
  }
}

void Master::finish_hand_over() {
  const auto is_other = [&](const auto& p) { return p.second.welcome && p.second.id != successor_; };
  if (!main_idle_ || !forwards_.empty() || std::ranges::any_of(peers_, is_other)) return;
  for (auto& [fd, peer] : peers_)
    if (peer.welcome && peer.id == successor_) {
      say(peer, {.kind = Kind::HandedOver});
      handing_ = Handing::Told;
    }
}

// At the next master: nothing comes from the old one any more. What it or somebody else was said to have and
// has not is given out again (when the old master died; else there is nothing of the kind but its own).
void Master::predecessor_gone() {
  has_predecessor_ = false;
  size_changes();
  expected_.clear();
  unheard_.clear();
  std::map<WorkerId, std::vector<Range>> given{{self_, own_given_}};
  for (const auto& [fd, peer] : peers_)
    if (peer.welcome) given[peer.id] = peer.given;
  const auto holders = queue_.holders();
  for (const auto& [worker, ranges] : holders) queue_.keep_only(worker, given[worker]);
  own_given_.clear();
}

}  // namespace empi::queue
