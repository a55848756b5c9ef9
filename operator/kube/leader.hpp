// SPDX-License-Identifier: Apache-2.0
// Leader election on a Lease. Times of other machines are never compared with ours: a lease counts as
// abandoned when *we* have seen no change of it for its duration. Leadership does not fence: an old leader's
// last requests may still arrive. Put the fence into what you write (decisions K3).
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "operator/kube/client.hpp"

namespace emj::kube {

struct LeaderOptions {
  ObjectKey lease{};
  // Unique for each process: a restarted pod of the same name is another candidate. Empty: host name + uuid.
  std::string identity{};
  Millis lease_duration{15000};
  Millis renew_deadline{10000};
  Millis retry_period{2000};
  Log log{};
};
std::string unique_identity();

class LeaderElector {
 public:
  // `on_started` and `on_lost` are called once at most each, on threads of the elector. `on_lost` means that
  // another process may lead from now on: end this one at once, do not clean up. It is called exactly
  // renew_deadline after the last successful renewal was *sent*, even while a request hangs.
  struct Callbacks {
    std::function<void(int lease_transitions)> on_started;
    std::function<void(const std::string& why)> on_lost;
  };
  // Throws ConfigError unless lease_duration > renew_deadline > 1.2 x retry_period. The client's hooks see
  // the lease's writes; a client of its own keeps the lease away from other traffic.
  LeaderElector(Client& client, LeaderOptions options, Callbacks callbacks, Clock& clock = real_clock());
  ~LeaderElector();  // stop() without release

  void start();
  // The last act of a clean shutdown: stops renewing and, when leading, gives the lease up so that the next
  // candidate need not wait. `on_lost` is not called.
  void release();

  bool leading() const;           // false from the renew deadline on, whatever the threads are doing
  int lease_transitions() const;  // of the lease as last seen
  std::string holder() const;     // as last seen
  const std::string& identity() const { return options_.identity; }

 private:
  enum class Attempt { Held, Other, Failed };
  void run();
  void guard();
  Attempt try_once();
  Attempt create();
  Attempt take_over(const nlohmann::json& lease);
  void observe(const nlohmann::json& lease);
  bool abandoned() const;
  nlohmann::json spec(bool renewal) const;
  void stop();

  Client& client_;
  LeaderOptions options_;
  const Callbacks callbacks_;
  Clock& clock_;

  // The renewing thread's own.
  nlohmann::json observed_;  // the Lease as last seen; null: none
  Instant observed_at_{};
  bool mine_ = false;         // this process has written the lease as observed
  bool was_leading_ = false;  // ever

  mutable std::mutex mutex_;
  std::condition_variable condition_;
  std::optional<Instant> renewed_;  // when the last successful renewal was sent
  std::string holder_;
  int transitions_ = 0;
  bool stopping_ = false, lost_ = false;
  std::thread runner_, guard_;
};

}  // namespace emj::kube
