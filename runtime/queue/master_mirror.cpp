// SPDX-License-Identifier: Apache-2.0
// The master's part of mirroring the queue (mirror.hpp), and how a mirror begins as the master.
#include <algorithm>
#include <utility>

#include "runtime/queue/master.hpp"

namespace empi::queue {

void Master::on_mirror(std::function<void(const WorkerId&)> call) {
  const std::lock_guard lock(mutex_);
  on_mirror_ = std::move(call);
  if (!mirror_address_.empty() && !mirror_is_news_ && on_mirror_) on_mirror_(peers_.at(mirror_).id);
}

// What a worker has to know for the case that we are lost.
Bytes Master::successor() const {
  Packer out;
  out.put(self_);
  out.put(mirror_address_);
  out.put(mirror_address_.empty() ? WorkerId() : peers_.at(mirror_).id);
  return out.take();
}

// It may not have got the results of an earlier phase than the `behind`-th before this one.
bool Master::is_behind(const Peer& peer, std::uint64_t behind) const {
  return peer.welcome && peer.informed && !peer.leaving && peer.knows_until + behind < phase_.number;
}

// One on another pod that is in the phase, and so hears us; once all have the results of the phases before,
// which it could not give them.
void Master::choose_mirror() {
  if (mirrored() || !active_ || announced_ || handing_ != Handing::No || has_predecessor_ ||
      !expected_.empty())
    return;
  for (const int fd : to_look_) {
    const auto at = peers_.find(fd);
    if (at == peers_.end()) continue;
    const Peer& peer = at->second;
    const bool fits = peer.welcome && peer.informed && !peer.leaving && peer.phase == phase_ &&
                      !peer.pod.empty() && peer.pod != pod_ && !lost_.contains(peer.id);
    if (!fits) continue;
    if (std::ranges::any_of(peers_, [this](const auto& p) { return is_behind(p.second, 0); })) return;
    mirror_ = fd;
    mirror_anew_ = true;
    return;
  }
}

void Master::tell_mirror() {
  const auto at = peers_.find(mirror_);
  if (at == peers_.end() || !active_) return;
  Peer& peer = at->second;
  if (std::exchange(mirror_anew_, false)) {
    log_.take();
    HandoverState state{phase_, queue_, queue_.completed() > 0 ? *results_ : Bytes(), expected_, self_};
    for (const auto& [fd, other] : peers_)
      if (other.welcome && !other.leaving) state.workers.insert(other.id);
    say(peer, {.kind = Kind::Mirror, .phase = phase_.number, .first = ++mirror_told_}, state.pack());
  } else if (!log_.empty()) {
    say(peer,
        {.kind = Kind::Mirrored,
         .phase = phase_.number,
         .first = ++mirror_told_,
         .count = queue_.finished() ? 1 : 0},
        log_.take());
  }
}

// What a rank has been told of a phase's results, the next master can tell the others: it keeps those of two
// phases (Worker::keep_results).
bool Master::mirror_has_all() const {
  if (!mirrored()) return true;
  return !mirror_anew_ && log_.empty() && mirror_has_ == mirror_told_ &&
         std::ranges::none_of(peers_, [this](const auto& p) { return is_behind(p.second, 1); });
}

void Master::on_mirrors(Peer& peer, const Message& message) {
  if (peer.connection.fd() != mirror_) return;
  mirror_has_ = message.head.first;
  if (mirror_address_ == message.text()) return;
  mirror_address_ = message.text();
  const auto payload = std::make_shared<const Bytes>(successor());
  for (auto& [fd, other] : peers_)
    if (other.welcome) say(other, {.kind = Kind::Successor}, payload);
  mirror_is_news_ = true;
}

// Whoever hears that there is a mirror relies on it: that the workers know where it is comes first.
void Master::announce_mirror() {
  if (!mirror_is_news_ || std::ranges::any_of(peers_, [](const auto& p) {
        return p.second.welcome && !p.second.connection.delivered();
      }))
    return;
  mirror_is_news_ = false;
  if (on_mirror_) on_mirror_(peers_.at(mirror_).id);
}

void Master::drop_mirror() {
  if (!mirrored()) return;
  mirror_ = -1;
  mirror_anew_ = mirror_is_news_ = false;
  mirror_told_ = mirror_has_ = 0;
  log_.take();
  look_at_all_ = true;
  if (std::exchange(mirror_address_, "").empty()) return;
  const auto payload = std::make_shared<const Bytes>(successor());
  for (auto& [fd, other] : peers_)
    if (other.welcome) say(other, {.kind = Kind::Successor}, payload);
  if (on_mirror_) on_mirror_("");
}

// The master before is lost. The others come with what they have in hand; what the lost ones had, and what of
// ours is not in hand any more (its results were on their way), is given out again.
void Master::begin_in_place_of_lost(std::set<WorkerId> lost) {
  lost_ = std::move(lost);
  lost_.insert(predecessor_);
  queue_.keep_only(self_, in_hand_);
  queue_.give_back(predecessor_);
  forget_lost();
}

// Workers that were expected here and are lost.
void Master::forget_lost() {
  for (const WorkerId& id : lost_) {
    if (!expected_.erase(id)) continue;
    changed_size_ = true;
    queue_.give_back(id);
    if (mirrored()) log_.went(id);
  }
}

}  // namespace empi::queue
