// SPDX-License-Identifier: Apache-2.0
// Promise: cuts lose nothing, keep every part within one unbreakable group of its share, and do not depend on
// how the sequence was distributed before.
#include "elastic_mpi/cuts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

namespace elastic {
namespace {

using Offsets = std::vector<std::int64_t>;

// A random problem: some weights zero, some very heavy, some capacities zero, some marks.
struct Problem {
  std::vector<double> weight, capacity;
  std::vector<std::uint8_t> may_cut;
  std::int64_t count = 0;
};

Problem random_problem(std::mt19937_64& random) {
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  Problem p;
  p.count = pick(10) == 0 ? 0 : pick(200);
  const int weighting = pick(4);
  for (std::int64_t i = 0; i < p.count && weighting != 0; ++i) {
    double w = std::uniform_real_distribution<>(0, 1)(random);
    if (weighting == 2 && pick(3) == 0) w = 0;
    if (weighting == 3 && pick(10) == 0) w *= 1e6;
    p.weight.push_back(w);
  }
  const int parts = 1 + pick(12);
  const bool equal = pick(2) == 0;
  for (int r = 0; r < parts; ++r)
    p.capacity.push_back(pick(3) == 0 ? 0.0 : equal ? 1.0 : std::uniform_real_distribution<>(0.1, 4)(random));
  if (std::ranges::none_of(p.capacity, [](double c) { return c > 0; }))
    p.capacity[static_cast<std::size_t>(pick(parts))] = 1;
  if (pick(2) == 0)
    for (std::int64_t i = 0; i < p.count; ++i) p.may_cut.push_back(pick(4) == 0);
  return p;
}

double weight_of(const Problem& p, std::int64_t i) {
  const bool all_zero = std::ranges::all_of(p.weight, [](double w) { return w == 0; });
  return p.weight.empty() || all_zero ? 1.0 : p.weight[static_cast<std::size_t>(i)];
}

double heaviest_group(const Problem& p) {
  double heaviest = 0, group = 0;
  for (std::int64_t i = 0; i < p.count; ++i) {
    if (p.may_cut.empty() || p.may_cut[static_cast<std::size_t>(i)]) group = 0;
    group += weight_of(p, i);
    heaviest = std::max(heaviest, group);
  }
  return heaviest;
}

TEST(Cuts, EveryPartIsWithinOneGroupOfItsShare) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 20000; ++trial) {
    const Problem p = random_problem(random);
    const Offsets cut = cuts(p.count, p.weight, p.capacity, p.may_cut);
    ASSERT_EQ(cut.size(), p.capacity.size() + 1);
    ASSERT_EQ(cut.front(), 0);
    ASSERT_EQ(cut.back(), p.count);
    ASSERT_TRUE(std::ranges::is_sorted(cut));
    double total = 0;
    for (std::int64_t i = 0; i < p.count; ++i) total += weight_of(p, i);
    const double capacity = std::accumulate(p.capacity.begin(), p.capacity.end(), 0.0);
    const double group = heaviest_group(p);
    for (std::size_t r = 0; r < p.capacity.size(); ++r) {
      if (p.capacity[r] == 0) {
        ASSERT_EQ(cut[r], cut[r + 1]) << "a part without capacity received elements";
      }
      if (cut[r] > 0 && cut[r] < p.count && !p.may_cut.empty()) {
        ASSERT_TRUE(p.may_cut[static_cast<std::size_t>(cut[r])]) << "cut at a forbidden place";
      }
      double mine = 0;
      for (std::int64_t i = cut[r]; i < cut[r + 1]; ++i) mine += weight_of(p, i);
      // 1e-8: capacities are rounded to 32 bits.
      ASSERT_LE(std::abs(mine - total * p.capacity[r] / capacity), group + 1e-8 * total) << "trial " << trial;
    }
  }
}

