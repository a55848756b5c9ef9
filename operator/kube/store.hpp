// SPDX-License-Identifier: Apache-2.0
#pragma once

// The objects of one kind as last seen, with an index by owner. Any thread may call anything; objects are
// handed out as shared and immutable.

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "operator/kube/clock.hpp"
#include "operator/kube/resource.hpp"
#include "operator/kube/watch_framer.hpp"

namespace emj::kube {

using ObjectPtr = std::shared_ptr<const nlohmann::json>;

struct Change {
  enum class Type { Added, Updated, Deleted };
  Type type = Type::Added;
  ObjectKey key;
  ObjectPtr before;          // null when added
  ObjectPtr after;           // null when deleted
  bool from_relist = false;  // found by comparing lists: of a deleted object `before` may be an old state
  Instant received{};        // when its bytes were read
};

class Store {
 public:
  // One event of a watch, or an object that was read live. An object that has taken the name of another one
  // (its uid differs) is a deletion and an addition. Nothing comes back when nothing is new; what is older
  // than what is known is dropped: a live read may be ahead of the watch.
  std::vector<Change> apply(WatchEvent::Type type, nlohmann::json object);
  // A whole list: what is not in it is gone.
  std::vector<Change> replace(std::vector<nlohmann::json> objects);

  ObjectPtr get(const ObjectKey& key) const;  // null: there is none
  std::vector<ObjectPtr> list(const std::string& namespace_name = {}) const;
  std::vector<ObjectPtr> owned_by(const std::string& controller_uid) const;  // ascending by key
  std::size_t size() const;

 private:
  // Both with mutex_ held.
  void put(const ObjectKey& key, ObjectPtr object, std::vector<Change>& changes);
  void drop(const ObjectKey& key, ObjectPtr last, std::vector<Change>& changes);

  mutable std::mutex mutex_;
  std::map<ObjectKey, ObjectPtr> objects_;
  std::map<std::string, std::set<ObjectKey>> owned_;  // by the controller's uid
};

}  // namespace emj::kube
