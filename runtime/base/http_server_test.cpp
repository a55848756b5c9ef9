// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/http_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace empi {
namespace {

using namespace std::chrono_literals;

// Counts the threads that have ended with all that is theirs, and makes the end of each long enough to be
// seen.
std::atomic<int> ended{0};
struct SlowEnd {
  ~SlowEnd() {
    std::this_thread::sleep_for(100ms);
    ++ended;
  }
};

TEST(HttpServer, NoThreadOfItsOutlivesIt) {
  ended = 0;
  HttpServer server({}, [](const auto&, auto&, bool& trusted) { return trusted = true; });
  server.Get("/", [](const httplib::Request&, httplib::Response& response) {
    const thread_local SlowEnd slow;
    response.set_content("hello", "text/plain");
  });
  const int port = server.open("127.0.0.1", 0);
  ASSERT_GT(port, 0);
  std::thread serving([&] { server.listen_after_bind(); });
  server.wait_until_ready();
  for (int i = 0; i < 3; ++i) {
    const auto answer = httplib::Client("127.0.0.1", port).Get("/");
    EXPECT_TRUE(answer && answer->body == "hello");
  }
  server.stop();
  serving.join();
  EXPECT_EQ(ended, 3);
}

}  // namespace
}  // namespace empi
