// SPDX-License-Identifier: Apache-2.0
// The pod's Unix socket: ranks report, the agent orders (runtime/protocol/rank_messages.hpp).
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "runtime/base/unique_fd.hpp"
#include "runtime/protocol/rank_messages.hpp"

namespace empi::agent {

class Reactor;

class RankLink {
 public:
  using OnReport = std::function<void(const RankReport&)>;
  // Listens on `path` (SOCK_SEQPACKET). Throws std::system_error.
  RankLink(Reactor& reactor, std::string path, OnReport on_report);
  ~RankLink();
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;

  // Why the order is not on its way to the rank, in words; empty when it is.
  [[nodiscard]] std::string send(const ProcId& proc, const RankOrder& order);
  bool connected(const ProcId& proc) const { return by_proc_.contains(proc); }
  // Takes in what has arrived: before a rank's exit is judged, its last report must have been read.
  void receive_pending();

 private:
  struct Connection {
    UniqueFd fd;
    std::optional<ProcId> proc;
  };
  void accept_one();
  void receive(int fd);
  void drop(int fd);

  Reactor& reactor_;
  const std::string path_;
  const OnReport on_report_;
  UniqueFd listener_;
  std::map<int, Connection> connections_;  // by descriptor
  std::map<ProcId, int> by_proc_;
};

}  // namespace empi::agent
