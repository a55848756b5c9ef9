// SPDX-License-Identifier: Apache-2.0
// Pitfall 14: time is our own, a late leader ends, and the lease goes last.

#include "operator/kube/leader.hpp"

#include <gtest/gtest.h>

#include <future>

#include "operator/kube/testing/manual_clock.hpp"
#include "operator/kube/testing/stub_server.hpp"

namespace emj::kube {
namespace {

using nlohmann::json;
using testing::Exchange;
using testing::ManualClock;
using testing::Request;
using testing::StubServer;

// One lease with optimistic concurrency, and a switch that makes the server silent.
class LeaseServer {
 public:
  void operator()(const Request& request, Exchange& exchange) {
    if (silent) exchange.wait_end();
    std::string body;
    const int status = handle(request, body);
    exchange.reply(status, body);
  }
  json lease() {
    std::lock_guard lock(mutex);
    return stored;
  }
  void write(const json& spec) {
    std::lock_guard lock(mutex);
    stored["metadata"]["name"] = "operator";
    stored["spec"].update(spec);
    stored["metadata"]["resourceVersion"] = std::to_string(++version);
  }
  std::atomic<bool> silent{false};

 private:
  int handle(const Request& request, std::string& body) {
    std::lock_guard lock(mutex);
    int status = 200;
    if (request.method == "POST") {
      if (!stored.is_null()) return 409;
      stored = json::parse(request.body);
      status = 201;
    } else if (stored.is_null()) {
      return 404;
    } else if (request.method == "PUT") {
      const json wanted = json::parse(request.body);
      if (wanted["metadata"]["resourceVersion"] != stored["metadata"]["resourceVersion"]) return 409;
      stored = wanted;
    }
    if (request.method != "GET") stored["metadata"]["resourceVersion"] = std::to_string(++version);
    body = stored.dump();
    return status;
  }
  std::mutex mutex;
  json stored;
  int version = 0;
};

class Leader : public ::testing::Test {
 protected:
  struct Candidate {
    std::unique_ptr<Client> client;
    std::promise<int> started;
    std::promise<std::string> lost;
    std::future<int> transitions = started.get_future();
    std::future<std::string> reason = lost.get_future();
    std::unique_ptr<LeaderElector> elector;
  };
  std::unique_ptr<Candidate> candidate(const std::string& identity, Millis retry = Seconds(2)) {
    auto made = std::make_unique<Candidate>();
    Candidate* const self = made.get();
    made->client = std::make_unique<Client>(server.config(), ClientOptions{}, clock);
    made->elector = std::make_unique<LeaderElector>(
        *made->client, LeaderOptions{.lease = {"a", "operator"}, .identity = identity, .retry_period = retry},
        LeaderElector::Callbacks{[self](int transitions) { self->started.set_value(transitions); },
                                 [self](const std::string& why) { self->lost.set_value(why); }},
        clock);
    made->elector->start();
    return made;
  }
  template <class T>
  static bool ready(const std::future<T>& future, Millis time = Seconds(20)) {
    return future.wait_for(time) == std::future_status::ready;
  }
  // Lets the candidates' next attempt happen, and waits until it has.
  Millis step(Millis at_most = Millis(2400)) {
    const Millis wait = clock.next_wait(at_most);
    const std::size_t before = server.requests().size();
    clock.advance(wait);
    EXPECT_TRUE(server.wait_requests(before + 1));
    return wait;
  }

