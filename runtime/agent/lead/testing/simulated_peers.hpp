// SPDX-License-Identifier: Apache-2.0
// The line of a simulated pod to the others: the real Outbox, Inbox and tokens' rule on a network that loses,
// repeats and delays. Stands for Peers and the agent's port.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/agent/lead/testing/world.hpp"
#include "runtime/agent/wire/inbox.hpp"
#include "runtime/agent/wire/outbox.hpp"

namespace empi::agent::histories {

class SimulatedPeers {
 public:
  SimulatedPeers(World& world, SimulatedPod& own, std::vector<std::string> tokens);

  void set_tokens(std::vector<std::string> tokens) { tokens_ = std::move(tokens); }
  bool knows(const std::string& uid) const { return peers_.contains(uid); }
  void admit(const std::string& uid);
  void put(const std::string& uid, const MessageBytes& message);  // for one that it knows
  // What is queued still goes; then, if it is a stranger from then on, it is told so.
  void part(const std::string& uid, bool stranger);
  void drop(const std::string& uid);

  // The agent has its turn with what the other has said. That it has arrived is not enough: until then an
  // agent judges by what it knows, and silence that was long enough is not undone by what comes in the same
  // moment.
  void heard(const std::string& uid);
  Ms silence_of(const std::string& other) const { return since(heard_, other); }
  Ms distance_to(const std::string& other) const { return since(reached_, other); }

 private:
  struct Peer {
    std::unique_ptr<Outbox> outbox;
    bool busy = false;
    bool refused_when_over = false;
  };
  using PeerPtr = std::shared_ptr<Peer>;
  struct Heard {
    Time when{};
    Ms stalled{0};
  };
  using Contacts = std::map<std::string, Heard>;

  Ms since(const Contacts& contacts, const std::string& other) const;
  void attempted(const std::string& to, const PeerPtr& peer, std::optional<Attempt> attempt);
  void attempt(const std::string& to, const PeerPtr& peer);
  void deliver(const std::string& to, const PeerPtr& peer, SimulatedPod& other);
  void done(const std::string& to, const PeerPtr& peer, Ms delay, Attempt result);
  void forget_parted(const std::string& to, const PeerPtr& peer);
  using Sent = std::shared_ptr<const Batch>;
  Attempt arrive(const Sent& batch, const std::string& token);
  Sent through_bytes(const Batch& batch, const SimulatedPod& to) const;

  World& world_;
  SimulatedPod& own_;
  std::vector<std::string> tokens_;
  Inbox inbox_;
  Contacts heard_, reached_;
  std::map<std::string, PeerPtr> peers_;
  std::map<std::string, PeerPtr> parting_;  // the last of each uid
  int sessions_ = 0;
};

}  // namespace empi::agent::histories
