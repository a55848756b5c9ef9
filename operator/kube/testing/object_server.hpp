// SPDX-License-Identifier: Apache-2.0
// Objects by path behind HTTP, with as much of an API server's manners as is needed to see what a client
// writes: resource versions, conflicts, dry runs, one watch event for each change. No admission, no defaults.
#pragma once
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operator/kube/testing/stub_server.hpp"

namespace emj::kube::testing {

class ObjectServer {
 public:
  using json = nlohmann::json;
  ObjectServer();

  Config config() const { return server_.config(); }
  void put(const std::string& path, json object);  // with a new resource version; watches are told
  void erase(const std::string& path);
  void clear();
  json object(const std::string& path) const;  // null: none
  // From now on creating with dryRun answers so.
  void refuse_dry_runs(int status, const std::string& message);
  std::vector<std::string> dry_runs() const;  // queries of POSTs with dryRun
  std::vector<json> deletions() const;        // what DELETEs said
  // Once a create of it has been refused because it is there, it is there no more.
  void let_vanish(const std::string& path);
  // Creates of `plural` are answered when so many wait, or after 20 s; but the first, at once. How many have
  // waited at a time, at most.
  void let_creates_meet(const std::string& plural, int many);
  int creates_at_once() const;
  // Looks again at each change and now and then, at most 20 s.
  bool wait_until(const std::function<bool()>& so) const;

 private:
  struct Change {
    std::string path, type;
    json object;
  };
  void answer(const Request& request, Exchange& exchange);
  void watch(const std::string& collection, Exchange& exchange);
  void create(const Request& request, Exchange& exchange);
  void change(const Request& request, Exchange& exchange);
  void store(const std::string& path, json object);  // with mutex_ held
  void take_away(const std::string& path);           // with mutex_ held

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<std::string, json> objects_;
  std::vector<Change> changes_;
  std::vector<std::string> dry_runs_;
  std::vector<json> deletions_;
  std::string vanishing_;
  std::string meeting_;  // the plural
  int meeting_of_ = 0, met_ = 0, most_met_ = 0, before_meeting_ = 0;
  int refusal_ = 0;
  std::string refusal_message_;
  int version_ = 100;
  StubServer server_;  // last: its threads use the rest
};

}  // namespace emj::kube::testing
