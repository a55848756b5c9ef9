// SPDX-License-Identifier: Apache-2.0
// What TLS costs a request between agents, on a connection that is kept and on a new one: processor time of
// both ends. Plain and secure in turn, so that what else the machine does meets both.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/base/bounded_http.hpp"
#include "runtime/base/clocks.hpp"
#include "runtime/base/http_server.hpp"
#include "runtime/base/tls.hpp"

namespace {

using namespace empi;
using Credentials = std::shared_ptr<tls::Credentials>;

constexpr HttpBounds kBounds{std::chrono::seconds(5), std::chrono::seconds(20)};
constexpr int kKept = 2000, kNew = 300;

class Server {
 public:
  explicit Server(const Credentials& credentials)
      : server_({}, [](const auto&, auto&, bool& trusted) { return trusted = true; }) {
    if (credentials) server_.secure(credentials);
    server_.Post("/", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("{}", "application/json");
    });
    port_ = server_.open("127.0.0.1", 0);
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    server_.wait_until_ready();
  }
  ~Server() {
    server_.stop();
    thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  HttpServer server_;
  int port_ = 0;
  std::thread thread_;
};

double processor_time() {  // of this process, so of both ends: us
  return static_cast<double>(empi::profile::clock_ns(CLOCK_PROCESS_CPUTIME_ID)) * 1e-3;
}

double microseconds(const std::function<void()>& what) {
  const double start = processor_time();
  what();
  return processor_time() - start;
}

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void ask(BoundedHttp& http) {
  if (http.ask("POST", "/", "token", std::string(500, 'x')).status != 200)
    std::fprintf(stderr, "no answer\n");
}

}  // namespace

int main() {
  const tls::Authority job("secret", "job");
  const auto validity = tls::months_around(std::chrono::system_clock::now());
  const auto member = [&](std::optional<int> worker) {
    return std::make_shared<tls::Credentials>(job.issue(worker, validity), job.certificate());
  };
  const Credentials ours = member(std::nullopt);
  const Server plain(nullptr), secure(member(0));
  std::vector<double> kept_plain, kept_secure, new_plain, new_secure;
  BoundedHttp to_plain(plain.address(), kBounds), to_secure(secure.address(), kBounds, ours);
  for (int i = 0; i < kKept; ++i) {
    kept_plain.push_back(microseconds([&] { ask(to_plain); }));
    kept_secure.push_back(microseconds([&] { ask(to_secure); }));
  }
  for (int i = 0; i < kNew; ++i) {
    new_plain.push_back(microseconds([&] {
      BoundedHttp http(plain.address(), kBounds);
      ask(http);
    }));
    new_secure.push_back(microseconds([&] {
      BoundedHttp http(secure.address(), kBounds, ours);
      ask(http);
    }));
  }
  // What an operator keeps for each of its jobs.
  std::vector<Credentials> kept;
  const auto heap = [] { return static_cast<double>(mallinfo2().uordblks); };
  const double before = heap();
  for (int i = 0; i < kNew; ++i) kept.push_back(member(std::nullopt));
  const double each = (heap() - before) / kNew;
  std::vector<double> issue;
  for (int i = 0; i < kNew; ++i) issue.push_back(microseconds([&] { job.issue(i, validity); }));
  std::printf("bench tls.kept.plain %.1f us\nbench tls.kept.secure %.1f us\nbench tls.kept.ratio %.2f 1\n",
              median(kept_plain), median(kept_secure), median(kept_secure) / median(kept_plain));
  std::printf("bench tls.new.plain %.1f us\nbench tls.new.secure %.1f us\n", median(new_plain),
              median(new_secure));
  std::printf("bench tls.context %.1f KiB\n", each / 1024);
  std::printf("bench tls.issue %.1f us\n", median(issue));
}
