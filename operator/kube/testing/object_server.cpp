// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/testing/object_server.hpp"

#include <algorithm>
#include <chrono>

#include "operator/kube/config.hpp"

namespace emj::kube::testing {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

std::string failure(int code, const std::string& reason, const std::string& message) {
  return json{{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}}.dump();
}

// The path of the object itself: without /status and /scale.
std::string object_of(const std::string& path) {
  for (const char* part : {"/status", "/scale"})
    if (path.ends_with(part)) return path.substr(0, path.rfind('/'));
  return path;
}

// "/api/v1/namespaces/a/pods/p" but not ".../pods": after group and version, kinds and names take turns.
bool names_an_object(const std::string& path) {
  const auto parts = std::ranges::count(path, '/');
  return (parts - (path.starts_with("/api/") ? 2 : 3)) % 2 == 0;
}

// Of one namespace, or "/apis/GROUP/VERSION/PLURAL" of all.
bool is_in(const std::string& path, const std::string& collection) {
  if (collection.find("/namespaces/") != std::string::npos) return path.starts_with(collection + "/");
  return path.find(collection.substr(collection.rfind('/')) + "/") != std::string::npos;
}

}  // namespace

ObjectServer::ObjectServer()
    : server_([this](const Request& request, Exchange& exchange) { answer(request, exchange); }) {}

void ObjectServer::store(const std::string& path, json object) {
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  if (!object["metadata"].contains("uid")) object["metadata"]["uid"] = "uid-" + std::to_string(version_);
  const json written = object.value("stringData", json::object());
  for (const auto& [name, text] : written.items())
    object["data"][name] = encode_base64(text.get<std::string>());
  object.erase("stringData");
  const bool known = objects_.contains(path);
  changes_.push_back({path, known ? "MODIFIED" : "ADDED", object});
  objects_[path] = std::move(object);
  changed_.notify_all();
}

void ObjectServer::put(const std::string& path, json object) {
  const std::lock_guard lock(mutex_);
  store(path, std::move(object));
}

void ObjectServer::erase(const std::string& path) {
  const std::lock_guard lock(mutex_);
  take_away(path);
}

void ObjectServer::take_away(const std::string& path) {
  json object = objects_.at(path);
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  changes_.push_back({path, "DELETED", object});
  objects_.erase(path);
  changed_.notify_all();
}

void ObjectServer::clear() {
  const std::lock_guard lock(mutex_);
  objects_.clear();
  changes_.clear();
}

json ObjectServer::object(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(path);
  return found == objects_.end() ? json() : found->second;
}

void ObjectServer::refuse_dry_runs(int status, const std::string& message) {
  const std::lock_guard lock(mutex_);
  refusal_ = status;
  refusal_message_ = message;
}

std::vector<std::string> ObjectServer::dry_runs() const {
  const std::lock_guard lock(mutex_);
  return dry_runs_;
}

std::vector<json> ObjectServer::deletions() const {
  const std::lock_guard lock(mutex_);
  return deletions_;
}

bool ObjectServer::wait_until(const std::function<bool()>& so) const {
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (std::chrono::steady_clock::now() < end) {
    if (so()) return true;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 10ms);
  }
  return false;
}

void ObjectServer::answer(const Request& request, Exchange& exchange) {
  if (request.query.contains("watch")) return watch(request.path, exchange);
  if (request.method == "POST") return create(request, exchange);
  if (request.method != "GET") return change(request, exchange);
  const std::lock_guard lock(mutex_);
  if (const auto found = objects_.find(request.path); found != objects_.end())
    return exchange.reply(200, found->second.dump());
  if (names_an_object(request.path))
    return exchange.reply(404, failure(404, "NotFound", request.path + " not found"));
  json items = json::array();
  for (const auto& [path, object] : objects_)
    if (is_in(path, request.path)) items.push_back(object);
  exchange.reply(
      200, json{{"metadata", {{"resourceVersion", std::to_string(version_)}}}, {"items", items}}.dump());
}

void ObjectServer::watch(const std::string& collection, Exchange& exchange) {
  const std::string part = collection.substr(collection.rfind('/')) + "/";
  exchange.begin_chunks();
  std::size_t next = 0;
  while (!exchange.stopping()) {
    std::unique_lock lock(mutex_);
    if (next >= changes_.size()) {
      changed_.wait_for(lock, 10ms);
      continue;
    }
    const Change change = changes_[next++];
    lock.unlock();
    if (change.path.find(part) == std::string::npos) continue;
    exchange.chunk(json{{"type", change.type}, {"object", change.object}}.dump() + "\n");
  }
}

void ObjectServer::create(const Request& request, Exchange& exchange) {
  json object = json::parse(request.body);
  const std::string path = request.path + "/" + object["metadata"].value("name", "");
  std::unique_lock lock(mutex_);
  if (meeting_of_ > 0 && request.path.ends_with(meeting_) && !request.query.contains("dryRun") &&
      before_meeting_++ > 0) {
    most_met_ = std::max(most_met_, ++met_);
    changed_.notify_all();
    changed_.wait_for(lock, 20s, [this] { return most_met_ >= meeting_of_; });
    --met_;
  }
  if (request.query.contains("dryRun")) {
    std::string query;
    for (const auto& [name, value] : request.query) query.append(name).append("=").append(value).append("&");
    dry_runs_.push_back(query);
    if (refusal_ > 0) return exchange.reply(refusal_, failure(refusal_, "BadRequest", refusal_message_));
  }
  if (objects_.contains(path)) {
    if (path == vanishing_ && !request.query.contains("dryRun")) take_away(path);
    return exchange.reply(409, failure(409, "AlreadyExists", path + " exists"));
  }
  if (!request.query.contains("dryRun")) {
    store(path, object);
    object = objects_[path];
  }
  exchange.reply(201, object.dump());
}

void ObjectServer::let_vanish(const std::string& path) {
  const std::lock_guard lock(mutex_);
  vanishing_ = path;
}

void ObjectServer::let_creates_meet(const std::string& plural, int many) {
  const std::lock_guard lock(mutex_);
  meeting_ = "/" + plural;
  meeting_of_ = many;
}

int ObjectServer::creates_at_once() const {
  const std::lock_guard lock(mutex_);
  return most_met_;
}

void ObjectServer::change(const Request& request, Exchange& exchange) {
  const std::string path = object_of(request.path);
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(path);
  if (found == objects_.end()) return exchange.reply(404, failure(404, "NotFound", path + " not found"));
  if (request.method == "DELETE") {
    deletions_.push_back(json::parse(request.body));
    json gone = found->second;
    gone["metadata"]["resourceVersion"] = std::to_string(++version_);
    changes_.push_back({path, "DELETED", gone});
    objects_.erase(found);
    changed_.notify_all();
    return exchange.reply(200, gone.dump());
  }
  const json body = json::parse(request.body);
  const json& metadata = body.value("metadata", json::object());
  for (const char* name : {"resourceVersion", "uid"})
    if (metadata.contains(name) && metadata[name] != found->second["metadata"][name])
      return exchange.reply(409, failure(409, "Conflict", std::string(name) + " is another one"));
  json changed = found->second;
  if (request.method == "PUT")
    changed["status"] = body["status"];  // of the status subresource alone
  else
    changed.merge_patch(body);
  if (!request.query.contains("dryRun")) {
    store(path, changed);
    changed = objects_[path];
  }
  exchange.reply(200, changed.dump());
}

}  // namespace emj::kube::testing
