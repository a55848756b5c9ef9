// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/turns.hpp"

#include <gtest/gtest.h>

namespace emj {
namespace {

using std::chrono::seconds;
using Called = std::vector<JobKey>;

const JobKey a{"one", "a"}, b{"one", "b"}, c{"one", "c"}, other{"another", "job"};
const Turns::Instant now{};

TEST(Turns, AreTakenWhilePlacesAreFree) {
  Turns turns(2);
  EXPECT_TRUE(turns.take(a, now));
  EXPECT_TRUE(turns.take(b, now));
  EXPECT_FALSE(turns.take(c, now));
  EXPECT_EQ(turns.call(now), Called{}) << "there is no place";
  turns.leave(a);
  EXPECT_EQ(turns.call(now), Called{c});
  EXPECT_EQ(turns.call(now), Called{}) << "once";
  EXPECT_TRUE(turns.take(c, now));
}

TEST(Turns, GoToWhoCameFirst) {
  Turns turns(1);
  EXPECT_TRUE(turns.take(a, now));
  EXPECT_FALSE(turns.take(b, now));
  EXPECT_FALSE(turns.take(c, now));
  turns.leave(a);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(turns.take(c, now)) << "however often it tries";
  EXPECT_TRUE(turns.take(b, now));
}

// A tenant with a hundred jobs is not before one with a single job.
TEST(Turns, GoToTheNamespaceThatHoldsFewest) {
  Turns turns(2);
  EXPECT_TRUE(turns.take(a, now));
  EXPECT_TRUE(turns.take(b, now));
  EXPECT_FALSE(turns.take(c, now));
  EXPECT_FALSE(turns.take(other, now));
  turns.leave(a);
  EXPECT_EQ(turns.call(now), Called{other});
  EXPECT_FALSE(turns.take(c, now));
  EXPECT_TRUE(turns.take(other, now));
}

TEST(Turns, GoToTheNamespaceOfWhichFewestAreCalled) {
  Turns turns(2);
  const JobKey third{"third", "job"}, fourth{"fourth", "job"};
  EXPECT_TRUE(turns.take(third, now));
  EXPECT_TRUE(turns.take(fourth, now));
  for (const JobKey& job : {a, b, other}) EXPECT_FALSE(turns.take(job, now));
  turns.leave(third);
  EXPECT_EQ(turns.call(now), Called{a});
  turns.leave(fourth);
  EXPECT_EQ(turns.call(now), Called{other});
  EXPECT_FALSE(turns.take(b, now));
  EXPECT_TRUE(turns.take(other, now));
  EXPECT_TRUE(turns.take(a, now));
}

TEST(Turns, AreLostByAPassThatWantsNothing) {
  Turns turns(1);
  EXPECT_TRUE(turns.take(a, now));
  EXPECT_FALSE(turns.pass(b)) << "it is not in line";
  EXPECT_FALSE(turns.take(b, now));
  EXPECT_FALSE(turns.pass(b));
  EXPECT_FALSE(turns.take(b, now));
  EXPECT_FALSE(turns.pass(b));
  EXPECT_TRUE(turns.pass(b));
  turns.leave(a);
  EXPECT_EQ(turns.call(now), Called{});
}

TEST(Turns, AreLostByWhoDoesNotCome) {
  Turns turns(1);
  EXPECT_TRUE(turns.take(a, now));
  EXPECT_FALSE(turns.take(b, now));
  EXPECT_FALSE(turns.take(c, now));
  turns.leave(a);
  EXPECT_EQ(turns.call(now), Called{b});
  EXPECT_FALSE(turns.take(c, now + seconds(9)));
  EXPECT_TRUE(turns.take(c, now + seconds(10)));
}

// Nobody holds a place, so nobody leaves one.
TEST(Turns, AreLostByAllWhoDoNotCome) {
  Turns turns(1);
  EXPECT_TRUE(turns.take(a, now));
  for (const char* name : {"x", "y"}) EXPECT_FALSE(turns.take({"one", name}, now));
  turns.leave(a);
  turns.call(now);
  auto time = now;
  for (; !turns.take(b, time); time += seconds(1)) {
    turns.call(time);
    ASSERT_LT(time - now, seconds(60));
  }
}

TEST(Turns, AreNobodysWhoWaitsForNothingAnyMore) {
  Turns turns(1);
  EXPECT_TRUE(turns.take(a, now));
  EXPECT_FALSE(turns.take(b, now));
  turns.forget(b);
  turns.leave(a);
  EXPECT_EQ(turns.call(now), Called{});
  EXPECT_TRUE(turns.take(c, now));
}

}  // namespace
}  // namespace emj
