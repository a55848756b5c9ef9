// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/level.hpp"

#include <algorithm>
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

// Bisection. `low` are places that fit together, `high` such that do not; each round looks between them only.
void find_level(std::span<const Claim> claims, Resources& spare, std::vector<int>& low) {
  std::vector<int> high(claims.size()), middle(claims.size());
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  Resources all;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Claim& claim = claims[i];
    high[i] = claim.to;
    if (claim.from >= claim.to) continue;
    all += between(claim, claim.from, claim.to);
    most = std::max(most, claim.curve->marginal(claim.from) * claim.factor);
    least = std::min(least, claim.curve->marginal(claim.to - 1) * claim.factor);
  }
  if (fits(all, spare)) {
    low = high;
    spare -= all;
    return;
  }
  std::vector<int> open(claims.size());  // claims that are not decided
  std::iota(open.begin(), open.end(), 0);
  for (int round = 0; round < 60 && !open.empty(); ++round) {
    const double value = (least + most) / 2;
    Resources used;
    for (const int i : open) {
      middle[i] = reached(claims[i], low[i], high[i], value);
      used += between(claims[i], low[i], middle[i]);
    }
    const bool enough = fits(used, spare);
    (enough ? most : least) = value;
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
