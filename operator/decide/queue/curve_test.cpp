// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/curve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "operator/decide/queue/level.hpp"
#include "operator/decide/queue/testing/jobs.hpp"

namespace emj::queue {
namespace {

using testing_queue::sizes;

TEST(Curve, MarginalsAreThoseOfTheConcaveEnvelope) {
  // Speeds 1, 1, 4: nothing from 1 to 2, so the step is taken whole, at (4 - 1) / 2 a worker.
  const Curve curve({1, 2, 3, 4}, {1, 1, 4, 3}, Objective::Turnaround);
  EXPECT_DOUBLE_EQ(curve.marginal(0), 1.5);
  EXPECT_DOUBLE_EQ(curve.marginal(1), 1.5);
  EXPECT_EQ(curve.next(0), 2);
  EXPECT_EQ(curve.corner_at_most(1), 0);
  EXPECT_EQ(curve.corner_at_most(2), 2);
  EXPECT_EQ(curve.fastest(), 2);
  EXPECT_DOUBLE_EQ(curve.marginal(2), 0) << "nothing is gained beyond the fastest size";
}

TEST(Curve, FairGainsAreOfTheLogarithmAndKnowNoScale) {
  const Curve slow({1, 2, 4}, {1, 1.8, 3}, Objective::Fair);
  const Curve fast({1, 2, 4}, {100, 180, 300}, Objective::Fair);
  EXPECT_NEAR(slow.marginal(0), std::log(1.8), 1e-12);
  for (const int i : {0, 1}) EXPECT_NEAR(slow.marginal(i), fast.marginal(i), 1e-12);
}

TEST(Curve, GrowsWhileASecondIsWorthItsWorkers) {
  // Amdahl: extra worker-seconds per second saved between n and n + 1 are n (n + 1) f / (1 - f).
  const auto curve = amdahl_curve(sizes(1, 40), 10, .8, Objective::Fair);
  const double serial = .25 / 9;
  for (const double value : {1.0, 4.0, 20.0}) {
    int n = 1;
    while (n * (n + 1) * serial / (1 - serial) <= value) ++n;
    EXPECT_EQ(curve->size(curve->worth(value)), n);
  }
}

TEST(Curve, EndsWhereWorkersAreUsedBadly) {
  const Curve curve({2, 4, 8}, {2, 3.5, 4}, Objective::Fair);
  EXPECT_EQ(curve.size(curve.efficient(.5)), 8);
  EXPECT_EQ(curve.size(curve.efficient(.6)), 4);
}

TEST(Curve, KeepsFewSizesOfMany) {
  const std::vector<int> few = thinned(sizes(1, 1000), {500, 333});
  EXPECT_LE(few.size(), 80u);
  for (const int size : {1, 32, 333, 500, 1000})
    EXPECT_TRUE(std::binary_search(few.begin(), few.end(), size)) << size;
  EXPECT_EQ(thinned(sizes(3, 60), {}).size(), 58u);
}

// What greedy distribution, one step at a time, comes to.
double worth_of(const std::vector<Claim>& claims, const std::vector<int>& places) {
  double sum = 0;
  for (std::size_t i = 0; i < claims.size(); ++i)
    for (int k = claims[i].from; k < places[i]; ++k)
      sum += claims[i].factor * claims[i].curve->marginal(k) *
             (claims[i].curve->size(k + 1) - claims[i].curve->size(k));
  return sum;
}

TEST(Level, IsTheBestOfAllDistributions) {
  const auto a = amdahl_curve(sizes(1, 6), 6, .8, Objective::Fair);
  const auto b = amdahl_curve(sizes(2, 8), 8, .4, Objective::Fair);
  const std::vector<Claim> claims = {{a.get(), 1, {1000, 0}, 0, 5}, {b.get(), 2, {1000, 0}, 0, 6}};
  for (int spare = 0; spare <= 12; ++spare) {
    double best = 0;
    for (int i = 0; i <= 5; ++i)
      for (int k = 0; k <= 6 && i + k <= spare; ++k) best = std::max(best, worth_of(claims, {i, k}));
    EXPECT_NEAR(worth_of(claims, level(claims, Resources{1000, 0} * spare)), best, 1e-12) << spare;
  }
}

TEST(Level, OfManyWorkersIsThatOfHandingThemOutOneByOne) {
  std::mt19937 random(1);
  std::vector<std::shared_ptr<const Curve>> curves;
  std::vector<Claim> claims;
  for (int i = 0; i < 200; ++i) {
    const int most = 2 + static_cast<int>(random() % 60);
    curves.push_back(amdahl_curve(sizes(1, most), most, .5 + .4 * (random() % 100) / 100, Objective::Fair));
    claims.push_back({curves.back().get(), 1.0 + random() % 3, {1000, 0}, 0, most - 1});
  }
  for (const int spare : {300, 1000, 3000, 20000}) {
    std::vector<int> one_by_one(claims.size(), 0);
    for (int left = spare; left > 0; --left) {
      int best = -1;
      for (int i = 0; i < 200; ++i) {
        if (one_by_one[i] >= claims[i].to) continue;
        const auto value = [&](int c) { return claims[c].factor * claims[c].curve->marginal(one_by_one[c]); };
        if (best < 0 || value(i) > value(best)) best = i;
      }
      if (best < 0) break;
      ++one_by_one[best];
    }
    EXPECT_NEAR(worth_of(claims, level(claims, Resources{1000, 0} * spare)), worth_of(claims, one_by_one),
                1e-9);
  }
}

TEST(Level, TakesNoMoreThanThereIsOfAnything) {
  const auto curve = amdahl_curve(sizes(1, 10), 10, .8, Objective::Fair);
  const std::vector<Claim> claims = {{curve.get(), 1, {1000, 10'000}, 0, 9},
                                     {curve.get(), 1, {1000, 1000}, 0, 9}};
  const std::vector<int> places = level(claims, {1'000'000, 9000});
  EXPECT_EQ(places[0], 0) << "it does not fit with its first step";
  EXPECT_EQ(places[1], 9);
}

TEST(Level, ByWorkIsInProportionWithTheLargestRemainder) {
  const auto curve = amdahl_curve(sizes(1, 20), 20, .8, Objective::Workload);
  const std::vector<Claim> claims(3, {curve.get(), 1, {1000, 0}, 0, 19});
  const std::vector<double> work = {10, 20, 7};
  // 10 workers in all: 2.70, 5.41, 1.89.
  const std::vector<int> places = level_by_work(claims, work, {7000, 0});
  EXPECT_EQ(curve->size(places[0]), 3);
  EXPECT_EQ(curve->size(places[1]), 5);
  EXPECT_EQ(curve->size(places[2]), 2);
}

}  // namespace
}  // namespace emj::queue
