// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/bounded_http.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <string>
#include <thread>

#include "runtime/base/testing/loopback.hpp"
#include "runtime/base/tls.hpp"
#include "runtime/base/unique_fd.hpp"

namespace empi {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using tls::Session;

// Answers one request, keeps the connection, and closes it once the next request begins to come, which it
// does not read; on the connection after that it answers again.
class Server {
 public:
  explicit Server(std::shared_ptr<tls::Credentials> credentials)
      : credentials_(std::move(credentials)), listener_(testing_loopback::listen_on_loopback(port_)) {
    thread_ = std::thread([this] {
      for (;;) {
        const UniqueFd peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!peer) return;
        serve(peer.get());
      }
    });
  }
  ~Server() {
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int answered() const { return answered_; }

  std::atomic<bool> ends_in_order{false};  // by TCP: what was sent is said to be over, before it is closed

 private:
  void serve(int peer) {
    std::optional<Session> session;
    if (credentials_) {
      session.emplace(credentials_->now(), peer, Session::Side::Server);
      ASSERT_TRUE(session->shake_hands(Clock::now() + 20s)) << session->problem();
    }
    std::string request;
    std::size_t whole = std::string::npos;
    char buffer[16384];
    while (request.size() < whole) {
      const ssize_t got = session ? session->read(buffer, sizeof buffer, Clock::now() + 20s)
                                  : recv(peer, buffer, sizeof buffer, 0);
      if (got <= 0) return;
      request.append(buffer, static_cast<std::size_t>(got));
      const auto head = request.find("\r\n\r\n");
      if (whole != std::string::npos || head == std::string::npos) continue;
      const auto length = request.find("Content-Length: ");
      whole = head + 4 + (length < head ? std::stoul(request.substr(length + 16)) : 0);
    }
    ++answered_;
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    if (session)
      session->write(answer.data(), answer.size(), Clock::now() + 20s);
    else
      send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
    recv(peer, buffer, 1, MSG_PEEK);
    if (ends_in_order) shutdown(peer, SHUT_WR);
  }

  const std::shared_ptr<tls::Credentials> credentials_;
  int port_ = 0;
  UniqueFd listener_;
  std::atomic<int> answered_{0};
  std::thread thread_;
};

// An agent that is busy, or a proxy between, drops what has not been used for a while; and the request has
// not been read. By TLS that was "Broken pipe", and a change was not sent.
TEST(BoundedHttp, AsksAnewWhereWhatWasKeptIsClosedUnderTheRequest) {
  const tls::Authority job("secret", "job");
  const auto months = tls::months_around(std::chrono::system_clock::now());
  const auto as = [&](std::optional<int> worker) {
    return std::make_shared<tls::Credentials>(job.issue(worker, months), job.certificate());
  };
  for (const bool secure : {true, false})
    for (const bool in_order : {true, false})
      for (const std::size_t size : {std::size_t{9}, std::size_t{1} << 20}) {
        SCOPED_TRACE(std::string(secure ? "TLS, " : "plain, ") + (in_order ? "ended, " : "cut off, ") +
                     std::to_string(size) + " bytes");
        Server server(secure ? as(0) : nullptr);
        server.ends_in_order = in_order;
        BoundedHttp client(server.address(), {20s, 20s}, secure ? as(std::nullopt) : nullptr);
        ASSERT_EQ(client.ask("GET", "/", "token").status, 200);
        const HttpAnswer answer = client.ask("PUT", "/", "token", std::string(size, ' '));
        EXPECT_EQ(answer.status, 200) << answer.problem;
        EXPECT_EQ(server.answered(), 2);
      }
}

}  // namespace
}  // namespace empi
