// Outgoing messages to the other agents of the job: one ordered queue and one thread per peer.
//
// A batch is POSTed to /v1/agent as CBOR {"from", "to", "session", "sequence", "messages": [...]}; batches of
// one session arrive exactly once and in order (the sender repeats, the receiver drops repetitions: Inbox).
// A connection is kept alive while there is traffic and closed after a short silence: an idle server
// connection costs the receiver a poll each 10 ms.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace empi::agent {

class TokenFile;

// A message could not be delivered; it stays queued and is tried again until the peer is dropped.
struct DeliveryFailure {
  std::string uid;
  bool refused = false;      // nobody listens there (any more) ...
  int refusals = 0;          // ... so many times in a row
  bool had_success = false;  // some delivery to it has worked
  bool stranger = false;     // another pod answers at this address, or it refuses our token
  double silent_s = 0;       // since the first attempt that failed
  std::string what;
};

class Peers {
 public:
  // `on_failure` is called from sender threads.
  Peers(std::string own_uid, TokenFile& token, std::function<void(DeliveryFailure)> on_failure);
  ~Peers();  // drops all
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  void add(const std::string& uid, const std::string& address);  // host:port; no-op when known
  bool knows(const std::string& uid) const { return peers_.contains(uid); }
  // Queues; unknown peers swallow it.
  void send(const std::string& uid, const nlohmann::json& message);
  // Forgets the peer and what is queued for it. Does not wait for its thread.
  void drop(const std::string& uid);
  // Waits until everything queued is delivered, at most `limit`. False when something was not.
  bool flush(std::chrono::milliseconds limit);

 private:
  struct Peer;
  struct Sender;
  void retire(std::unique_ptr<Peer> peer);

  const std::string own_uid_, session_;
  TokenFile& token_;
  const std::function<void(DeliveryFailure)> on_failure_;
  std::map<std::string, std::unique_ptr<Peer>> peers_;
  std::vector<std::unique_ptr<Peer>> retired_;  // threads that are still ending
};

// The receiver's half: tells new batches from repetitions. Thread-safe.
class Inbox {
 public:
  // True when the batch is new and to be processed.
  bool accept(const std::string& from, const std::string& session, std::uint64_t sequence);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> last_;
};

}  // namespace empi::agent
