#include "runtime/agent/http_api.hpp"

#include <httplib.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "runtime/agent/token.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {
namespace {

using nlohmann::json;

constexpr std::size_t kConnections = 1024;

// One thread per connection: with httplib's pool, peers that keep their connection would starve the others.
class ThreadPerConnection final : public httplib::TaskQueue {
 public:
  bool enqueue(std::function<void()> serve) override {
    std::unique_lock lock(mutex_);
    if (closed_ || running_ >= kConnections) return false;
    ++running_;
    std::thread([this, serve = std::move(serve)] {
      serve();
      std::lock_guard inner(mutex_);
      if (--running_ == 0) idle_.notify_all();
    }).detach();  // shutdown() waits for them
    return true;
  }
  void shutdown() override {
    std::unique_lock lock(mutex_);
    closed_ = true;
    idle_.wait(lock, [&] { return running_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  std::size_t running_ = 0;
  bool closed_ = false;
};

void answer(httplib::Response& response, const ApiAnswer& a) {
  response.status = a.status;
  response.set_content(a.body, "application/json");
}

json parse_body(const httplib::Request& request) {
  if (request.get_header_value("Content-Type") == "application/cbor") return json::from_cbor(request.body);
  return json::parse(request.body);
}

}  // namespace

ApiAnswer refuse(int status, const std::string& error) { return {status, json{{"error", error}}.dump()}; }

struct HttpApi::Impl {
  httplib::Server server;
  TokenFile& token;
  ApiHandlers& handlers;
  std::thread thread;

  Impl(TokenFile& t, ApiHandlers& h) : token(t), handlers(h) {}

  using Handle = std::function<ApiAnswer(const httplib::Request&)>;
  httplib::Server::Handler guarded(Handle handle) {
    return [this, handle = std::move(handle)](const httplib::Request& request, httplib::Response& response) {
      if (!token.accepts_header(request.get_header_value("Authorization")))
        return answer(response, refuse(401, "wrong or missing bearer token: expected the job's token"));
      try {
        answer(response, handle(request));
      } catch (const json::exception& error) {
        answer(response, refuse(400, std::string("malformed request: ") + error.what()));
      } catch (const std::exception& error) {
        answer(response, refuse(500, error.what()));
      }
    };
  }

  void route() {
    using Request = const httplib::Request&;
    server.Get(paths::kHealth, [](Request, httplib::Response& r) { answer(r, {200, R"({"ok":true})"}); });
    server.Post(paths::kStart, guarded([this](Request r) { return handlers.start(parse_body(r)); }));
    server.Put(paths::kChange, guarded([this](Request r) { return handlers.put_change(parse_body(r)); }));
    server.Get(paths::kChange, guarded([this](Request) { return handlers.get_changes(); }));
    server.Delete(paths::kChange,
                  guarded([this](Request r) { return handlers.cancel_change(r.get_param_value("id")); }));
    server.Get(paths::kMembership, guarded([this](Request) { return handlers.membership(); }));
    const auto number = [](Request r, const char* name) {
      const std::string text = r.get_param_value(name);
      return text.empty() ? -1 : std::strtoll(text.c_str(), nullptr, 10);
    };
    server.Get(paths::kSample,
               guarded([this, number](Request r) { return handlers.samples(number(r, "since")); }));
    server.Get(paths::kReport, guarded([this, number](Request r) {
                 return handlers.report(number(r, "since"), Fence{number(r, "fence")});
               }));
    server.Post(paths::kStop, guarded([this](Request r) { return handlers.stop(parse_body(r)); }));
    server.Post(paths::kMessage, guarded([this](Request r) { return handlers.batch(parse_body(r)); }));
  }
};

HttpApi::HttpApi(const std::string& address, int port, TokenFile& token, ApiHandlers& handlers)
    : impl_(std::make_unique<Impl>(token, handlers)) {
  httplib::Server& server = impl_->server;
  server.new_task_queue = [] { return new ThreadPerConnection; };
  server.set_tcp_nodelay(true);
  server.set_keep_alive_max_count(1'000'000'000);
  server.set_keep_alive_timeout(1);
  server.set_payload_max_length(std::size_t{1} << 30);
  server.set_socket_options([](int fd) {
    const int yes = 1;  // not SO_REUSEPORT, httplib's default: two agents on one port must not go unnoticed
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  impl_->route();
  if (!server.bind_to_port(address, port))
    throw std::runtime_error("cannot listen on " + address + ":" + std::to_string(port) +
                             ": is the address ours and the port free?");
  impl_->thread = std::thread([this] { impl_->server.listen_after_bind(); });
  server.wait_until_ready();
}

HttpApi::~HttpApi() {
  impl_->server.stop();
  impl_->thread.join();
}

}  // namespace empi::agent
