// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/leader.hpp"

#include <unistd.h>

#include <algorithm>
#include <random>

namespace emj::kube {

using nlohmann::json;

namespace {

const json& spec_of(const json& lease) {
  static const json none = json::object();
  if (!lease.is_object()) return none;
  const auto spec = lease.find("spec");
  return spec != lease.end() && spec->is_object() ? *spec : none;
}

std::string holder_of(const json& lease) {
  const json& spec = spec_of(lease);
  const auto holder = spec.find("holderIdentity");
  return holder != spec.end() && holder->is_string() ? holder->get<std::string>() : std::string();
}

std::int64_t number_of(const json& lease, const char* name, std::int64_t fallback) {
  const json& spec = spec_of(lease);
  const auto number = spec.find(name);
  return number != spec.end() && number->is_number_integer() ? number->get<std::int64_t>() : fallback;
}

}  // namespace

std::string unique_identity() {
  char host[256] = "operator";
  gethostname(host, sizeof host - 1);
  std::random_device device;
  char text[48];
  std::snprintf(text, sizeof text, "_%08x%08x", device(), device());
  return host + std::string(text);
}

LeaderElector::LeaderElector(Client& client, LeaderOptions options, Callbacks callbacks, Clock& clock)
    : client_(client), options_(std::move(options)), callbacks_(std::move(callbacks)), clock_(clock) {
  if (options_.identity.empty()) options_.identity = unique_identity();
  const auto seconds = [](Millis time) { return std::to_string(time.count() / 1000.0).substr(0, 6) + " s"; };
  if (options_.retry_period.count() <= 0 || options_.lease_duration <= options_.renew_deadline ||
      options_.renew_deadline.count() * 10 <= options_.retry_period.count() * 12)
    throw ConfigError("leader election: lease duration " + seconds(options_.lease_duration) +
                      ", renew deadline " + seconds(options_.renew_deadline) + ", retry period " +
                      seconds(options_.retry_period) +
                      ": expected lease duration > renew deadline > 1.2 x retry period > 0");
  if (options_.lease_duration % Seconds(1) != Millis(0))
    throw ConfigError("leader election: lease duration " + seconds(options_.lease_duration) +
                      ": a lease is stored in whole seconds");
}

LeaderElector::~LeaderElector() { stop(); }

void LeaderElector::start() {
  runner_ = std::thread([this] { run(); });
  guard_ = std::thread([this] { guard(); });
}

void LeaderElector::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  condition_.notify_all();
  if (runner_.joinable()) runner_.join();
  if (guard_.joinable()) guard_.join();
}

void LeaderElector::release() {
  stop();
  if (!mine_ || !leading()) return;
  json lease = observed_;
  lease["spec"] = spec(true);
  lease["spec"]["holderIdentity"] = "";
  lease["spec"]["leaseDurationSeconds"] = 1;
  CallOptions options;
  options.urgent = true;
  options.answer_timeout = options_.retry_period;
  const auto answer = client_.update(resources::kLeases, options_.lease, lease, options);
  if (!answer && options_.log) options_.log("the lease was not released: " + answer.error().message);
  std::lock_guard lock(mutex_);
  renewed_.reset();
  mine_ = false;
  if (answer) holder_.clear();
}

bool LeaderElector::leading() const {
  std::lock_guard lock(mutex_);
  return renewed_ && !lost_ && clock_.now() < *renewed_ + options_.renew_deadline;
}

int LeaderElector::lease_transitions() const {
  std::lock_guard lock(mutex_);
  return transitions_;
}

std::string LeaderElector::holder() const {
  std::lock_guard lock(mutex_);
  return holder_;
}

void LeaderElector::run() {
  bool started = false;
  for (;;) {
    const Instant sent = clock_.now();
    const Attempt attempt = try_once();
    if (attempt == Attempt::Held) {
      {
        std::lock_guard lock(mutex_);
        renewed_ = sent;
        if (lost_) return;
      }
      condition_.notify_all();
      if (!started) {
        started = true;
        if (options_.log) options_.log("leading as " + options_.identity);
        if (callbacks_.on_started) callbacks_.on_started(lease_transitions());
      }
    } else if (started && attempt == Attempt::Other) {
      {
        std::lock_guard lock(mutex_);
        if (lost_ || stopping_) return;
        lost_ = true;
      }
      condition_.notify_all();
      if (callbacks_.on_lost) callbacks_.on_lost("the lease is held by " + holder());
      return;
    }
    std::unique_lock lock(mutex_);
    // Candidates do not all come at the same moment.
    Millis period = options_.retry_period;
    if (!started) {
      static thread_local std::mt19937 random{std::random_device{}()};
      period += Millis(std::uniform_int_distribution<Millis::rep>(0, period.count() / 5)(random));
    }
    clock_.wait_until(condition_, lock, clock_.now() + period, [this] { return stopping_ || lost_; });
    if (stopping_ || lost_) return;
  }
}

