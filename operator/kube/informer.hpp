// SPDX-License-Identifier: Apache-2.0
// A cache of one collection that is kept up to date, with callbacks: the ordinary way to read the cluster.
// Reads are from memory and may lag, but not behind what the server has answered our own writes with; where
// it has not said what there is now (a deletion, a conflict) ask settled() before counting. Read live
// (Client::get) before anything destructive.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "operator/kube/expectations.hpp"
#include "operator/kube/store.hpp"
#include "operator/kube/watcher.hpp"

namespace emj::kube {

class Informer : private WatchSink {
 public:
  // `on_change` is called on the watch's thread, or on that of an own write, after the store has changed and
  // without locks: keep it short, as a rule it puts a key into a WorkQueue. Nobody is told of an update that
  // changes nothing of the reduced object, unless settled() was waiting for it.
  Informer(Client& client, Resource resource, WatcherOptions options,
           std::function<void(const Change&)> on_change, Clock& clock = real_clock());
  ~Informer() override { stop(); }

  void start() { watcher_.start(); }
  void stop() { watcher_.stop(); }
  bool synced() const;               // the first list is in the store and its callbacks were called
  bool wait_synced(Millis timeout);  // real time

  ObjectPtr get(const ObjectKey& key) const { return store_.get(key); }
  std::vector<ObjectPtr> list(const std::string& namespace_name = {}) const {
    return store_.list(namespace_name);
  }
  std::vector<ObjectPtr> owned_by(const std::string& uid) const { return store_.owned_by(uid); }
  std::size_t size() const { return store_.size(); }

  // Own writes (see Expectations): `owner` is whatever the caller counts by, its uid as a rule.
  void wrote(const std::string& owner,
             nlohmann::json answer);  // the object, whole: it is in the store at once
  // An answer that is another object about this one (a Scale): it has its name, uid and version.
  void wrote_beside(const std::string& owner, const nlohmann::json& answer);
  void deleted(const std::string& owner, const ObjectKey& key, const std::string& uid);
  void outdated(const std::string& owner, const nlohmann::json& object);
  // What has not shown in time is read live: a lost event costs a request then, never a standstill.
  bool settled(const std::string& owner);
  Instant settled_by(const std::string& owner) { return expectations_.settled_by(owner); }

  std::chrono::steady_clock::duration age() const { return watcher_.age(); }
  std::chrono::steady_clock::duration idle() const { return watcher_.idle(); }
  WatcherStats stats() const { return watcher_.stats(); }

 private:
  void replaced(std::vector<nlohmann::json> objects, const std::string& version) override;
  void changed(WatchEvent event, Instant received) override;
  void tell(std::vector<Change> changes, Instant received);
  void read_live(const ObjectKey& key);

  Client& client_;
  const Resource resource_;
  const std::function<void(nlohmann::json&)> reduce_;
  const Log log_;
  Clock& clock_;
  Store store_;
  Expectations expectations_;
  const std::function<void(const Change&)> on_change_;
  mutable std::mutex mutex_;
  std::condition_variable condition_;
  bool synced_ = false;
  Watcher watcher_;  // last: its thread uses the rest
};

}  // namespace emj::kube
