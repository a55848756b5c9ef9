// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/level.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>

namespace emj::queue {
namespace {

// With no more spare workers than this, or as many for each claim, handing them out one step at a time is
// quicker.
constexpr std::int64_t kFew = 256;

Resources between(const Claim& claim, int from, int to) {
  return claim.worker * (claim.curve->size(to) - claim.curve->size(from));
}

// Largest place in [low, high] to which every step is worth at least `value`.
int reached(const Claim& claim, int low, int high, double value) {
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (claim.curve->marginal(middle) * claim.factor >= value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The values between which the level is: that of the last step of any claim, and that of the first.
struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  Resources all;  // what all claims take together

  explicit Range(std::span<const Claim> claims) {
    for (const Claim& claim : claims) {
      if (claim.from >= claim.to) continue;
      all += between(claim, claim.from, claim.to);
      most = std::max(most, claim.curve->marginal(claim.from) * claim.factor);
      least = std::min(least, claim.curve->marginal(claim.to - 1) * claim.factor);
    }
  }
  // Marginals are spread over orders of magnitude.
  double middle() const { return least > 0 ? std::sqrt(least * most) : most / 2; }
};

// About where the level is: that of a few claims which get as much of the spare as they are of all.
double guess_level(std::span<const Claim> claims, const Resources& spare, Range range) {
  constexpr std::size_t kOneOf = 32;
  const double share = static_cast<double>(spare.milli_cpu) / kOneOf;
  for (int round = 0; round < 16; ++round) {
    const double value = range.middle();
    double used = 0;
    for (std::size_t i = 0; i < claims.size(); i += kOneOf) {
      const Claim& claim = claims[i];
      if (claim.from < claim.to)
        used += static_cast<double>(
            between(claim, claim.from, reached(claim, claim.from, claim.to, value)).milli_cpu);
    }
    (used <= share ? range.most : range.least) = value;
  }
  return range.most;
}

// Bisection. `low` are places that fit together, `high` such that do not; each round looks between them only,
// the first two right above and below the guess.
void find_level(std::span<const Claim> claims, Resources& spare, std::vector<int>& low) {
  std::vector<int> high(claims.size()), middle(claims.size());
  for (std::size_t i = 0; i < claims.size(); ++i) high[i] = std::max(claims[i].from, claims[i].to);
  Range range(claims);
  if (fits(range.all, spare)) {
    low = high;
    spare -= range.all;
    return;
  }
  const double guess = guess_level(claims, spare, range);
  std::vector<int> open(claims.size());  // claims that are not decided
  std::iota(open.begin(), open.end(), 0);
  for (int round = 0; round < 60 && !open.empty(); ++round) {
    double value = round == 0 ? guess * 1.05 : round == 1 ? guess / 1.05 : range.middle();
    if (value <= range.least || value >= range.most) value = range.middle();
    Resources used;
    for (const int i : open) {
      middle[i] = reached(claims[i], low[i], high[i], value);
      used += between(claims[i], low[i], middle[i]);
    }
    const bool enough = fits(used, spare);
    (enough ? range.most : range.least) = value;
    if (enough) spare -= used;
    std::int64_t undecided = 0;
    for (const int i : open) {
      (enough ? low : high)[i] = middle[i];
      undecided += claims[i].curve->size(high[i]) - claims[i].curve->size(low[i]);
    }
    std::erase_if(open, [&](int i) { return low[i] >= high[i]; });
    if (undecided <= kFew) return;
  }
}

struct Step {
  double value;
  int claim;
  bool operator<(const Step& other) const {
    return value != other.value ? value < other.value : claim > other.claim;
  }
};

// What is left, the most valuable step first; who cannot take its next one whole gets no more.
void hand_out(std::span<const Claim> claims, Resources spare, std::vector<int>& places) {
  std::vector<Step> steps;
  for (int i = 0; i < static_cast<int>(claims.size()); ++i) {
    if (places[i] < claims[i].to)
      steps.push_back({claims[i].curve->marginal(places[i]) * claims[i].factor, i});
  }
  std::priority_queue<Step> heap({}, std::move(steps));
  while (!heap.empty() && any_positive(spare)) {
    const int i = heap.top().claim;
    heap.pop();
    const Claim& claim = claims[i];
    const int next = claim.curve->next(places[i]);
    if (next > claim.to) continue;
    const Resources need = between(claim, places[i], next);
    if (!fits(need, spare)) continue;
    spare -= need;
    places[i] = next;
    if (next < claim.to) heap.push({claim.curve->marginal(next) * claim.factor, i});
  }
}

}  // namespace

std::vector<int> level(std::span<const Claim> claims, Resources spare) {
  std::vector<int> places;
  places.reserve(claims.size());
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  for (const Claim& claim : claims) {
    places.push_back(claim.from);
    smallest = std::min(smallest, std::max<std::int64_t>(1, claim.worker.milli_cpu));
  }
  if (claims.empty()) return places;
  if (spare.milli_cpu / smallest > kFew) find_level(claims, spare, places);
  hand_out(claims, spare, places);
  return places;
}

std::vector<int> level_by_work(std::span<const Claim> claims, std::span<const double> work, Resources spare) {
  std::vector<int> places;
  Resources room = spare;
  double total_work = 0;
  std::int64_t total = std::max<std::int64_t>(0, spare.milli_cpu);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    places.push_back(claims[i].from);
    total_work += work[i];
    total += claims[i].worker.milli_cpu * claims[i].curve->size(claims[i].from);
  }
  if (total_work <= 0) return places;
  struct Share {
    int claim;
    int whole;
    double remainder;
  };
  std::vector<Share> shares;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const double per_worker = std::max<double>(1.0, static_cast<double>(claims[i].worker.milli_cpu));
    const double exact = static_cast<double>(total) * work[i] / total_work / per_worker;
    const int whole = static_cast<int>(exact);
    shares.push_back({static_cast<int>(i), whole, exact - whole});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.remainder > b.remainder; });
  // First everybody its whole share, then one more each by the remainders.
  for (const int extra : {0, 1}) {
    for (const Share& share : shares) {
      const Claim& claim = claims[share.claim];
      const int to = std::min(claim.to, claim.curve->at_most(share.whole + extra));
      if (to <= places[share.claim]) continue;
      const Resources need = between(claim, places[share.claim], to);
      if (!fits(need, room)) continue;
      room -= need;
      places[share.claim] = to;
    }
  }
  return places;
}

}  // namespace emj::queue
