// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/store.hpp"

namespace emj::kube {

using nlohmann::json;

namespace {

bool is_older(const json& object, const json& than) {
  const auto version = version_number(resource_version_of(object));
  const auto known = version_number(resource_version_of(than));
  return version && known && *version < *known;
}

}  // namespace

void Store::drop(const ObjectKey& key, ObjectPtr last, std::vector<Change>& changes) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return;
  const std::string owner = controller_uid_of(*found->second);
  if (const auto set = owned_.find(owner); set != owned_.end()) {
    set->second.erase(key);
    if (set->second.empty()) owned_.erase(set);
  }
  ObjectPtr before = last ? std::move(last) : found->second;
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
  std::vector<Change> changes;
  if (type == WatchEvent::Type::Bookmark || type == WatchEvent::Type::Error) return changes;
  const ObjectKey key = key_of(object);
  if (key.name.empty()) return changes;
  auto shared = std::make_shared<const json>(std::move(object));
  std::lock_guard lock(mutex_);
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

std::vector<Change> Store::replace(std::vector<json> objects) {
  std::vector<Change> changes;
  std::lock_guard lock(mutex_);
  std::set<ObjectKey> gone;
  for (const auto& [key, object] : objects_) gone.insert(key);
  for (const json& object : objects) gone.erase(key_of(object));
  for (const ObjectKey& key : gone) drop(key, nullptr, changes);
  for (json& object : objects) {
    const ObjectKey key = key_of(object);
    if (!key.name.empty()) put(key, std::make_shared<const json>(std::move(object)), changes);
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
