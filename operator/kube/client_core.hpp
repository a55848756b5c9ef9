// SPDX-License-Identifier: Apache-2.0
// Inside the client: connections, credentials, counters. Shared by Client and Watch; nobody else's business.
#pragma once
#include <list>
#include <map>
#include <set>
#include <tuple>

#include "operator/kube/client.hpp"
#include "operator/kube/connection.hpp"
#include "operator/kube/credentials.hpp"
#include "operator/kube/in_flight.hpp"
#include "operator/kube/rate_limiter.hpp"

namespace emj::kube {

struct Client::Shared {
  Shared(Config config, ClientOptions options_, Clock& clock_);

  // A kept connection that still has today's credentials, or a new one. Throws ConfigError.
  std::unique_ptr<Connection> take(const Credentials::Snapshot& snapshot);
  void give_back(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connect(const Credentials::Snapshot& snapshot);
  // Waits unless stopped meanwhile (false).
  bool pause(Millis time);
  void count(const std::string& verb, const std::string& resource, int status);
  std::map<std::string, std::string> headers(const Credentials::Snapshot& snapshot) const;

  const ClientOptions options;
  Clock& clock;
  Credentials credentials;
  const ServerAddress address;
  RateLimiter limiter;
  InFlight in_flight;
  std::atomic<std::uint64_t> writes{0};

  std::mutex mutex;
  std::condition_variable condition;
  bool stopped = false;
  std::list<std::unique_ptr<Connection>> idle;
  std::set<Connection*> busy;

  mutable std::mutex count_mutex;
  std::map<std::tuple<std::string, std::string, int>, std::uint64_t> counters;
};

// One request, as described by the verbs.
struct Client::Call {
  std::string verb;      // get, list, create, update, patch, delete
  std::string resource;  // for counters: "pods/status"
  std::string method;
  std::string target{};
  std::string asked{};  // for messages: "deleting pods default/x"
  ObjectKey key{};
  std::string body{};
  std::string content_type{};
  bool write = false;
  bool dry_run = false;
  bool urgent = false;
  Millis answer_timeout{0};
};

}  // namespace emj::kube
