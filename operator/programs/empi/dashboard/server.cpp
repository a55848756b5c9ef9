// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/dashboard/server.hpp"

#include <sys/random.h>

#include <array>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "operator/programs/empi/dashboard/files.hpp"
#include "runtime/base/constant_time.hpp"
#include "runtime/base/http_server.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/text.hpp"

namespace emj::cli::dashboard {

namespace {

constexpr const char* kAddress = "127.0.0.1";
constexpr const char* kKeyField = "X-Empi-Key";
// Nothing but our own files, and no other page around ours.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr empi::HttpLimits kLimits{.head = std::size_t{16} << 10, .body = 0, .connections = 64};

std::string random_key() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("the system gives no random bytes for a key");
  std::string key;
  for (const unsigned char byte : bytes) key += empi::format("%02x", byte);
  return key;
}

void refuse(httplib::Response& answer, int status, const std::string& error) {
  answer.status = status;
  answer.set_content(empi::json_text::safe_text({{"error", error}}), "application/json");
}

}  // namespace

struct Server::Impl {
  const std::function<std::string()> data;
  const std::string key = random_key();
  std::mutex mutex;  // one look at a time
  int port = 0;
  empi::HttpServer server;
  std::thread thread;

  explicit Impl(std::function<std::string()> d)
      : data(std::move(d)), server(kLimits, [this](const auto& request, auto& answer, bool& trusted) {
          return check(request, answer, trusted);
        }) {}

  bool check(const httplib::Request& request, httplib::Response& answer, bool& trusted) {
    for (const auto& [name, value] : {std::pair{"Content-Security-Policy", kPolicy},
                                      {"X-Content-Type-Options", "nosniff"},
                                      {"Referrer-Policy", "no-referrer"},
                                      {"Cross-Origin-Resource-Policy", "same-origin"},
                                      {"Cache-Control", "no-store"}})
      answer.set_header(name, value);
    const std::string host = request.get_header_value("Host"), ours = ":" + std::to_string(port);
    if (request.get_header_value_count("Host") != 1 ||
        (host != kAddress + ours && host != "localhost" + ours)) {
      refuse(answer, 403, "this page is at " + (kAddress + ours) + " only");
      return false;
    }
    trusted = empi::constant_time_equal(key, request.get_header_value(kKeyField));
    if (trusted || request.path != kDataPath) return true;
    refuse(answer, 401, "the address lacks its key: take the one that `empi dashboard` has printed");
    return false;
  }

  void route() {
    for (const File& file : kFiles)
      server.Get(file.path, [&file](const httplib::Request&, httplib::Response& answer) {
        answer.set_content(file.text, file.type);
      });
    server.Get(kDataPath, [this](const httplib::Request&, httplib::Response& answer) {
      const std::lock_guard lock(mutex);
      try {
        answer.set_content(data(), "application/json");
      } catch (const std::exception& error) {
        refuse(answer, 503, error.what());
      }
    });
  }
};

Server::Server(int port, std::function<std::string()> data) : impl_(std::make_unique<Impl>(std::move(data))) {
  impl_->route();
  impl_->port = impl_->server.open(kAddress, port);
  if (impl_->port < 0)
    throw std::runtime_error(std::string("cannot listen on ") + kAddress + ":" + std::to_string(port) +
                             ": choose another port with --port (0: any)");
  impl_->thread = std::thread([this] { impl_->server.listen_after_bind(); });
  impl_->server.wait_until_ready();
}

Server::~Server() {
  if (!impl_->thread.joinable()) return;
  impl_->server.stop();
  impl_->thread.join();
}

int Server::port() const { return impl_->port; }
const std::string& Server::key() const { return impl_->key; }
std::string Server::address() const {
  return std::string("http://") + kAddress + ":" + std::to_string(port()) + "/#" + key();
}

}  // namespace emj::cli::dashboard
