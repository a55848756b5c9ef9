// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/level.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>

namespace emj::queue {
namespace {

// With no more spare workers than this, or as many for each claim, handing them out one step at a time is
// quicker.
constexpr std::int64_t kFew = 256;

Resources between(const Claim& claim, int from, int to) {
  return claim.worker * (claim.curve->size(to) - claim.curve->size(from));
}

// A claim in the bisection. What each round reads of it lies together: there are thousands, and their curves
// lie anywhere.
struct Open {
  const double* marginals;
  const int* sizes;
  double factor;
  Resources worker;
  int claim;
  int low;   // place that it reaches at a level that is too high,
  int high;  // and at one that is too low
  int middle;

  double value(int place) const { return marginals[place] * factor; }
  Resources taken(int from, int to) const { return worker * (sizes[to] - sizes[from]); }
  // Largest place in [low, high] to which every step is worth at least `level`; mostly near `low` or `high`.
  int reached(double level) const {
    int least = low, most = high;
    for (int step = 1; least < most; step *= 2) {
      const int up = std::min(least + step, most);
      if (value(up - 1) < level) {
        most = up - 1;
        break;
      }
      least = up;
      const int down = std::max(most - step, least);
      if (down < most && value(down) >= level) {
        least = down + 1;
        break;
      }
      most = down;
    }
    while (least < most) {
      const int middle_place = least + (most - least) / 2;
      if (value(middle_place) >= level) {
        least = middle_place + 1;
      } else {
        most = middle_place;
      }
    }
    return least;
  }
};

// The values between which the level is: that of the last step of any claim, and that of the first.
struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;

  // Marginals are spread over orders of magnitude.
  double middle() const { return least > 0 ? std::sqrt(least * most) : most / 2; }
};

// A few of the claims: where the level is for them, it is nearly for all.
class Sampled {
 public:
  Sampled(std::span<const Open> open, Range range) : range_(range) {
    constexpr std::size_t kOneOf = 32;
    for (std::size_t i = 0; i < open.size(); i += kOneOf) sample_.push_back(open[i]);
    share_ = static_cast<double>(sample_.size()) / static_cast<double>(open.size());
  }
  // CPU that they take at this level, as if of all.
  double taken(double level) const {
    std::int64_t used = 0;
    for (const Open& claim : sample_) used += claim.taken(claim.low, claim.reached(level)).milli_cpu;
    return static_cast<double>(used) / share_;
  }
  // The level at which they take so much.
  double level(double milli_cpu) const {
    Range range = range_;
    for (int round = 0; round < 16; ++round) {
      const double value = range.middle();
      (taken(value) <= milli_cpu ? range.most : range.least) = value;
    }
    return range.most;
  }

 private:
  std::vector<Open> sample_;
  Range range_;
  double share_ = 1;
};

// Bisection: `places` and `spare` become what surely is given out. Each round looks at the claims that are
// not decided only, the first three at a guess, and right above and below a better one. Those that are left
// share what is spare then.
std::vector<Open> find_level(std::span<const Claim> claims, Resources& spare, std::vector<int>& places) {
  constexpr double kClose = 1.005;
  std::vector<Open> open;
  open.reserve(claims.size());
  Range range;
  Resources all;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Claim& claim = claims[i];
    if (claim.from >= claim.to) continue;
    open.push_back({claim.curve->marginals().data(), claim.curve->sizes().data(), claim.factor, claim.worker,
                    static_cast<int>(i), claim.from, claim.to, claim.from});
    range.most = std::max(range.most, open.back().value(claim.from));
    range.least = std::min(range.least, open.back().value(claim.to - 1));
    all += open.back().taken(claim.from, claim.to);
  }
  if (fits(all, spare)) {
    spare -= all;
    for (const Open& claim : open) places[claim.claim] = claim.high;
    return {};
  }
  const Sampled sampled(open, range);
  const auto target = static_cast<double>(spare.milli_cpu);
  double guess = sampled.level(target);
  for (int round = 0; round < 60 && !open.empty(); ++round) {
    double value = round == 0 ? guess : round == 1 ? guess * kClose : round == 2 ? guess / kClose : 0;
    if (value <= range.least || value >= range.most) value = range.middle();
    Resources used;
    for (Open& claim : open) {
      claim.middle = claim.reached(value);
      used += claim.taken(claim.low, claim.middle);
    }
    const bool enough = fits(used, spare);
    // What all take, and what a few of them said of it, says how far the guess was off.
    if (round == 0 && used.milli_cpu > 0)
      guess = sampled.level(sampled.taken(value) * target / static_cast<double>(used.milli_cpu));
    (enough ? range.most : range.least) = value;
    if (enough) spare -= used;
    std::int64_t undecided = 0;
    for (Open& claim : open) {
      (enough ? claim.low : claim.high) = claim.middle;
      places[claim.claim] = claim.low;
      undecided += claim.sizes[claim.high] - claim.sizes[claim.low];
    }
    std::erase_if(open, [](const Open& claim) { return claim.low >= claim.high; });
    if (undecided <= kFew) break;
  }
  return open;
}

struct Step {
  double value;
  int claim;
  int last;  // place beyond which it is not asked
  bool operator<(const Step& other) const {
    return value != other.value ? value < other.value : claim > other.claim;
  }
};

// The most valuable step first; who cannot take its next one whole gets no more. `least` is what any step
// needs: with less than that left nobody is asked.
void hand_out(std::span<const Claim> claims, std::vector<Step> steps, Resources& spare,
              const Resources& least, std::vector<int>& places) {
  std::priority_queue<Step> heap({}, std::move(steps));
  while (!heap.empty() && fits(least, spare)) {
    const auto [value, i, last] = heap.top();
    heap.pop();
    const Claim& claim = claims[i];
    const int next = claim.curve->next(places[i]);
    if (next > last) continue;
    const Resources need = between(claim, places[i], next);
    if (!fits(need, spare)) continue;
    spare -= need;
    places[i] = next;
    if (next < last) heap.push({claim.curve->marginal(next) * claim.factor, i, last});
  }
}

}  // namespace

std::vector<int> level(std::span<const Claim> claims, Resources spare) {
  std::vector<int> places;
  places.reserve(claims.size());
  if (claims.empty()) return places;
  Resources least = claims.front().worker;
  for (const Claim& claim : claims) {
    places.push_back(claim.from);
    least = smaller(least, claim.worker);
  }
  std::vector<Step> steps;
  if (spare.milli_cpu / std::max<std::int64_t>(1, least.milli_cpu) > kFew) {
    // Steps of those that are not in the rest are worth less than any of theirs.
    for (const Open& claim : find_level(claims, spare, places))
      steps.push_back({claim.value(claim.low), claim.claim, claim.high});
    hand_out(claims, std::exchange(steps, {}), spare, least, places);
  }
  if (!fits(least, spare)) return places;
  for (int i = 0; i < static_cast<int>(claims.size()); ++i) {
    if (places[i] < claims[i].to)
      steps.push_back({claims[i].curve->marginal(places[i]) * claims[i].factor, i, claims[i].to});
  }
  hand_out(claims, std::move(steps), spare, least, places);
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
