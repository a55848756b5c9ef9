// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/wire/inbox.hpp"

namespace empi::agent {

Arrival Inbox::accept(const Batch& batch) {
  if (batch.to != own_uid_) return Arrival::NotOurs;
  if (dismissed_.contains(batch.from)) return Arrival::Dismissed;
  std::uint64_t& last = last_[batch.from][batch.session];
  if (batch.sequence <= last) return Arrival::Repeated;
  last = batch.sequence;
  return Arrival::New;
}

void Inbox::dismiss(const std::string& uid) {
  last_.erase(uid);
  dismissed_.insert(uid);
}

}  // namespace empi::agent
