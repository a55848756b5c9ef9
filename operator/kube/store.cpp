// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/store.hpp"

namespace emj::kube {

using nlohmann::json;

namespace {

constexpr std::size_t kRememberedUids = 4096;

bool is_older(const std::string& one, const std::string& than) {
  const auto version = version_number(one), known = version_number(than);
  return version && known && *version < *known;
}

bool is_older(const json& object, const json& than) {
  return is_older(resource_version_of(object), resource_version_of(than));
}

}  // namespace

bool is_news(const Change& change) {
  if (!change.before || !change.after) return true;
  if (change.before->size() != change.after->size()) return true;
  for (const auto& [name, value] : change.after->items()) {
    const auto before = change.before->find(name);
    if (before == change.before->end()) return true;
    if (name != "metadata") {
      if (*before != value) return true;
      continue;
    }
    json metadata = value;
    metadata["resourceVersion"] = resource_version_of(*change.before);
    if (*before != metadata) return true;
  }
  return false;
}

void RecentUids::add(const std::string& uid) {
  if (uid.empty() || !uids_.insert(uid).second) return;
  order_.push_back(uid);
  if (order_.size() <= kRememberedUids) return;
  uids_.erase(order_.front());
  order_.pop_front();
}

void Store::drop(const ObjectKey& key, ObjectPtr last, std::vector<Change>& changes) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return;
  const std::string owner = controller_uid_of(*found->second);
  if (const auto set = owned_.find(owner); set != owned_.end()) {
    set->second.erase(key);
    if (set->second.empty()) owned_.erase(set);
  }
  ObjectPtr before = last ? std::move(last) : found->second;
  gone_.add(uid_of(*found->second));
  gone_.add(uid_of(*before));
  learned_.erase(key);
  objects_.erase(found);
  changes.push_back({Change::Type::Deleted, key, std::move(before), nullptr, false, {}});
}

void Store::put(const ObjectKey& key, ObjectPtr object, std::vector<Change>& changes) {
  const auto found = objects_.find(key);
  if (found != objects_.end() && uid_of(*found->second) != uid_of(*object)) {
    drop(key, nullptr, changes);
  } else if (found != objects_.end()) {
    ObjectPtr before = found->second;
    if (resource_version_of(*before) == resource_version_of(*object)) return;
    const std::string old_owner = controller_uid_of(*before), owner = controller_uid_of(*object);
    if (old_owner != owner) {
      if (const auto set = owned_.find(old_owner); set != owned_.end()) {
        set->second.erase(key);
        if (set->second.empty()) owned_.erase(set);
      }
      if (!owner.empty()) owned_[owner].insert(key);
    }
    found->second = object;
    changes.push_back({Change::Type::Updated, key, std::move(before), std::move(object), false, {}});
    return;
  }
  if (const std::string owner = controller_uid_of(*object); !owner.empty()) owned_[owner].insert(key);
  objects_[key] = object;
  changes.push_back({Change::Type::Added, key, nullptr, std::move(object), false, {}});
}

std::vector<Change> Store::apply(WatchEvent::Type type, json object) {
  std::lock_guard lock(mutex_);
  const ObjectKey key = key_of(object);
  const std::string version = resource_version_of(object);
  std::vector<Change> changes = apply_locked(type, std::move(object));
  if (learned_.contains(key) && !learned_after(key, version)) learned_.erase(key);
  return changes;
}

std::vector<Change> Store::learn(json object) {
  std::lock_guard lock(mutex_);
  const ObjectKey key = key_of(object);
  if (gone_.contains(uid_of(object))) return {};
  std::vector<Change> changes = apply_locked(WatchEvent::Type::Modified, std::move(object));
  if (!changes.empty()) learned_.insert(key);
  return changes;
}

std::vector<Change> Store::apply_locked(WatchEvent::Type type, json object) {
  std::vector<Change> changes;
  if (type == WatchEvent::Type::Bookmark || type == WatchEvent::Type::Error) return changes;
  const ObjectKey key = key_of(object);
  if (key.name.empty()) return changes;
  auto shared = std::make_shared<const json>(std::move(object));
  const auto known = objects_.find(key);
  const bool same = known != objects_.end() && uid_of(*known->second) == uid_of(*shared);
  const bool older = known != objects_.end() && is_older(*shared, *known->second);
  if (type == WatchEvent::Type::Deleted) {
    if (same || !older) drop(key, std::move(shared), changes);
  } else if (!older) {
    put(key, std::move(shared), changes);
  }
  return changes;
}

bool Store::learned_after(const ObjectKey& key, const std::string& version) const {
  return learned_.contains(key) && is_older(version, resource_version_of(*objects_.at(key)));
}

std::vector<Change> Store::replace(std::vector<json> objects, const std::string& version) {
  std::vector<Change> changes;
  std::lock_guard lock(mutex_);
  std::set<ObjectKey> gone;
  for (const auto& [key, object] : objects_)
    if (!learned_after(key, version)) gone.insert(key);
  for (const json& object : objects) gone.erase(key_of(object));
  for (const ObjectKey& key : gone) drop(key, nullptr, changes);
  for (json& object : objects) {
    const ObjectKey key = key_of(object);
    if (key.name.empty() || learned_after(key, version)) continue;
    put(key, std::make_shared<const json>(std::move(object)), changes);
    learned_.erase(key);
  }
  for (Change& change : changes) change.from_relist = true;
  return changes;
}

ObjectPtr Store::get(const ObjectKey& key) const {
  std::lock_guard lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<ObjectPtr> Store::list(const std::string& namespace_name) const {
  std::lock_guard lock(mutex_);
  std::vector<ObjectPtr> objects;
  for (const auto& [key, object] : objects_)
    if (namespace_name.empty() || key.namespace_name == namespace_name) objects.push_back(object);
  return objects;
}

std::vector<ObjectPtr> Store::owned_by(const std::string& controller_uid) const {
  std::lock_guard lock(mutex_);
  std::vector<ObjectPtr> objects;
  const auto found = owned_.find(controller_uid);
  if (found == owned_.end()) return objects;
  for (const ObjectKey& key : found->second) objects.push_back(objects_.at(key));
  return objects;
}

std::size_t Store::size() const {
  std::lock_guard lock(mutex_);
  return objects_.size();
}

}  // namespace emj::kube
