// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/peers.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/agent/peer_client.hpp"
#include "runtime/base/backoff.hpp"
#include "runtime/base/host_port.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/plain_http.hpp"
#include "runtime/base/token.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr auto kFirstPause = 20ms;  // between attempts
constexpr auto kLongestPause = 500ms;

std::string random_session() {
  std::random_device device;
  return std::to_string(device()) + "-" + std::to_string(device());
}

}  // namespace

struct Peers::Peer {
  Peer(Peers& owner, const std::string& peer_uid, const std::string& address)
      : peers(owner),
        uid(peer_uid),
        number(owner.next_peer_++),
        at(HostPort::parse(address)),
        outbox(owner.own_uid_, uid, owner.session_ + "." + std::to_string(number), owner.patience_) {}
  ~Peer() {
    stop();
    if (thread.joinable()) thread.join();
  }

  void stop() {
    std::lock_guard lock(mutex);
    stopping = true;
    changed.notify_all();
  }
  bool ended() {
    std::lock_guard lock(mutex);
    return !running;
  }

  // Something may be to be done. With the mutex held, from the owner's thread.
  void wake() {
    if (running) return changed.notify_all();
    if (outbox.idle() && !gone) return;
    if (thread.joinable()) thread.join();  // it has let go of the mutex for the last time
    try {
      running = true;
      thread = std::thread([this] { run(); });
    } catch (const std::system_error& error) {  // again when there is more to be said
      running = false;
      log::warn("no thread to speak to pod {}: {}", uid, error.what());
    }
  }
  void run();
  void work(std::unique_lock<std::mutex>& lock);
  Attempt deliver(const Batch& batch, const std::string& token, std::string& what);

  Peers& peers;
  const std::string uid;
  const std::uint64_t number;
  const HostPort at;
  tls::Ticket ticket;                  // of the thread, as the next
  std::unique_ptr<PeerClient> client;  // of the thread
  std::mutex mutex;                    // guards what follows
  std::condition_variable changed;
  Outbox outbox;
  bool stopping = false, running = false;
  std::function<void()> gone;
  std::thread thread;
};

Attempt Peers::Peer::deliver(const Batch& batch, const std::string& token, std::string& what) {
  if (!client) {
    client = std::make_unique<PeerClient>(at.host, at.port, peers.credentials_, ticket);
    client->set_keep_alive(true);
    client->set_tcp_nodelay(true);
    want_plain_answers(*client);
    client->set_connection_timeout(2s);
  }
  const std::vector<std::uint8_t> body = json_text::cbor(batch);
  const httplib::Headers headers = {{"Authorization", "Bearer " + token}};
  const auto result = client->Post(paths::kMessage, headers, reinterpret_cast<const char*>(body.data()),
                                   body.size(), "application/cbor");
  if (result && result->status == 200) {
    const std::chrono::milliseconds age = decode_receipt(result->body).reactor_age;
    if (age <= peers.patience_.silence) return Attempt::Delivered;
    what = "its reactor has not turned for " +
           std::to_string(std::chrono::duration_cast<std::chrono::seconds>(age).count()) + " s";
    return Attempt::Stuck;  // it may just have been stopped with its whole process: the next try tells
  }
  const std::string problem = client->problem();
  client.reset();
  if (result) {
    what = "answered " + std::to_string(result->status) + " " + result->body;
    return attempt_of_status(result->status);
  }
  what = problem.empty() ? httplib::to_string(result.error()) : problem;
  const bool no_road =
      result.error() == httplib::Error::Connection || result.error() == httplib::Error::ConnectionTimeout;
  return no_road ? Attempt::NoRoad : Attempt::Broken;
}

// The thread: until nothing was to be said for a while.
void Peers::Peer::run() {
  std::unique_lock lock(mutex);
  work(lock);
  if (!stopping && outbox.over() && gone) std::exchange(gone, {})();
  client.reset();
  running = false;
  changed.notify_all();
}

