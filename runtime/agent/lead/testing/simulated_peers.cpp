// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/testing/simulated_peers.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "runtime/agent/lead/testing/coverage.hpp"
#include "runtime/agent/lead/testing/simulated_pod.hpp"
#include "runtime/base/backoff.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/protocol/cbor.hpp"

namespace empi::agent::histories {
namespace {

using namespace std::chrono_literals;

constexpr Ms kReadTimeout = 5s, kConnectTimeout = 2s;

template <std::size_t... I>
std::size_t kind_of(std::string_view op, std::index_sequence<I...>) {
  constexpr std::array kOps = {std::variant_alternative_t<I, Message>::kOp...};
  return static_cast<std::size_t>(std::ranges::find(kOps, op) - kOps.begin());
}

std::vector<std::size_t> kinds_of(const Batch& batch) {
  std::vector<std::size_t> kinds;
  for (const std::string& message : batch.messages) {
    wire::CborReader in(message);
    wire::CborMembers(in).find("op");
    kinds.push_back(kind_of(in.text(), std::make_index_sequence<std::variant_size_v<Message>>{}));
  }
  return kinds;
}

}  // namespace

SimulatedPeers::SimulatedPeers(World& world, SimulatedPod& own, std::vector<std::string> tokens)
    : world_(world), own_(own), tokens_(std::move(tokens)), inbox_(own.uid()) {}

Ms SimulatedPeers::since(const Contacts& contacts, const std::string& other) const {
  const auto at = contacts.find(other);
  if (at == contacts.end()) return Ms::max();
  return std::chrono::duration_cast<Ms>(world_.events.now() - at->second.when) -
         (own_.stalled() - at->second.stalled);
}

void SimulatedPeers::admit(const std::string& uid) {
  for (Contacts* contacts : {&heard_, &reached_})
    contacts->try_emplace(uid, Heard{world_.events.now(), own_.stalled()});
  parting_.erase(uid);  // a farewell to a pod of this uid is over
  inbox_.admit(uid);
  if (uid == own_.uid() || peers_.contains(uid)) return;
  auto peer = std::make_shared<Peer>();
  peer->outbox = std::make_unique<Outbox>(own_.uid(), uid, "s" + std::to_string(++sessions_), Patience{});
  peers_[uid] = std::move(peer);
}

void SimulatedPeers::heard(const std::string& uid) { heard_[uid] = {world_.events.now(), own_.stalled()}; }

void SimulatedPeers::put(const std::string& uid, const MessageBytes& message) {
  const auto at = peers_.find(uid);
  if (at == peers_.end()) return;
  at->second->outbox->put(message);
  if (!at->second->busy) attempted(uid, at->second, std::nullopt);
}

void SimulatedPeers::drop(const std::string& uid) {
  peers_.erase(uid);
  inbox_.retire(uid);
}

void SimulatedPeers::part(const std::string& uid, bool stranger) {
  auto found = peers_.extract(uid);
  if (!found) {
    if (stranger) inbox_.dismiss(uid);
    return;
  }
  const PeerPtr peer = std::move(found.mapped());
  peer->refused_when_over = stranger;
  peer->outbox->part();
  parting_[uid] = peer;
  forget_parted(uid, peer);
}

void SimulatedPeers::forget_parted(const std::string& to, const PeerPtr& peer) {
  const auto at = parting_.find(to);
  if (at == parting_.end() || at->second != peer || !peer->outbox->over()) return;
  parting_.erase(at);
  if (peer->refused_when_over) inbox_.dismiss(to);
}

// After an attempt, or before the first: the next one.
void SimulatedPeers::attempted(const std::string& to, const PeerPtr& peer, std::optional<Attempt> attempt) {
  const Measured measured(own_.meter());
  Ms pause{0};
  peer->busy = false;
  if (attempt) {
    if (attempt == Attempt::Delivered) reached_[to] = {world_.events.now(), own_.stalled()};
    const Standing before = peer->outbox->standing();
    const Standing standing = peer->outbox->attempted(*attempt, own_.running_time());
    if (before == Standing::Silent && standing == Standing::Good)
      own_.post([this, to, peer] {
        if (const auto at = peers_.find(to); at != peers_.end() && at->second == peer) own_.reached(to);
      });
    if (standing == Standing::Silent || standing == Standing::Stranger || standing == Standing::Dismissed)
      own_.post([this, to, peer, standing, reached = peer->outbox->reached()] {
        if (const auto at = peers_.find(to); at != peers_.end() && at->second == peer)
          own_.unreachable(to, standing, reached);
      });
    if (attempt != Attempt::Delivered)
      pause = std::chrono::duration_cast<Ms>(backoff(20ms, 500ms, peer->outbox->failures() - 1));
    forget_parted(to, peer);
  }
  if (peer->outbox->over() || !peer->outbox->next()) return;
  peer->busy = true;
  world_.events.after(pause, [this, to, peer] {
    if (own_.alive()) this->attempt(to, peer);
  });
}

void SimulatedPeers::done(const std::string& to, const PeerPtr& peer, Ms delay, Attempt result) {
  world_.events.after(delay, [this, to, peer, result] {
    if (own_.alive()) attempted(to, peer, result);
  });
}

void SimulatedPeers::attempt(const std::string& to, const PeerPtr& peer) {
  const Time now = world_.events.now();
  if (now < own_.stalled_until())  // its threads stand still, too
    return world_.events.at(own_.stalled_until(), [this, to, peer] { attempted(to, peer, Attempt::Broken); });
  if (world_.network.is_cut(own_.uid(), to, now)) return done(to, peer, kConnectTimeout, Attempt::NoRoad);
  SimulatedPod* other = world_.find(to);
  if (!other || !other->alive() || world_.network.refuses(to, now))
    return done(to, peer, 1ms, Attempt::NoRoad);
  deliver(to, peer, *other);
}

void SimulatedPeers::deliver(const std::string& to, const PeerPtr& peer, SimulatedPod& other) {
  const Sent sent = through_bytes(*peer->outbox->next(), other);
  const std::string token = peer->outbox->token(tokens_);
  const std::vector<std::size_t> kinds = world_.meter ? std::vector<std::size_t>{} : kinds_of(*sent);
  Fate fate = world_.network.fate(kinds);
  const auto stopped = std::chrono::ceil<Ms>(other.stalled_until() - world_.events.now());
  if (stopped > 0ms && fate == Fate::Arrived) fate = stopped > kReadTimeout ? Fate::Late : Fate::Arrived;
  for (const std::size_t kind : kinds) ++world_.messages[kind][static_cast<std::size_t>(fate)];
  if (world_.tells_messages) world_.tell_message(own_.uid() + " -> " + to + " " + in_words(kinds, fate));
  const bool late = !world_.meter && world_.dice.percent(3);
  const Ms there = std::max(stopped, 0ms) + world_.dice.delay(0, late ? 300 : 3);
  const auto take = [this, to, sent, token] {
    SimulatedPod* receiver = world_.find(to);
    return receiver && receiver->alive() ? receiver->peers().arrive(sent, token) : Attempt::NoRoad;
  };
  switch (fate) {
    case Fate::Lost:
      return done(to, peer, world_.dice.delay(1, 5000), Attempt::Broken);
    case Fate::Late:
      world_.events.after(std::max(there, kReadTimeout + world_.dice.delay(0, 3000)), [take] { take(); });
      return done(to, peer, kReadTimeout, Attempt::Broken);
    case Fate::AnswerLost:
      world_.events.after(there, [take] { take(); });
      return done(to, peer, std::max(there, world_.dice.delay(1, 5000)), Attempt::Broken);
    case Fate::Arrived:
      world_.events.after(there, [this, to, peer, take] { done(to, peer, 0ms, take()); });
  }
}

// What the sender's and the receiver's threads make of a batch.
SimulatedPeers::Sent SimulatedPeers::through_bytes(const Batch& batch, const SimulatedPod& to) const {
  if (!own_.meter() && !to.meter()) return std::make_shared<const Batch>(batch);
  std::vector<std::uint8_t> bytes;
  {
    const Measured measured(own_.meter());
    bytes = json_text::cbor(batch);
  }
  const Measured measured(to.meter());
  return std::make_shared<const Batch>(
      json_text::from_cbor({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).get<Batch>());
}

Attempt SimulatedPeers::arrive(const Sent& batch, const std::string& token) {
  if (std::ranges::find(tokens_, token) == tokens_.end()) return Attempt::WrongToken;
  switch (inbox_.accept(*batch)) {
    case Arrival::NotOurs:
      return Attempt::Stranger;
    case Arrival::Dismissed:
      return Attempt::Dismissed;
    case Arrival::Repeated:
      own_.hear_again(batch->from);
      break;
    case Arrival::New:
      own_.receive(batch);
  }
  return Attempt::Delivered;
}

}  // namespace empi::agent::histories
