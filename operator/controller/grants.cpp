// SPDX-License-Identifier: Apache-2.0
#include "operator/controller/grants.hpp"

namespace emj {

std::optional<QueueGrant> Grants::of(const std::string& uid) const {
  const std::lock_guard lock(mutex_);
  const auto found = grants_.find(uid);
  return found == grants_.end() ? std::nullopt : std::optional(found->second);
}

bool Grants::tells_start(const std::string& uid) const {
  const std::lock_guard lock(mutex_);
  const auto found = grants_.find(uid);
  return found != grants_.end() && found->second.expected_start;
}

void Grants::set(const std::string& uid, QueueGrant grant) {
  const std::lock_guard lock(mutex_);
  grants_[uid] = std::move(grant);
}

void Grants::erase(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  grants_.erase(uid);
}

}  // namespace emj
