#include "runtime/agent/peers.hpp"

#include <httplib.h>

#include <atomic>
#include <deque>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "runtime/agent/token.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/plain_http.hpp"

namespace empi::agent {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;
using namespace std::chrono_literals;

constexpr auto kIdle = 100ms;       // a connection without traffic is closed after this
constexpr auto kFirstPause = 20ms;  // between attempts; doubles up to kLongestPause
constexpr auto kLongestPause = 500ms;
constexpr std::size_t kBatch = 256;

std::string random_session() {
  std::random_device device;
  return std::to_string(device()) + "-" + std::to_string(device());
}

}  // namespace

struct Peers::Peer {
  Peer(Peers& owner, std::string peer_uid, const std::string& address)
      : peers(owner), uid(std::move(peer_uid)) {
    const auto colon = address.rfind(':');
    host = address.substr(0, colon);
    port = colon == address.npos ? 0 : std::atoi(address.c_str() + colon + 1);
    thread = std::thread([this] { run(); });
  }
  ~Peer() {
    stop();
    if (thread.joinable()) thread.join();
  }

  void stop() {
    std::lock_guard lock(mutex);
    stopping = true;
    changed.notify_all();
  }

  void run();
  bool deliver(httplib::Client& client, const std::vector<json>& messages);
  void report(bool refused, bool stranger, std::string what);
  std::unique_ptr<httplib::Client> connect() const;

  Peers& peers;
  const std::string uid;
  std::string host;
  int port = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<json> queue;  // the front ones stay until they are delivered
  bool stopping = false;
  std::uint64_t sequence = 1;
  int refusals = 0;
  Clock::time_point last_success{}, first_failure{};  // first of the present row of failures
  std::atomic<bool> ended{false};
  std::thread thread;
};

std::unique_ptr<httplib::Client> Peers::Peer::connect() const {
  auto client = std::make_unique<httplib::Client>(host, port);
  client->set_keep_alive(true);
  client->set_tcp_nodelay(true);
  want_plain_answers(*client);
  client->set_connection_timeout(2s);
  client->set_read_timeout(5s);
  client->set_write_timeout(5s);
  return client;
}

void Peers::Peer::report(bool refused, bool stranger, std::string what) {
  if (first_failure == Clock::time_point{}) first_failure = Clock::now();
  const double silent = std::chrono::duration<double>(Clock::now() - first_failure).count();
  refusals = refused ? refusals + 1 : 0;
  const bool had_success = last_success != Clock::time_point{};
  peers.on_failure_({uid, refused, refusals, had_success, stranger, silent, std::move(what)});
}

bool Peers::Peer::deliver(httplib::Client& client, const std::vector<json>& messages) {
  const json batch = {{"from", peers.own_uid_},
                      {"to", uid},
                      {"session", peers.session_},
                      {"sequence", sequence},
                      {"messages", messages}};
  const std::vector<std::uint8_t> body = json::to_cbor(batch);
  const httplib::Headers headers = {{"Authorization", "Bearer " + peers.token_.current()}};
  const auto result = client.Post(paths::kMessage, headers, reinterpret_cast<const char*>(body.data()),
                                  body.size(), "application/cbor");
  if (!result) {
    report(result.error() == httplib::Error::Connection, false, httplib::to_string(result.error()));
    return false;
  }
  if (result->status != 200) {
    report(false, true, "answered " + std::to_string(result->status) + " " + result->body);
    return false;
  }
  last_success = Clock::now();
  first_failure = {};
  refusals = 0;
  ++sequence;
  return true;
}

void Peers::Peer::run() {
  std::unique_ptr<httplib::Client> client;
  auto pause = std::chrono::milliseconds(kFirstPause);
  std::unique_lock lock(mutex);
  for (;;) {
    if (!changed.wait_for(lock, kIdle, [&] { return stopping || !queue.empty(); })) {
      client.reset();
      changed.wait(lock, [&] { return stopping || !queue.empty(); });
    }
    if (stopping) break;
    const std::vector<json> messages(queue.begin(), queue.begin() + std::min(queue.size(), kBatch));
    lock.unlock();
    if (!client) client = connect();
    const bool delivered = deliver(*client, messages);
    lock.lock();
    if (delivered) {
      queue.erase(queue.begin(), queue.begin() + std::min(queue.size(), messages.size()));
      pause = kFirstPause;
      if (queue.empty()) changed.notify_all();
    } else {
      client.reset();
      changed.wait_for(lock, pause, [&] { return stopping; });
      pause = std::min<std::chrono::milliseconds>(pause * 2, kLongestPause);
    }
  }
  ended = true;
}

Peers::Peers(std::string own_uid, TokenFile& token, std::function<void(DeliveryFailure)> on_failure)
    : own_uid_(std::move(own_uid)),
      session_(random_session()),
      token_(token),
      on_failure_(std::move(on_failure)) {}

Peers::~Peers() {
  for (auto& [uid, peer] : peers_) peer->stop();  // all at once, then join one by one
}

void Peers::add(const std::string& uid, const std::string& address) {
  if (uid != own_uid_ && !peers_.contains(uid))
    peers_.emplace(uid, std::make_unique<Peer>(*this, uid, address));
}

void Peers::send(const std::string& uid, const json& message) {
  auto at = peers_.find(uid);
  if (at == peers_.end()) return;
  std::lock_guard lock(at->second->mutex);
  at->second->queue.push_back(message);
  at->second->changed.notify_all();
}

void Peers::drop(const std::string& uid) {
  auto at = peers_.find(uid);
  if (at == peers_.end()) return;
  retire(std::move(at->second));
  peers_.erase(at);
}

void Peers::retire(std::unique_ptr<Peer> peer) {
  std::erase_if(retired_, [](const std::unique_ptr<Peer>& old) { return old->ended.load(); });
  peer->stop();
  retired_.push_back(std::move(peer));
}

bool Peers::flush(std::chrono::milliseconds limit) {
  const auto until = Clock::now() + limit;
  bool all = true;
  for (auto& [uid, peer] : peers_) {
    std::unique_lock lock(peer->mutex);
    all &= peer->changed.wait_until(lock, until, [&] { return peer->queue.empty(); });
  }
  return all;
}

bool Inbox::accept(const std::string& from, const std::string& session, std::uint64_t sequence) {
  std::lock_guard lock(mutex_);
  std::uint64_t& last = last_[{from, session}];
  if (sequence <= last) return false;
  last = sequence;
  return true;
}

}  // namespace empi::agent
