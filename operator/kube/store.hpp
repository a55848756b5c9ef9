// SPDX-License-Identifier: Apache-2.0
// The objects of one kind as last seen, with an index by owner. Any thread may call anything; objects are
// handed out as shared and immutable.
#pragma once
#include <deque>
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
  Instant received{};        // when its bytes were read; zero: the answer to a request of our own
};

// Whether an update has changed more than the version: what is left out when an object is reduced changes
// often.
bool is_news(const Change& change);

// The uids that were added last, as many as the server may still have to tell of.
class RecentUids {
 public:
  void add(const std::string& uid);
  bool contains(const std::string& uid) const { return uids_.contains(uid); }

 private:
  std::deque<std::string> order_;
  std::set<std::string> uids_;
};

class Store {
 public:
  // One event of a watch. An object that has taken the name of another one (its uid differs) is a deletion
  // and an addition. Nothing comes back when nothing is new; what is older than what is known is dropped.
  std::vector<Change> apply(WatchEvent::Type type, nlohmann::json object);
  // An object as the server has answered a request with: ahead of the watch as a rule, and behind it when the
  // watch has already shown that it is gone, which counts.
  std::vector<Change> learn(nlohmann::json object);
  // A whole list, of `version`: what is not in it is gone, unless it was learned and is younger than the
  // list.
  std::vector<Change> replace(std::vector<nlohmann::json> objects, const std::string& version);

  ObjectPtr get(const ObjectKey& key) const;  // null: there is none
  std::vector<ObjectPtr> list(const std::string& namespace_name = {}) const;
  std::vector<ObjectPtr> owned_by(const std::string& controller_uid) const;  // ascending by key
  std::size_t size() const;

 private:
  // With mutex_ held.
  std::vector<Change> apply_locked(WatchEvent::Type type, nlohmann::json object);
  bool learned_after(const ObjectKey& key, const std::string& version) const;
  void put(const ObjectKey& key, ObjectPtr object, std::vector<Change>& changes);
  void drop(const ObjectKey& key, ObjectPtr last, std::vector<Change>& changes);

  mutable std::mutex mutex_;
  std::map<ObjectKey, ObjectPtr> objects_;
  std::map<std::string, std::set<ObjectKey>> owned_;  // by the controller's uid
  std::set<ObjectKey> learned_;                       // and shown by no watch since
  RecentUids gone_;
};

}  // namespace emj::kube