void Peers::Peer::work(std::unique_lock<std::mutex>& lock) {
  bool refused = false;
  while (!stopping && !outbox.over()) {
    const Batch* batch = outbox.next();
    if (!batch) {
      const auto wanted = [&] { return stopping || !outbox.idle() || outbox.over(); };
      if (!changed.wait_for(lock, kIdle, wanted)) return;
      continue;
    }
    const std::string token = outbox.token(peers.token_.lines());
    lock.unlock();
    std::string what;
    const Attempt attempt = deliver(*batch, token, what);
    if (attempt == Attempt::WrongToken && !std::exchange(refused, true))
      log::warn("pod {} does not take our token: trying again, with every one that we have", uid);
    refused = refused && attempt != Attempt::Delivered;
    lock.lock();
    const Standing before = outbox.standing();
    const Standing standing = outbox.attempted(attempt, peers.clock_.now());
    changed.notify_all();
    const bool delivered = attempt == Attempt::Delivered;
    const bool is_news = delivered ? before == Standing::Silent : standing != Standing::Troubled;
    if (is_news && !stopping) {
      DeliveryNews news{uid, standing, outbox.reached(), std::move(what), number};
      lock.unlock();
      peers.on_news_(std::move(news));
      lock.lock();
    }
    if (!delivered && !outbox.over())
      changed.wait_for(lock, backoff(kFirstPause, kLongestPause, outbox.failures() - 1),
                       [&] { return stopping; });
  }
}

Peers::Peers(std::string own_uid, TokenFile& token, const RunningClock& clock, Patience patience,
             std::function<void(DeliveryNews)> on_news, std::shared_ptr<tls::Credentials> credentials)
    : own_uid_(std::move(own_uid)),
      session_(random_session()),
      token_(token),
      clock_(clock),
      patience_(patience),
      on_news_(std::move(on_news)),
      credentials_(std::move(credentials)) {}

Peers::~Peers() {  // all at once, then join one by one
  for (auto& [uid, peer] : peers_) peer->stop();
  for (auto& peer : retired_) peer->stop();
}

void Peers::add(const std::string& uid, const std::string& address) {
  if (uid == own_uid_ || peers_.contains(uid)) return;
  for (auto& peer : retired_)
    if (peer->uid == uid) peer->stop();  // a farewell that is under way is not for the one that comes now
  peers_.emplace(uid, std::make_unique<Peer>(*this, uid, address));
}

bool Peers::is_current(const DeliveryNews& news) const {
  const auto at = peers_.find(news.uid);
  return at != peers_.end() && at->second->number == news.peer;
}

bool Peers::send(const std::string& uid, MessageBytes message) {
  auto at = peers_.find(uid);
  if (at == peers_.end()) return false;
  std::lock_guard lock(at->second->mutex);
  at->second->outbox.put(std::move(message));
  at->second->wake();
  return true;
}

void Peers::drop(const std::string& uid) {
  auto peer = peers_.extract(uid);
  if (!peer) return;
  peer.mapped()->stop();
  retire(std::move(peer.mapped()));
}

void Peers::part(const std::string& uid, std::function<void()> gone) {
  auto peer = peers_.extract(uid);
  if (!peer) return;
  {
    std::lock_guard lock(peer.mapped()->mutex);
    peer.mapped()->gone = std::move(gone);
    peer.mapped()->outbox.part();
    peer.mapped()->wake();
    if (!peer.mapped()->running && peer.mapped()->gone) peer.mapped()->gone();  // no thread is to be had
  }
  retire(std::move(peer.mapped()));
}

void Peers::retire(std::unique_ptr<Peer> peer) {
  std::erase_if(retired_, [](const std::unique_ptr<Peer>& old) { return old->ended(); });
  retired_.push_back(std::move(peer));
}

bool Peers::flush(std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  bool all = true;
  const auto wait_for = [&](Peer& peer) {
    std::unique_lock lock(peer.mutex);
    const bool in_time = peer.changed.wait_until(
        lock, until, [&] { return peer.stopping || peer.outbox.idle() || peer.outbox.over(); });
    all &= in_time && (peer.stopping || peer.outbox.idle());
  };
  for (auto& [uid, peer] : peers_) wait_for(*peer);
  for (auto& peer : retired_) wait_for(*peer);
  return all;
}

}  // namespace empi::agent