// Says that leadership is lost even when the renewing thread hangs in a request.
void LeaderElector::guard() {
  std::unique_lock lock(mutex_);
  while (!stopping_ && !lost_) {
    const auto seen = renewed_;
    const Instant deadline = seen ? *seen + options_.renew_deadline : Instant::max();
    if (seen && clock_.now() >= deadline) {
      lost_ = true;
      lock.unlock();
      condition_.notify_all();
      if (callbacks_.on_lost)
        callbacks_.on_lost("the lease could not be renewed for " +
                           std::to_string(options_.renew_deadline.count() / 1000) + " s");
      return;
    }
    clock_.wait_until(condition_, lock, deadline, [&] { return stopping_ || lost_ || renewed_ != seen; });
  }
}

void LeaderElector::observe(const json& lease) {
  if (lease == observed_) return;
  mine_ = false;
  observed_ = lease;
  observed_at_ = clock_.now();
  std::lock_guard lock(mutex_);
  holder_ = holder_of(lease);
  transitions_ = static_cast<int>(number_of(lease, "leaseTransitions", 0));
}

bool LeaderElector::abandoned() const {
  if (holder_of(observed_).empty()) return true;
  const Seconds duration(std::clamp<std::int64_t>(
      number_of(observed_, "leaseDurationSeconds", options_.lease_duration.count() / 1000), 1, 3600));
  return clock_.now() >= observed_at_ + duration;
}

json LeaderElector::spec(bool renewal) const {
  json spec = spec_of(observed_);  // with fields that this version does not know
  const std::string now = micro_time(clock_.wall());
  spec["holderIdentity"] = options_.identity;
  spec["leaseDurationSeconds"] = options_.lease_duration.count() / 1000;
  spec["renewTime"] = now;
  if (!renewal) {
    spec["acquireTime"] = now;
    spec["leaseTransitions"] = observed_.is_null() ? 0 : number_of(observed_, "leaseTransitions", 0) + 1;
  }
  return spec;
}

LeaderElector::Attempt LeaderElector::create() {
  observed_ = nullptr;
  mine_ = false;
  json lease{{"apiVersion", resources::kLeases.api_version()}, {"kind", resources::kLeases.kind}};
  lease["metadata"] = {{"name", options_.lease.name}, {"namespace", options_.lease.namespace_name}};
  lease["spec"] = spec(false);
  CallOptions options;
  options.urgent = true;
  options.answer_timeout = options_.retry_period;
  auto answer = client_.create(resources::kLeases, options_.lease.namespace_name, lease, options);
  if (!answer) {
    if (options_.log && answer.error().kind != ApiError::Kind::AlreadyExists)
      options_.log(answer.error().message);
    return Attempt::Failed;
  }
  observe(answer.value());
  mine_ = was_leading_ = true;
  return Attempt::Held;
}

LeaderElector::Attempt LeaderElector::take_over(const json& seen) {
  json lease = seen;
  lease["spec"] = spec(mine_);
  CallOptions options;
  options.urgent = true;
  options.answer_timeout = options_.retry_period;
  auto answer = client_.update(resources::kLeases, options_.lease, lease, options);
  if (!answer) {
    if (options_.log && answer.error().kind != ApiError::Kind::Conflict) options_.log(answer.error().message);
    return Attempt::Failed;
  }
  observe(answer.value());
  mine_ = was_leading_ = true;
  return Attempt::Held;
}

LeaderElector::Attempt LeaderElector::try_once() {
  // The ordinary renewal is one request: nobody else writes a lease that is held.
  if (mine_ && take_over(observed_) == Attempt::Held) return Attempt::Held;
  CallOptions options;
  options.urgent = true;
  options.answer_timeout = options_.retry_period;
  const bool was_mine = mine_;
  auto answer = client_.get(resources::kLeases, options_.lease, options);
  if (!answer) {
    if (answer.error().kind == ApiError::Kind::NotFound) return create();
    if (options_.log) options_.log(answer.error().message);
    return Attempt::Failed;
  }
  observe(answer.value());
  if (was_mine && holder_of(observed_) == options_.identity) {
    mine_ = true;  // our own write, whose answer was lost
    return take_over(observed_);
  }
  // Who has led and holds the lease no more has lost it, whoever has it now.
  if (was_leading_) return Attempt::Other;
  return abandoned() ? take_over(observed_) : Attempt::Other;
}

}  // namespace emj::kube
