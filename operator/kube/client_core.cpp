// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/client_core.hpp"

#include <algorithm>
#include <optional>

namespace emj::kube {

Client::Shared::Shared(Config config, ClientOptions options_, Clock& clock_)
    : options(std::move(options_)),
      clock(clock_),
      credentials(std::move(config), clock_, options.log),
      address(parse_server(credentials.config().server, credentials.config().origin)),
      limiter(options.requests_per_second, options.burst, clock_),
      in_flight(options.in_flight, options.late_answer, clock_) {}

std::unique_ptr<Connection> Client::Shared::connect(const Credentials::Snapshot& snapshot) {
  const Config& config = credentials.config();
  return std::make_unique<Connection>(address, snapshot.tls, config.tls_server_name,
                                      config.insecure_skip_tls_verify);
}

std::unique_ptr<Connection> Client::Shared::take(const Credentials::Snapshot& snapshot) {
  std::unique_ptr<Connection> connection;
  {
    std::lock_guard lock(mutex);
    std::erase_if(idle, [&](const auto& kept) { return kept->tls() != snapshot.tls; });
    if (!idle.empty()) {
      connection = std::move(idle.back());  // the one used last is the likeliest to be alive
      idle.pop_back();
    }
  }
  if (!connection) connection = connect(snapshot);
  std::lock_guard lock(mutex);
  if (stopped) connection->interrupt();
  busy.insert(connection.get());
  return connection;
}

void Client::Shared::give_back(std::unique_ptr<Connection> connection) {
  std::lock_guard lock(mutex);
  busy.erase(connection.get());
  if (!stopped && idle.size() < options.idle_connections) idle.push_back(std::move(connection));
  condition.notify_all();
}

bool Client::Shared::pause(Millis time) {
  std::unique_lock lock(mutex);
  clock.wait_until(condition, lock, clock.now() + time, [this] { return stopped; });
  return !stopped;
}

void Client::Shared::count(const std::string& verb, const std::string& resource, int status) {
  std::lock_guard lock(count_mutex);
  ++counters[{verb, resource, status}];
}

std::map<std::string, std::string> Client::Shared::headers(const Credentials::Snapshot& snapshot) const {
  std::map<std::string, std::string> headers{{"Accept", "application/json"},
                                             {"User-Agent", options.user_agent}};
  if (!snapshot.token.empty()) headers["Authorization"] = "Bearer " + snapshot.token;
  return headers;
}

Client::Client(Config config, ClientOptions options, Clock& clock)
    : shared_(std::make_unique<Shared>(std::move(config), std::move(options), clock)) {}

Client::~Client() = default;

// A connection that is only being made may escape one interrupt(), so it is repeated until all have ended.
void Client::stop() {
  shared_->limiter.stop();
  shared_->in_flight.stop();
  std::unique_lock lock(shared_->mutex);
  shared_->stopped = true;
  shared_->condition.notify_all();
  while (!shared_->busy.empty()) {
    for (Connection* connection : shared_->busy) connection->interrupt();
    shared_->condition.wait_for(lock, Millis(20));
  }
}

std::vector<RequestCount> Client::counts() const {
  std::lock_guard lock(shared_->count_mutex);
  std::vector<RequestCount> counts;
  for (const auto& [what, count] : shared_->counters)
    counts.push_back({std::get<0>(what), std::get<1>(what), std::get<2>(what), count});
  return counts;
}

std::uint64_t Client::writes() const { return shared_->writes; }
const Config& Client::config() const { return shared_->credentials.config(); }
const ClientOptions& Client::options() const { return shared_->options; }

namespace {

// Network trouble, in the caller's terms.
ApiError transport_error(const std::string& asked, const HttpOutcome& outcome) {
  ApiError error;
  error.kind = outcome.interrupted ? ApiError::Kind::Stopped
               : outcome.connected ? ApiError::Kind::Lost
                                   : ApiError::Kind::Unreachable;
  error.message = asked + ": " + outcome.problem;
  return error;
}

// Of a stream: a program may print nothing for long. A peer that is gone is noticed by TCP, far earlier.
constexpr std::chrono::hours kLongestSilence{24 * 7};

// Too many requests and unavailable are no answers.
void told(InFlight::Turn& turn, const HttpOutcome& outcome) {
  if (!outcome.connected) return turn.not_sent();
  if (outcome.complete && outcome.status != 429 && outcome.status != 503) turn.answered();
}

ApiError stopped_error(const std::string& asked) {
  ApiError error;
  error.kind = ApiError::Kind::Stopped;
  error.message = asked + ": stopped";
  return error;
}

}  // namespace

ApiResult<std::string> Client::perform(Call& call) {
  Shared& shared = *shared_;
  const std::string asked = call.asked + " at " + config().server;
  bool renewed = false, repeated = false;
  for (int retry = 0;;) {
    const Instant begin = shared.clock.now();
    if (!call.urgent && !shared.limiter.wait()) return stopped_error(asked);
    std::optional<InFlight::Turn> turn;
    if (!call.urgent && call.verb != "list") turn.emplace(shared.in_flight);
    if (turn && !turn->may_go()) return stopped_error(asked);
    const Instant limited = shared.clock.now();
    const auto snapshot = shared.credentials.current();
    HttpRequest request{call.method, call.target, call.body, call.content_type, shared.headers(snapshot)};
    request.connect_timeout = shared.options.connect_timeout;
    request.answer_timeout =
        call.answer_timeout.count() > 0 ? call.answer_timeout : shared.options.answer_timeout;
    request.connect_timeout = std::min(request.connect_timeout, request.answer_timeout);
    if (call.write) {
      const std::uint64_t number = ++shared.writes;
      if (shared.options.before_write)
        shared.options.before_write({number, call.verb, call.resource, call.key, call.dry_run});
    }
    std::unique_ptr<Connection> connection;
    try {
      connection = shared.take(snapshot);
    } catch (const ConfigError& problem) {
      if (turn) turn->not_sent();
      ApiError error;
      error.kind = ApiError::Kind::Unreachable;
      error.message = asked + ": " + problem.what();
      return error;
    }
    HttpOutcome outcome = connection->send(request);
    shared.give_back(std::move(connection));
    if (turn) told(*turn, outcome);
    turn.reset();
    // What changes nothing is no write.
    shared.count(call.dry_run ? "dry-run" : call.verb, call.resource, outcome.complete ? outcome.status : 0);
    if (shared.options.took)
      shared.options.took({call.verb, call.resource, limited - begin, shared.clock.now() - limited});

    if (!outcome.complete) {
      if (!call.write && !call.urgent && outcome.connected && !outcome.interrupted && !repeated) {
        repeated = true;
        continue;
      }
      return transport_error(asked, outcome);
    }
    if (outcome.status >= 200 && outcome.status < 300) return std::move(outcome.body);
    ApiError error = api_error(asked, outcome.status, outcome.body, outcome.retry_after);
    if (outcome.status == 401 && !renewed && shared.credentials.refresh(snapshot)) {
      renewed = true;
      continue;
    }
    // Both mean that nothing was done. A 429 without a time asks for one second.
    const bool asks_to_wait = outcome.status == 429 || (outcome.status == 503 && error.retry_after);
    const Millis wait = error.retry_after.value_or(Seconds(1));
    if (!asks_to_wait || call.urgent || retry >= shared.options.retries ||
        wait > shared.options.longest_retry)
      return error;
    ++retry;
    if (!shared.pause(wait)) return stopped_error(asked);
  }
}

std::optional<ApiError> Client::stream_text(const std::string& target,
                                            const std::function<bool(const char*, std::size_t)>& receive) {
  Shared& shared = *shared_;
  const std::string asked = "reading " + target.substr(0, target.find('?')) + " at " + config().server;
  for (bool renewed = false;; renewed = true) {
    const auto snapshot = shared.credentials.current();
    HttpRequest request{"GET", target, {}, {}, shared.headers(snapshot)};
    request.headers["Accept"] = "*/*";
    request.connect_timeout = shared.options.connect_timeout;
    request.answer_timeout = kLongestSilence;
    std::unique_ptr<Connection> connection;
    try {
      connection = shared.connect(snapshot);
    } catch (const ConfigError& problem) {
      ApiError error;
      error.kind = ApiError::Kind::Unreachable;
      error.message = asked + ": " + problem.what();
      return error;
    }
    {
      std::lock_guard lock(shared.mutex);
      if (shared.stopped) connection->interrupt();
      shared.busy.insert(connection.get());
    }
    const HttpOutcome outcome = connection->send(request, {}, receive);
    {
      std::lock_guard lock(shared.mutex);
      shared.busy.erase(connection.get());
      shared.condition.notify_all();
    }
    shared.count("get", target.substr(0, target.find('?')), outcome.complete ? outcome.status : 0);
    if (!outcome.complete) return transport_error(asked, outcome);
    if (outcome.status >= 200 && outcome.status < 300) return std::nullopt;
    if (outcome.status == 401 && !renewed && shared.credentials.refresh(snapshot)) continue;
    return api_error(asked, outcome.status, outcome.body, outcome.retry_after);
  }
}

}  // namespace emj::kube
