// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/expectations.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace emj::kube {

using nlohmann::json;

namespace {

// Versions that are no numbers cannot be compared; then any news of the object has to do.
bool reached(const std::string& seen, const std::string& wanted) {
  const auto seen_number = version_number(seen), wanted_number = version_number(wanted);
  return !seen_number || !wanted_number || *seen_number >= *wanted_number;
}

}  // namespace

void Expectations::expect(const std::string& owner, const std::string& uid, const ObjectKey& key,
                          const std::string& version) {
  std::lock_guard lock(mutex_);
  if (uid.empty() || gone_.contains(uid)) return;
  pending_[owner][uid] = {version, clock_.now() + timeout_, key};
  owners_[uid].insert(owner);
}

void Expectations::wrote(const std::string& owner, const json& object) {
  expect(owner, uid_of(object), key_of(object), resource_version_of(object));  // a Status has no uid
}

void Expectations::deleted(const std::string& owner, const ObjectKey& key, const std::string& uid) {
  expect(owner, uid, key, "");
}

void Expectations::outdated(const std::string& owner, const json& object) {
  const auto version = version_number(resource_version_of(object));
  // A version that is no number cannot be waited for.
  if (version) expect(owner, uid_of(object), key_of(object), std::to_string(*version + 1));
}

void Expectations::cached(const std::string& uid, const ObjectPtr& object) {
  std::lock_guard lock(mutex_);
  if (object && uid_of(*object) == uid) {
    resolve(uid, object.get());
    return;
  }
  // Not there. A create that is awaited may still come; what was to go has gone.
  const auto waiting = owners_.find(uid);
  if (waiting == owners_.end()) return;
  const bool all_deletes =
      std::all_of(waiting->second.begin(), waiting->second.end(),
                  [&](const auto& owner) { return pending_.at(owner).at(uid).version.empty(); });
  if (all_deletes) resolve(uid, nullptr);
}

bool Expectations::resolve(const std::string& uid, const json* object) {
  const auto waiting = owners_.find(uid);
  if (waiting == owners_.end()) return false;
  bool any = false;
  for (auto owner = waiting->second.begin(); owner != waiting->second.end();) {
    const auto list = pending_.find(*owner);
    const auto pending = list->second.find(uid);
    const std::string& version = pending->second.version;
    const bool met = !object || (version.empty() ? is_being_deleted(*object)
                                                 : reached(resource_version_of(*object), version));
    if (!met) {
      ++owner;
      continue;
    }
    any = true;
    list->second.erase(pending);
    if (list->second.empty()) pending_.erase(list);
    owner = waiting->second.erase(owner);
  }
  if (waiting->second.empty()) owners_.erase(waiting);
  return any;
}

bool Expectations::seen(const Change& change) {
  const ObjectPtr& object = change.after ? change.after : change.before;
  const std::string uid = uid_of(*object);
  std::lock_guard lock(mutex_);
  if (!change.after) gone_.add(uid);
  return resolve(uid, change.after.get());
}

void Expectations::expire(const std::string& owner) {
  const auto list = pending_.find(owner);
  if (list == pending_.end()) return;
  const Instant now = clock_.now();
  for (auto pending = list->second.begin(); pending != list->second.end();) {
    if (pending->second.deadline > now) {
      ++pending;
      continue;
    }
    given_up_[owner].push_back(pending->second.key);
    if (const auto waiting = owners_.find(pending->first); waiting != owners_.end()) {
      waiting->second.erase(owner);
      if (waiting->second.empty()) owners_.erase(waiting);
    }
    pending = list->second.erase(pending);
  }
  if (list->second.empty()) pending_.erase(list);
}

bool Expectations::settled(const std::string& owner, std::vector<ObjectKey>* given_up) {
  std::lock_guard lock(mutex_);
  expire(owner);
  if (const auto told = given_up_.extract(owner); told && given_up)
    given_up->insert(given_up->end(), told.mapped().begin(), told.mapped().end());
  return !pending_.contains(owner);
}

Instant Expectations::settled_by(const std::string& owner) {
  std::lock_guard lock(mutex_);
  expire(owner);
  Instant latest = clock_.now();
  const auto list = pending_.find(owner);
  if (list == pending_.end()) return latest;
  for (const auto& [uid, pending] : list->second) latest = std::max(latest, pending.deadline);
  return latest;
}

}  // namespace emj::kube
