// SPDX-License-Identifier: Apache-2.0
// The receiver's half of the channel, without threads, sockets and clocks: tells new batches from repetitions
// and from those of strangers. Not thread-safe: a batch must be accepted and passed on in one piece, or two
// that come on two connections change places.
//
// A sender may be heard before anybody has told us of it, so that any is listened to. But who makes up
// senders or sessions gets no more memory for them than this: of senders that were not admitted, and of one
// sender's sessions, the latest are remembered.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
  static constexpr std::size_t kMostUnknown = 256;  // senders
  static constexpr std::size_t kMostSessions = 8;   // of one sender: a peer that is made again begins another

  explicit Inbox(std::string own_uid) : own_uid_(std::move(own_uid)) {}

  Arrival accept(const Batch& batch);
  // The pod is out of the job, in an epoch that it may not know of.
  void dismiss(const std::string& uid);
  void admit(const std::string& uid);
  // We have nothing to do with the pod any more: it counts as one of the unknown.
  void retire(const std::string& uid);

  std::size_t remembered() const;  // sessions of all senders

 private:
  struct Session {
    std::string name;
    std::uint64_t sequence = 0;
  };
  struct Sender {
    bool admitted = false;
    std::uint64_t heard = 0;        // number of the batch that was heard last
    std::vector<Session> sessions;  // the one heard last at the end
  };
  void forget_an_unknown();

  const std::string own_uid_;
  std::map<std::string, Sender> senders_;
  std::set<std::string> dismissed_;
  std::size_t unknown_ = 0;  // senders that are not admitted
  std::uint64_t batches_ = 0;
};

}  // namespace empi::agent
