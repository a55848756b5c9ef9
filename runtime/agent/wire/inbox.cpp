// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/wire/inbox.hpp"

#include <algorithm>

namespace empi::agent {

Arrival Inbox::accept(const Batch& batch) {
  if (batch.to != own_uid_) return Arrival::NotOurs;
  if (dismissed_.contains(batch.from)) return Arrival::Dismissed;
  const auto [at, first] = senders_.try_emplace(batch.from);
  Sender& sender = at->second;
  sender.heard = ++batches_;
  if (first && ++unknown_ > kMostUnknown) forget_an_unknown();
  auto session = std::ranges::find(sender.sessions, batch.session, &Session::name);
  if (session == sender.sessions.end()) {
    if (sender.sessions.size() == kMostSessions) sender.sessions.erase(sender.sessions.begin());
    session = sender.sessions.insert(sender.sessions.end(), {batch.session, 0});
  }
  std::rotate(session, session + 1, sender.sessions.end());
  std::uint64_t& last = sender.sessions.back().sequence;
  if (batch.sequence <= last) return Arrival::Repeated;
  last = batch.sequence;
  return Arrival::New;
}

// The one that was silent for longest. There is one that was heard before the present one.
void Inbox::forget_an_unknown() {
  const auto order = [](const auto& entry) { return std::pair(entry.second.admitted, entry.second.heard); };
  senders_.erase(std::ranges::min_element(senders_, {}, order));
  --unknown_;
}

void Inbox::dismiss(const std::string& uid) {
  if (const auto at = senders_.find(uid); at != senders_.end()) {
    if (!at->second.admitted) --unknown_;
    senders_.erase(at);
  }
  dismissed_.insert(uid);
}

void Inbox::admit(const std::string& uid) {
  dismissed_.erase(uid);
  const auto [at, first] = senders_.try_emplace(uid);
  if (!first && !at->second.admitted) --unknown_;
  at->second.admitted = true;
}

void Inbox::retire(const std::string& uid) {
  const auto at = senders_.find(uid);
  if (at == senders_.end() || !at->second.admitted) return;
  at->second.admitted = false;
  if (++unknown_ > kMostUnknown) forget_an_unknown();
}

std::size_t Inbox::remembered() const {
  std::size_t count = 0;
  for (const auto& [uid, sender] : senders_) count += sender.sessions.size();
  return count;
}

}  // namespace empi::agent
