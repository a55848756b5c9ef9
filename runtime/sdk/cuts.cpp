// SPDX-License-Identifier: Apache-2.0
#include "elastic_mpi/cuts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace elastic {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kFarAway = std::numeric_limits<std::int64_t>::max();

// Capacities in integers: the largest becomes 2^32, and none that is positive becomes 0.
std::vector<std::int64_t> capacity_units(std::span<const double> capacity) {
  const double largest = *std::max_element(capacity.begin(), capacity.end());
  std::vector<std::int64_t> units;
  units.reserve(capacity.size());
  for (const double c : capacity) {
    const std::int64_t rounded = std::llround(c / largest * 4294967296.0);
    units.push_back(c > 0 ? std::max<std::int64_t>(rounded, 1) : 0);
  }
  return units;
}

}  // namespace

WeightScale::WeightScale(double largest, std::int64_t count) {
  int exponent = 0;  // largest < 2^exponent
  std::frexp(largest, &exponent);
  const int count_bits = std::bit_width(static_cast<std::uint64_t>(count));
  scale_ = std::ldexp(1.0, 61 - exponent - count_bits);
}

std::vector<std::int64_t> wanted_cuts(std::int64_t total, std::span<const double> capacity) {
  const auto units = capacity_units(capacity);
  Wide whole = 0;
  for (const auto u : units) whole += u;
  std::vector<std::int64_t> wanted{0};
  wanted.reserve(units.size() + 1);
  Wide before = 0;
  for (const auto u : units) {
    before += u;
    wanted.push_back(static_cast<std::int64_t>(total * before / whole));
  }
  return wanted;
}

std::vector<Candidate> nearest_cuts(std::span<const std::int64_t> wanted, std::int64_t first_position,
                                    std::int64_t first_weight, std::int64_t count,
                                    std::span<const double> weight, const WeightScale& scale,
                                    std::span<const std::uint8_t> may_cut) {
  std::vector<Candidate> best(wanted.size(), Candidate{kFarAway, kFarAway});
  const std::int64_t unit = scale.units(1.0);
  std::size_t next = 0;  // wanted places before it are settled
  std::int64_t here = first_weight;
  std::int64_t last_weight = 0, last_position = kFarAway;  // the candidate before the current one
  for (std::int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const bool allowed = may_cut.empty() || may_cut[index] != 0;
    const bool same_place = last_position != kFarAway && here == last_weight;
    if (allowed && !same_place) {
      for (; next < wanted.size() && wanted[next] <= here; ++next) {
        best[next] = {here - wanted[next], first_position + i};
        if (last_position == kFarAway) continue;
        const std::int64_t back = wanted[next] - last_weight;
        if (back <= best[next].distance) best[next] = {back, last_position};
      }
      last_weight = here;
      last_position = first_position + i;
    }
    here += weight.empty() ? unit : scale.units(weight[index]);
  }
  if (last_position == kFarAway) return best;
  for (; next < wanted.size(); ++next) best[next] = {wanted[next] - last_weight, last_position};
  return best;
}

std::vector<std::int64_t> choose_cuts(std::span<const std::int64_t> wanted, std::span<const Candidate> best,
                                      std::int64_t count) {
  const std::int64_t total = wanted.back();
  std::vector<std::int64_t> result(wanted.size());
  for (std::size_t r = 0; r < wanted.size(); ++r) {
    Candidate c{wanted[r], 0};  // the start of the sequence
    if (best[r].distance < c.distance) c = best[r];
    if (total - wanted[r] < c.distance) c = {total - wanted[r], count};
    // Elements without weight at the ends must not fall to parts without capacity.
    if (wanted[r] == total) c.position = count;
    if (wanted[r] == 0) c.position = 0;
    result[r] = c.position;
  }
  result.back() = count;
  return result;
}

std::vector<std::int64_t> even_cuts(std::int64_t count, std::span<const double> capacity) {
  const std::int64_t unit = WeightScale(1.0, count).units(1.0);
  const auto wanted = wanted_cuts(count * unit, capacity);
  std::vector<Candidate> best;
  for (const auto w : wanted) {
    const std::int64_t position = w / unit, back = w % unit;
    best.push_back(back <= unit - back ? Candidate{back, position} : Candidate{unit - back, position + 1});
  }
  return choose_cuts(wanted, best, count);
}

std::vector<std::int64_t> cuts(std::int64_t count, std::span<const double> weight,
                               std::span<const double> capacity, std::span<const std::uint8_t> may_cut) {
  const auto size = static_cast<std::size_t>(count);
  if (!weight.empty() && weight.size() != size)
    throw std::invalid_argument("cuts: " + std::to_string(weight.size()) + " weights for " +
                                std::to_string(size) + " elements; give one each or none");
  if (!may_cut.empty() && may_cut.size() != size)
    throw std::invalid_argument("cuts: " + std::to_string(may_cut.size()) + " cut marks for " +
                                std::to_string(size) + " elements; give one each or none");
  const auto valid = [](double x) { return std::isfinite(x) && x >= 0; };
  if (!std::ranges::all_of(weight, valid) || !std::ranges::all_of(capacity, valid))
    throw std::invalid_argument("cuts: weights and capacities must be finite and not negative");
  if (count == 0) return std::vector<std::int64_t>(capacity.size() + 1, 0);
  if (std::ranges::none_of(capacity, [](double c) { return c > 0; }))
    throw std::invalid_argument("cuts: no part has a capacity above 0, nobody can receive the elements");

  double largest = weight.empty() ? 1.0 : *std::max_element(weight.begin(), weight.end());
  if (largest < kNegligibleWeight) {
    weight = {};
    largest = 1;
  }
  if (weight.empty() && may_cut.empty()) return even_cuts(count, capacity);

  const WeightScale scale(largest, count);
  std::int64_t total = 0;
  if (weight.empty()) total = count * scale.units(1.0);
  for (const double w : weight) total += scale.units(w);
  const auto wanted = wanted_cuts(total, capacity);
  return choose_cuts(wanted, nearest_cuts(wanted, 0, 0, count, weight, scale, may_cut), count);
}

std::vector<Transfer> overlaps(std::int64_t begin, std::int64_t end, std::span<const std::int64_t> offsets) {
  std::vector<Transfer> result;
  if (begin >= end) return result;
  // The last rank whose part begins at or before `begin` is the first that can overlap.
  const auto after = std::upper_bound(offsets.begin(), offsets.end(), begin);
  for (auto r = static_cast<std::size_t>(after - offsets.begin()) - 1; r + 1 < offsets.size(); ++r) {
    const std::int64_t from = std::max(begin, offsets[r]);
    const std::int64_t to = std::min(end, offsets[r + 1]);
    if (from < to) result.push_back({static_cast<int>(r), from, to - from});
    if (offsets[r + 1] >= end) break;
  }
  return result;
}

}  // namespace elastic
