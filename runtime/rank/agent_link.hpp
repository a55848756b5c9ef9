// SPDX-License-Identifier: Apache-2.0
// The rank's end of its agent's Unix socket.
#pragma once
#include <optional>
#include <string>

#include "runtime/base/unique_fd.hpp"
#include "runtime/protocol/rank_messages.hpp"

namespace empi::rank {

class AgentLink {
 public:
  AgentLink() = default;
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  // Throws std::runtime_error with the path and the reason.
  void connect(const std::string& path, ProcId self);
  bool connected() const { return static_cast<bool>(socket_); }

  // From any thread. Fills in who we are, and cuts an error that is longer than a message may be. A lost
  // agent is noticed by `receive`.
  void send(RankReport report);

  enum class Received { Order, Nothing, Closed };
  // Waits up to `timeout_ms` (negative: for ever). Messages that are no orders are skipped.
  Received receive(int timeout_ms, RankOrder& order);

  // Ends a waiting `receive`; what was sent still arrives.
  void stop_receiving();

 private:
  UniqueFd socket_;
  ProcId self_;
};

}  // namespace empi::rank
