// SPDX-License-Identifier: Apache-2.0
// Small values: paths, errors, times, backoff, rate limit.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "operator/kube/backoff.hpp"
#include "operator/kube/rate_limiter.hpp"
#include "operator/kube/resource.hpp"
#include "operator/kube/result.hpp"
#include "operator/kube/testing/manual_clock.hpp"

namespace emj::kube {
namespace {

using nlohmann::json;

TEST(Paths, CoreAndNamedGroups) {
  EXPECT_EQ(collection_path(resources::kPods, ""), "/api/v1/pods");
  EXPECT_EQ(collection_path(resources::kPods, "a"), "/api/v1/namespaces/a/pods");
  EXPECT_EQ(object_path(resources::kElasticMpiJobs, {"a", "j"}, "scale"),
            "/apis/elasticmpi.io/v1alpha1/namespaces/a/elasticmpijobs/j/scale");
  EXPECT_EQ(object_path(resources::kNodes, {"ignored", "n"}), "/api/v1/nodes/n");
  EXPECT_EQ(Query().add("labelSelector", "a=b,c in (d)").add("x", "").text(),
            "?labelSelector=a%3Db%2Cc%20in%20%28d%29&x=");
}

// An empty name would turn the deletion of one pod into the deletion of all.
TEST(Paths, RefusesWhatIsNoName) {
  EXPECT_EQ(key_problem(resources::kPods, {"a", "p"}), "");
  EXPECT_EQ(key_problem(resources::kNodes, {"", "n"}), "");
  EXPECT_NE(key_problem(resources::kPods, {"a", ""}), "");
  EXPECT_NE(key_problem(resources::kPods, {"", "p"}), "");
  for (const char* name : {".", "..", "a/b", "a%2fb"})
    EXPECT_NE(key_problem(resources::kPods, {"a", name}), "") << name;
}

TEST(Metadata, IsReadFromAnything) {
  const json pod =
      json::parse(R"({"metadata": {"name": "p", "namespace": "a", "uid": "u", "resourceVersion": "7",
      "deletionTimestamp": "2026-01-01T00:00:00Z",
      "ownerReferences": [{"uid": "x"}, {"uid": "y", "controller": false}, {"uid": "z", "controller": true}]}})");
  EXPECT_EQ(key_of(pod), (ObjectKey{"a", "p"}));
  EXPECT_EQ(uid_of(pod), "u");
  EXPECT_EQ(resource_version_of(pod), "7");
  EXPECT_EQ(controller_uid_of(pod), "z");
  EXPECT_TRUE(is_being_deleted(pod));
  for (const char* text :
       {"null", "[]", "{}", R"({"metadata": null})", R"({"metadata": {"name": 5, "uid": null,
       "ownerReferences": [null, 3], "deletionTimestamp": null}})"}) {
    const json odd = json::parse(text);
    EXPECT_EQ(key_of(odd), ObjectKey{}) << text;
    EXPECT_EQ(uid_of(odd) + controller_uid_of(odd), "") << text;
    EXPECT_FALSE(is_being_deleted(odd)) << text;
  }
}

TEST(Versions, AreNumbersOrNot) {
  EXPECT_EQ(version_number("18446744073709551615"), 18446744073709551615u);
  for (const char* text : {"", "x", "-1", "1 ", "18446744073709551616"})
    EXPECT_FALSE(version_number(text)) << text;
}

TEST(Errors, AStatusBecomesATypedError) {
  const ApiError error =
      api_error("creating pods a/p", 422, R"({"kind": "Status", "code": 422, "reason": "Invalid",
      "message": "Pod is invalid", "details": {"retryAfterSeconds": 3, "causes": [
      {"field": "spec.x", "reason": "FieldValueInvalid", "message": "no"}, 5]}})",
                "");
  EXPECT_EQ(error.kind, ApiError::Kind::Invalid);
  EXPECT_EQ(error.status, 422);
  EXPECT_EQ(error.reason, "Invalid");
  EXPECT_EQ(error.message, "creating pods a/p: 422 Invalid: Pod is invalid");
  EXPECT_EQ(error.retry_after, Millis(3000));
  ASSERT_EQ(error.causes.size(), 1u);
  EXPECT_EQ(error.causes[0].field, "spec.x");
}

TEST(Errors, KindsFollowStatusAndReason) {
  using Kind = ApiError::Kind;
  const auto kind = [](int status, const char* body = "") { return api_error("x", status, body, "").kind; };
  EXPECT_EQ(kind(409, R"({"reason": "AlreadyExists"})"), Kind::AlreadyExists);
  EXPECT_EQ(kind(409), Kind::Conflict);
  EXPECT_EQ(kind(410), Kind::Expired);
  EXPECT_EQ(kind(403), Kind::Forbidden);
  EXPECT_EQ(kind(400), Kind::BadRequest);
  EXPECT_EQ(kind(302), Kind::BadRequest);
  EXPECT_EQ(kind(500), Kind::Server);
  EXPECT_EQ(kind(504), Kind::Timeout);
  const ApiError proxy = api_error("x", 503, "<html>\nno backend", "7");
  EXPECT_EQ(proxy.kind, Kind::Unavailable);
  EXPECT_EQ(proxy.retry_after, Millis(7000));
  EXPECT_EQ(proxy.message, "x: 503 unavailable: <html> no backend");
  EXPECT_FALSE(api_error("x", 503, "", "Wed, 21 Oct 2026 07:28:00 GMT").retry_after);
}

TEST(Time, MicroTime) {
  EXPECT_EQ(micro_time(WallTime(Seconds(1'800'000'000)) + std::chrono::microseconds(1500)),
            "2027-01-15T08:00:00.001500Z");
}

// Pitfall 6: 0.8 s to 30 s, jittered, and from the start after two healthy minutes.
TEST(BackoffTest, GrowsAndStartsOver) {
  Backoff backoff(1);
  Instant now{};
  Millis step(800);
  for (int i = 0; i < 12; ++i) {
    const Millis wait = backoff.next(now);
    EXPECT_GE(wait, step);
    EXPECT_LE(wait, std::min<Millis>(step * 2, Millis(30000)));
    step = std::min<Millis>(step * 2, Millis(15000));
    now += wait + Seconds(119);
  }
  now += Seconds(1);
  EXPECT_LE(backoff.next(now), Millis(1600));
  Backoff one(1), other(2);
  EXPECT_NE(one.next(now), other.next(now));
}

TEST(RateLimiterTest, BurstThenRate) {
  testing::ManualClock clock;
  RateLimiter limiter(10, 3, clock);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter.wait());  // without any time passing
  int done = 0;
  std::thread late([&] { done += limiter.wait(); });
  EXPECT_EQ(clock.next_wait(), Millis(100));
  clock.advance(Millis(100));
  late.join();
  EXPECT_EQ(done, 1);
  clock.advance(Seconds(60));  // an idle minute gives the burst, not more
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter.wait());
  std::thread stopped([&] { done += limiter.wait(); });
  EXPECT_EQ(clock.next_wait(), Millis(100));
  limiter.stop();
  stopped.join();
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace emj::kube
