// SPDX-License-Identifier: Apache-2.0
// What we have written and the cache has not yet shown us. Counting pods in a cache that lags behind one's
// own writes creates or deletes too many: wait until the owner is settled. Any thread may call anything.
#pragma once
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "operator/kube/clock.hpp"
#include "operator/kube/store.hpp"

namespace emj::kube {

class Expectations {
 public:
  explicit Expectations(Clock& clock, Seconds timeout = Seconds(20)) : clock_(clock), timeout_(timeout) {}

  // After a write that was done: `object` is the server's answer (a created pod, one that is being deleted).
  void wrote(const std::string& owner, const nlohmann::json& object);
  // After a delete that was done and whose answer does not say whether the object stays for a while.
  void deleted(const std::string& owner, const ObjectKey& key, const std::string& uid);
  // After a write that was refused because `object`, the cache's, is not the newest: another one is to come.
  void outdated(const std::string& owner, const nlohmann::json& object);
  // To be called after either, with what the cache then holds under that name (or null): the events may have
  // come before the answer to our own request. In this order nothing falls between.
  void cached(const std::string& uid, const ObjectPtr& object);
  // Every change that the cache has taken in. True: it was waited for.
  bool seen(const Change& change);

  // True when the cache shows all that was written for this owner. An expectation that is not met within the
  // timeout is given up: an event may have been lost in a way that nobody thought of. What was given up since
  // the last call is added to `given_up`, for the caller to read it live.
  bool settled(const std::string& owner, std::vector<ObjectKey>* given_up = nullptr);
  // When an unsettled owner is given up at the latest; now when it is settled.
  Instant settled_by(const std::string& owner);

 private:
  struct Pending {
    std::string version;  // empty: waits for the object to be gone or marked for deletion
    Instant deadline;
    ObjectKey key;
  };
  void expect(const std::string& owner, const std::string& uid, const ObjectKey& key,
              const std::string& version);
  // With mutex_ held. `object` null: it is gone. True: some owner has waited for this.
  bool resolve(const std::string& uid, const nlohmann::json* object);
  void expire(const std::string& owner);  // with mutex_ held

  Clock& clock_;
  const Seconds timeout_;
  std::mutex mutex_;
  std::map<std::string, std::map<std::string, Pending>> pending_;  // owner -> uid
  std::map<std::string, std::set<std::string>> owners_;            // uid -> owners that wait for it
  std::map<std::string, std::vector<ObjectKey>> given_up_;         // by owner, until settled() tells
  RecentUids gone_;  // the events of a short life may come before the answer to our own request
};

}  // namespace emj::kube
