// SPDX-License-Identifier: Apache-2.0
// Outgoing messages to the other agents of the job: the edge around wire/outbox.hpp, with a thread and a
// connection per peer that something is to be said to.
//
// A batch is POSTed to /v1/agent as CBOR (wire/batch.hpp). Thread and connection are kept while there is
// traffic, beats too: members have those to the lead, the lead those to all, and others come and go. Failures
// are reported from the peers' threads; everything else is called from one.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/agent/wire/outbox.hpp"

namespace empi::tls {
class Credentials;
}

namespace empi::agent {

class TokenFile;

// A peer is silent, or a stranger; or one that was silent is reached again (Good). Messages to a silent one
// stay queued and are tried again until it is dropped.
struct DeliveryNews {
  std::string uid;
  Standing standing = Standing::Silent;
  bool reached = false;  // some delivery to it has worked
  std::string what;
  std::uint64_t peer = 0;  // which of those that had the uid, one after the other
};

class Peers {
 public:
  // A connection without traffic is closed after this, and its thread ends: more than a beat's second, less
  // than receivers wait (HttpLimits::idle).
  static constexpr std::chrono::milliseconds kIdle{1500};

  // `on_news` is called from sender threads. `credentials`: of this job, or null for plain HTTP.
  Peers(std::string own_uid, TokenFile& token, const RunningClock& clock, Patience patience,
        std::function<void(DeliveryNews)> on_news, std::shared_ptr<tls::Credentials> credentials = nullptr);
  ~Peers();  // drops all
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  void add(const std::string& uid, const std::string& address);  // host:port; no-op when known
  bool knows(const std::string& uid) const { return peers_.contains(uid); }
  // Not of one that was dropped since, and perhaps added again.
  bool is_current(const DeliveryNews& news) const;
  // Queues. False when the peer is unknown: nobody will get it.
  bool send(const std::string& uid, MessageBytes message);
  // Forgets the peer and what is queued for it. Does not wait for its thread.
  void drop(const std::string& uid);
  // Forgets the peer as soon as it has got what is queued, or is silent; then `gone` is called, from its
  // thread and before an add() of the same peer goes on.
  void part(const std::string& uid, std::function<void()> gone = {});
  // Waits until everything queued is delivered, to parted peers too, at most `limit`. False when something
  // was not.
  bool flush(std::chrono::milliseconds limit);

 private:
  struct Peer;
  void retire(std::unique_ptr<Peer> peer);

  const std::string own_uid_, session_;
  TokenFile& token_;
  const RunningClock& clock_;
  const Patience patience_;
  const std::function<void(DeliveryNews)> on_news_;
  const std::shared_ptr<tls::Credentials> credentials_;
  std::uint64_t next_peer_ = 1;  // each Peer object is a session of its own
  std::map<std::string, std::unique_ptr<Peer>> peers_;
  std::vector<std::unique_ptr<Peer>> retired_;  // threads that are still ending
};

}  // namespace empi::agent