// The same sequence in another distribution: every stretch looks for itself, the best are combined.
Offsets distributed_cuts(const Problem& p, const Offsets& stretch) {
  const double largest = p.weight.empty() ? 1 : *std::ranges::max_element(p.weight);
  const WeightScale scale(largest == 0 ? 1 : largest, p.count);
  const std::vector<double> none;
  const auto& weight = largest == 0 ? none : p.weight;
  const auto units = [&](std::int64_t i) {
    return scale.units(weight.empty() ? 1.0 : weight[static_cast<std::size_t>(i)]);
  };
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < p.count; ++i) total += units(i);
  const auto wanted = wanted_cuts(total, p.capacity);
  std::vector<Candidate> best(wanted.size(), {INT64_MAX, INT64_MAX});
  std::int64_t before = 0;
  for (std::size_t s = 0; s + 1 < stretch.size(); ++s) {
    const auto begin = static_cast<std::size_t>(stretch[s]);
    const auto n = static_cast<std::size_t>(stretch[s + 1]) - begin;
    const auto part = [&](const auto& values) {
      return values.empty() ? std::span(values) : std::span(values).subspan(begin, n);
    };
    const auto mine = nearest_cuts(wanted, stretch[s], before, static_cast<std::int64_t>(n), part(weight),
                                   scale, part(p.may_cut));
    for (std::size_t k = 0; k < best.size(); ++k)
      if (std::pair(mine[k].distance, mine[k].position) < std::pair(best[k].distance, best[k].position))
        best[k] = mine[k];
    for (std::int64_t i = stretch[s]; i < stretch[s + 1]; ++i) before += units(i);
  }
  return choose_cuts(wanted, best, p.count);
}

TEST(Cuts, DoNotDependOnTheDistributionBefore) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 5000; ++trial) {
    const Problem p = random_problem(random);
    if (p.count == 0) continue;
    Offsets stretch{0, p.count};
    for (int k = static_cast<int>(random() % 8); k > 0; --k)
      stretch.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(p.count + 1)));
    std::ranges::sort(stretch);
    ASSERT_EQ(distributed_cuts(p, stretch), cuts(p.count, p.weight, p.capacity, p.may_cut))
        << "trial " << trial;
  }
}

TEST(Cuts, ExplicitUnitWeightsAreTheSameAsNone) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 2000; ++trial) {
    Problem p = random_problem(random);
    const Offsets plain = cuts(p.count, {}, p.capacity, p.may_cut);
    p.weight.assign(static_cast<std::size_t>(p.count), 1.0);
    ASSERT_EQ(cuts(p.count, p.weight, p.capacity, p.may_cut), plain);
  }
}

TEST(Cuts, HugeCountsDoNotOverflow) {
  const std::int64_t count = std::int64_t{1} << 40;
  const std::vector<double> capacity(3, 1.0);
  const WeightScale scale(1.0, count);
  const auto wanted = wanted_cuts(count * scale.units(1.0), capacity);
  EXPECT_EQ(wanted[1] / scale.units(1.0), count / 3);
  EXPECT_EQ(wanted[3] / scale.units(1.0), count);
}

TEST(Cuts, TinyAndHugeWeights) {
  for (const double w : {5e-324, 1e-300, 1.0, 1e300}) {
    const std::vector<double> weight(8, w), capacity(4, 1.0);
    EXPECT_EQ(cuts(8, weight, capacity), (Offsets{0, 2, 4, 6, 8})) << w;
  }
}

TEST(Cuts, RefuseBadArguments) {
  const std::vector<double> one{1.0}, none{0.0, 0.0}, negative{-1.0};
  const std::vector<std::uint8_t> marks{1, 1};
  EXPECT_THROW(cuts(2, one, one), std::invalid_argument);
  EXPECT_THROW(cuts(1, {}, one, marks), std::invalid_argument);
  EXPECT_THROW(cuts(1, negative, one), std::invalid_argument);
  EXPECT_THROW(cuts(1, {}, none), std::invalid_argument);
  EXPECT_NO_THROW(cuts(0, {}, none));
}

TEST(Overlaps, SendsAndReceivesMatchAndKeepOrder) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 5000; ++trial) {
    const int ranks = 1 + static_cast<int>(random() % 9);
    const auto count = static_cast<std::int64_t>(random() % 60);
    const auto random_offsets = [&] {
      Offsets o{0, count};
      for (int r = 1; r < ranks; ++r)
        o.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count + 1)));
      std::ranges::sort(o);
      return o;
    };
    const Offsets before = random_offsets(), after = random_offsets();
    std::vector<int> arrived(static_cast<std::size_t>(count), 0);
    for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
      for (const auto& in : overlaps(after[r], after[r + 1], before)) {
        ASSERT_GT(in.count, 0);
        for (std::int64_t i = in.begin; i < in.begin + in.count; ++i) ++arrived[static_cast<std::size_t>(i)];
        // The sender plans exactly this message.
        const auto peer = static_cast<std::size_t>(in.peer);
        const auto sent = overlaps(before[peer], before[peer + 1], after);
        ASSERT_TRUE(std::ranges::any_of(sent, [&](const Transfer& t) {
          return static_cast<std::size_t>(t.peer) == r && t.begin == in.begin && t.count == in.count;
        }));
      }
    }
    ASSERT_TRUE(std::ranges::all_of(arrived, [](int n) { return n == 1; }));
  }
}

}  // namespace
}  // namespace elastic