  LeaseServer store;
  ManualClock clock;
  StubServer server{[this](const Request& request, Exchange& exchange) { store(request, exchange); }};
};

TEST_F(Leader, DurationsAreChecked) {
  Client client(server.config());
  const auto accepted = [&](Millis lease, Millis renew, Millis retry) {
    try {
      LeaderElector elector(client, {.lease_duration = lease, .renew_deadline = renew, .retry_period = retry},
                            {});
      return true;
    } catch (const ConfigError&) {
      return false;
    }
  };
  EXPECT_TRUE(accepted(Seconds(15), Seconds(10), Seconds(2)));
  EXPECT_FALSE(accepted(Seconds(10), Seconds(10), Seconds(2)));
  EXPECT_FALSE(accepted(Seconds(15), Millis(2400), Seconds(2)));
  EXPECT_TRUE(accepted(Seconds(15), Millis(2401), Seconds(2)));
  EXPECT_FALSE(accepted(Seconds(15), Seconds(10), Seconds(0)));
  EXPECT_FALSE(accepted(Millis(15500), Seconds(10), Seconds(2)));
}

TEST_F(Leader, TheFirstCreatesAndRenewsWithOneRequest) {
  auto one = candidate("one");
  ASSERT_TRUE(ready(one->transitions));
  EXPECT_EQ(one->transitions.get(), 0);
  EXPECT_TRUE(one->elector->leading());
  const json created = store.lease();
  EXPECT_EQ(created["spec"]["holderIdentity"], "one");
  EXPECT_EQ(created["spec"]["leaseDurationSeconds"], 15);
  const std::size_t before = server.requests().size();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(step(), Seconds(2));
  EXPECT_GT(clock.next_wait(Seconds(2)), Millis(0));  // the third one has been answered
  EXPECT_EQ(server.requests().size(), before + 3);
  const json renewed = store.lease();
  EXPECT_EQ(renewed["spec"]["acquireTime"], created["spec"]["acquireTime"]);
  EXPECT_NE(renewed["spec"]["renewTime"], created["spec"]["renewTime"]);
  EXPECT_EQ(renewed["spec"]["leaseTransitions"], 0);
}

// The other machine's clock may say anything: only our own observation of changes counts.
TEST_F(Leader, AnAbandonedLeaseIsTakenAfterItsDurationOnOurClock) {
  store.write({{"holderIdentity", "other"},
               {"leaseDurationSeconds", 20},
               {"leaseTransitions", 6},
               {"renewTime", "1999-01-01T00:00:00.000000Z"},
               {"future", "kept"}});
  auto two = candidate("two");
  ASSERT_TRUE(server.wait_requests(1));
  Millis quiet(0);
  for (int i = 0; i < 4; ++i) step();
  EXPECT_GT(clock.next_wait(Millis(2400)), Millis(0));          // the last attempt has been answered
  store.write({{"renewTime", "2999-01-01T00:00:00.000000Z"}});  // a sign of life
  step();                                                       // is seen by this one
  while (quiet < Seconds(20)) {
    EXPECT_FALSE(two->elector->leading());
    quiet += step();
  }
  ASSERT_TRUE(ready(two->transitions));
  EXPECT_EQ(two->transitions.get(), 7);
  EXPECT_EQ(store.lease()["spec"]["holderIdentity"], "two");
  EXPECT_EQ(store.lease()["spec"]["leaseTransitions"], 7);
  EXPECT_EQ(store.lease()["spec"]["future"], "kept");
}

TEST_F(Leader, AReleasedLeaseIsTakenAtOnce) {
  auto one = candidate("one");
  ASSERT_TRUE(ready(one->transitions));
  one->elector->release();
  EXPECT_FALSE(one->elector->leading());
  EXPECT_EQ(store.lease()["spec"]["holderIdentity"], "");
  EXPECT_FALSE(ready(one->reason, Millis(0)));
  auto two = candidate("two");
  ASSERT_TRUE(ready(two->transitions));
  EXPECT_EQ(two->transitions.get(), 1);
}

TEST_F(Leader, WhoDoesNotLeadReleasesNothing) {
  store.write({{"holderIdentity", "other"}, {"leaseDurationSeconds", 15}});
  auto two = candidate("two");
  ASSERT_TRUE(server.wait_requests(1));
  two->elector->release();
  EXPECT_EQ(store.lease()["spec"]["holderIdentity"], "other");
}

TEST_F(Leader, WhoIsReplacedIsTold) {
  auto one = candidate("one");
  ASSERT_TRUE(ready(one->transitions));
  store.write({{"holderIdentity", "two"}, {"leaseTransitions", 1}});
  step();
  ASSERT_TRUE(ready(one->reason));
  EXPECT_EQ(one->reason.get(), "the lease is held by two");
  EXPECT_FALSE(one->elector->leading());
}

TEST_F(Leader, SomebodyElsesTouchIsNoLoss) {
  auto one = candidate("one");
  ASSERT_TRUE(ready(one->transitions));
  store.write({{"annotation", "touched"}});  // our version is no longer the present one
  step();
  step();
  EXPECT_TRUE(one->elector->leading());
  EXPECT_EQ(store.lease()["spec"]["holderIdentity"], "one");
}

// A request hangs; the deadline does not wait for it.
TEST_F(Leader, ASilentServerIsALossAtTheDeadline) {
  auto one = candidate("one", Millis(200));
  ASSERT_TRUE(ready(one->transitions));
  store.silent = true;
  step(Millis(200));
  EXPECT_FALSE(ready(one->reason, Millis(0)));
  clock.advance(Millis(9799));
  EXPECT_TRUE(one->elector->leading());
  EXPECT_FALSE(ready(one->reason, Millis(0)));
  clock.advance(Millis(1));
  EXPECT_FALSE(one->elector->leading());
  ASSERT_TRUE(ready(one->reason));
  EXPECT_EQ(one->reason.get(), "the lease could not be renewed for 10 s");
}

TEST(Identity, IsAnotherForEveryProcess) {
  EXPECT_NE(unique_identity(), unique_identity());
  EXPECT_NE(unique_identity().find('_'), std::string::npos);
}

}  // namespace
}  // namespace emj::kube
