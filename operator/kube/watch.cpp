// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/watch.hpp"

#include "operator/kube/client_core.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::kube {

namespace {

// How long after its own timeout the server is given to end a stream.
constexpr Seconds kPatience{30};

ApiError watch_error(ApiError::Kind kind, std::string message) {
  ApiError error;
  error.kind = kind;
  error.message = std::move(message);
  return error;
}

ApiError error_event(const std::string& asked, const nlohmann::json& status) {
  const auto code = status.find("code");
  const bool known = code != status.end() && code->is_number_integer() && code->get<std::int64_t>() >= 400 &&
                     code->get<std::int64_t>() < 600;
  return api_error(asked, known ? code->get<int>() : 500, empi::json_text::safe_text(status), {});
}

}  // namespace

Watch::Watch(Client::Shared& shared) : shared_(shared) {}
Watch::~Watch() = default;

std::unique_ptr<Watch> Client::make_watch() { return std::unique_ptr<Watch>(new Watch(*shared_)); }

void Watch::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  if (connection_) connection_->interrupt();
}

WatchEnd Watch::run(const Resource& resource, const std::string& namespace_name, const WatchOptions& options,
                    const std::function<bool(WatchEvent)>& receive, const std::function<void()>& opened) {
  const std::string asked = "watching " + resource.plural +
                            (namespace_name.empty() ? "" : " in " + namespace_name) + " at " +
                            shared_.credentials.config().server;
  Query query;
  query.add("watch", "true").add("allowWatchBookmarks", "true");
  query.add("resourceVersion", options.resource_version);
  query.add("timeoutSeconds", std::to_string(options.timeout.count()));
  if (!options.label_selector.empty()) query.add("labelSelector", options.label_selector);
  if (!options.field_selector.empty()) query.add("fieldSelector", options.field_selector);

  WatchEnd end;
  const auto snapshot = shared_.credentials.current();
  Connection* connection = nullptr;
  try {
    std::lock_guard lock(mutex_);
    // Every watch starts on a fresh connection, and so with today's certificates.
    connection_ = shared_.connect(snapshot);
    connection = connection_.get();
    if (stopped_) connection->interrupt();
  } catch (const ConfigError& problem) {
    end.error = watch_error(ApiError::Kind::Unreachable, asked + ": " + problem.what());
    return end;
  }
  HttpRequest request{
      "GET", collection_path(resource, namespace_name) + query.text(), {}, {}, shared_.headers(snapshot)};
  request.headers["Connection"] = "close";
  request.connect_timeout = shared_.options.connect_timeout;
  request.answer_timeout = options.timeout + kPatience;

  WatchFramer framer;
  std::optional<ApiError> status;
  const Instant limit = shared_.clock.now() + options.timeout + kPatience;
  bool overdue = false;
  Instant read{};
  const auto receive_event = [&](WatchEvent event) {
    if (event.type == WatchEvent::Type::Error) {
      status = error_event(asked, event.object);
      return false;
    }
    ++end.events;
    event.read = read;
    return receive(std::move(event));
  };
  const auto accept = [&] {
    if (end.opened) return;
    end.opened = true;
    if (opened) opened();
  };
  HttpOutcome outcome = connection->send(request, accept, [&](const char* data, std::size_t size) {
    read = shared_.clock.now();
    overdue = read > limit;
    return !overdue && framer.feed(data, size, receive_event);
  });
  shared_.count("watch", resource.plural, outcome.status);
  {
    std::lock_guard lock(mutex_);
    connection_.reset();
  }

  using Kind = ApiError::Kind;
  if (status) {
    end.error = status;
  } else if (!framer.problem().empty()) {
    end.error = watch_error(Kind::Malformed, asked + ": " + framer.problem());
  } else if (outcome.interrupted) {
    end.error = watch_error(Kind::Stopped, asked + ": stopped");
  } else if (outcome.status == 0 || (!outcome.complete && outcome.status == 200)) {
    end.error =
        watch_error(outcome.connected ? Kind::Lost : Kind::Unreachable, asked + ": " + outcome.problem);
  } else if (outcome.status != 200) {
    end.error = api_error(asked, outcome.status, outcome.body, outcome.retry_after);
    if (outcome.status == 401) shared_.credentials.refresh(snapshot);
  } else if (framer.half_line()) {
    end.error = watch_error(Kind::Lost, asked + ": the connection ended in the middle of an event");
  } else if (overdue) {
    end.error = watch_error(Kind::Lost, asked + ": the server did not end the stream in time");
  }
  return end;
}

}  // namespace emj::kube
