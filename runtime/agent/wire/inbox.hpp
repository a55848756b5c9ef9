// SPDX-License-Identifier: Apache-2.0
// The receiver's half of the channel, without threads, sockets and clocks: tells new batches from repetitions
// and from those of strangers. Not thread-safe: a batch must be accepted and passed on in one piece, or two
// that come on two connections change places.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "runtime/agent/wire/batch.hpp"

namespace empi::agent {

enum class Arrival {
  New,       // to be processed
  Repeated,  // was processed: the answer was lost
  NotOurs,   // for another pod, which had this address before
  Dismissed  // of a pod that is no member any more
};

class Inbox {
 public:
  explicit Inbox(std::string own_uid) : own_uid_(std::move(own_uid)) {}

  Arrival accept(const Batch& batch);
  // The pod is out of the job, in an epoch that it may not know of.
  void dismiss(const std::string& uid);
  void admit(const std::string& uid) { dismissed_.erase(uid); }

 private:
  const std::string own_uid_;
  std::map<std::string, std::map<std::string, std::uint64_t>> last_;  // sender -> session -> sequence
  std::set<std::string> dismissed_;
};

}  // namespace empi::agent
