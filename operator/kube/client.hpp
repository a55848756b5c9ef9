// SPDX-License-Identifier: Apache-2.0
// Typed requests to the API server over generic JSON objects.
//
// Threads: every member may be called from any thread at any time. A request borrows one of the kept
// connections, so threads do not wait for each other but in the rate limit.
// Blocking: a call ends after the rate limit's wait + connect and answer timeouts + bounded retries
// (429 and 503 with Retry-After; a read once more on a fresh connection). Longer waits are left to the
// caller: the error carries retry_after. Writes are never repeated after the connection was lost, since the
// server may have done them.
// Nothing throws but the constructor (ConfigError).
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "operator/kube/config.hpp"
#include "operator/kube/resource.hpp"
#include "operator/kube/result.hpp"

namespace emj::kube {

// Handed to before_write right before the request goes out, on the caller's thread.
struct WriteInfo {
  std::uint64_t number = 0;  // 1, 2, ... over all writes of this client, repeated ones count again
  std::string verb;          // create, update, patch, delete
  std::string resource;      // "pods", "elasticmpijobs/status"
  ObjectKey key;
  bool dry_run = false;
};

struct RequestCount {
  std::string verb;      // also get, list, watch
  std::string resource;  // as in WriteInfo
  int status = 0;        // 0: no answer
  std::uint64_t count = 0;
};

// Of one request that went out, also of one that got no answer.
struct RequestTime {
  std::string verb, resource;                                 // as in RequestCount
  std::chrono::steady_clock::duration limited{}, answered{};  // waiting for the rate limit, for the server
};

struct ClientOptions {
  std::string user_agent = "elastic-mpi-operator";
  std::string field_manager = "elastic-mpi-operator";
  double requests_per_second = 100;  // on average; without watches and urgent calls
  int burst = 200;
  int in_flight = 64;        // requests under way at once, at most; fewer while answers take longer than
  Millis late_answer{1000};  // this (lists, urgent calls and watches do not count)
  Millis connect_timeout{5000};
  Millis answer_timeout{30000};
  int retries = 3;             // after 429 and 503
  Millis longest_retry{5000};  // a longer Retry-After is the caller's to wait for
  std::size_t idle_connections = 8;
  // The one place where every write passes: counts, crash tests.
  std::function<void(const WriteInfo&)> before_write;
  std::function<void(const RequestTime&)> took;  // on the caller's thread
  Log log;
};

struct CallOptions {
  bool dry_run = false;
  bool strict = false;          // fields that the server does not know are errors, not warnings
  std::string subresource{};    // "status", "scale", ...
  std::string field_manager{};  // else the client's
  bool force = false;           // server-side apply: take fields over from other managers
  Millis answer_timeout{0};     // 0: the client's
  bool urgent = false;          // no rate limit, no retries: leases
};

struct ListOptions {
  std::string label_selector{}, field_selector{};
  std::string resource_version{};  // "": the newest state; a version: not older than it
  int limit = 500;                 // objects a page
};

struct ObjectList {
  std::vector<nlohmann::json> items;  // with apiVersion and kind, which lists leave out
  std::string resource_version;       // of the list: the one to watch from
  std::string continue_token;         // of a page; empty on the last one
};

struct DeleteOptions {
  std::string uid{};                       // precondition; empty only where any object of that name may go
  std::string resource_version{};          // precondition, optional
  std::string propagation = "Background";  // Background, Foreground or Orphan
  int grace_seconds = -1;                  // -1: the object's own
  bool dry_run = false;
};

class Watch;

class Client {
 public:
  Client(Config config, ClientOptions options = {}, Clock& clock = real_clock());
  ~Client();  // no call may be under way; Watches must be gone
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  using Object = ApiResult<nlohmann::json>;
  Object get(const Resource& resource, const ObjectKey& key, const CallOptions& options = {});
  // One page.
  ApiResult<ObjectList> list_page(const Resource& resource, const std::string& namespace_name,
                                  const ListOptions& options, const std::string& continue_token = {});
  // All pages. `reduce`, when given, is applied to every item as its page comes: lists of pods are large.
  ApiResult<ObjectList> list(const Resource& resource, const std::string& namespace_name,
                             const ListOptions& options = {},
                             const std::function<void(nlohmann::json&)>& reduce = {});
  Object create(const Resource& resource, const std::string& namespace_name, const nlohmann::json& object,
                const CallOptions& options = {});
  // PUT: fails with Conflict unless metadata.resourceVersion is the present one.
  Object update(const Resource& resource, const ObjectKey& key, const nlohmann::json& object,
                const CallOptions& options = {});
  // Server-side apply: `object` holds all fields that we own, and apiVersion and kind.
  Object apply(const Resource& resource, const ObjectKey& key, const nlohmann::json& object,
               const CallOptions& options = {});
  Object merge_patch(const Resource& resource, const ObjectKey& key, const nlohmann::json& patch,
                     const CallOptions& options = {});
  // The object as it is then (it may stay for its grace period), or a Status.
  Object remove(const Resource& resource, const ObjectKey& key, const DeleteOptions& options);
  // "/version", "/readyz?verbose" and the like; the body as text.
  ApiResult<std::string> get_text(const std::string& target);

  // The text at `target` piece by piece as it comes, for as long as the server sends it: a log that grows. On
  // a connection of its own; no rate limit, no retries but once after a 401. `receive` may end it by false.
  // Without an error it has ended properly.
  std::optional<ApiError> stream_text(const std::string& target,
                                      const std::function<bool(const char* data, std::size_t size)>& receive);

  std::unique_ptr<Watch> make_watch();  // over a connection of its own

  // Cuts requests under way and refuses new ones with Stopped. For the end of the process.
  void stop();

  std::vector<RequestCount> counts() const;
  std::uint64_t writes() const;
  const Config& config() const;
  const ClientOptions& options() const;

 private:
  friend class Watch;
  struct Shared;
  struct Call;
  ApiResult<nlohmann::json> object_call(Call call);
  ApiResult<std::string> perform(Call& call);
  Object patch(const char* type, const Resource& resource, const ObjectKey& key, const nlohmann::json& body,
               const CallOptions& options, bool apply);

  std::unique_ptr<Shared> shared_;
};

}  // namespace emj::kube
