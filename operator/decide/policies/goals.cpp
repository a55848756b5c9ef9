// SPDX-License-Identifier: Apache-2.0
// Policies deadline and budget (rules Q17, Q18): the least that is enough, and the most that is paid for.
// Both re-compute with every window, as seed 002 does, and neither ever ends a job.

#include <algorithm>
#include <iterator>
#include <optional>

#include "operator/decide/policies/cost.hpp"
#include "operator/decide/policies/policies.hpp"
#include "operator/decide/policies/remaining.hpp"
#include "runtime/base/text.hpp"

namespace emj {
namespace {

using empi::format;
using empi::time_text;

// The size that a deadline has given is kept while this share of the margin is left, so that noise moves
// nothing.
constexpr double kKeptMargin = 0.5;
constexpr double kReserve = 0.01;  // of a budget
// Errors of the measurement that are between the price of a size and what is surely too much, and enough.
constexpr double kTooMuch = 1.5, kEnough = 0.5;
constexpr double kReturn = 10;     // times its cost: as many worker seconds must a shrink free
constexpr double kEndSeconds = 3;  // that workers are paid after the program has ended

struct Sizes {
  std::vector<int> all, judged;
};

Sizes sizes_of(const PolicyInput& input, const Remaining& remaining) {
  Sizes sizes{possible_sizes(input), {}};
  for (const int n : sizes.all)
    if (n == input.current || (n >= remaining.smallest && n <= remaining.largest)) sizes.judged.push_back(n);
  return sizes;
}

template <class Predicate>
std::vector<int> those(const std::vector<int>& sizes, const Predicate& predicate) {
  std::vector<int> all;
  std::ranges::copy_if(sizes, std::back_inserter(all), predicate);
  return all;
}

template <class Value>
int least(const std::vector<int>& sizes, const Value& value) {
  return *std::ranges::min_element(sizes, {}, value);
}

// Of those that are about as fast as the fastest the smallest.
int fastest(const std::vector<int>& sizes, const Remaining& remaining, double tolerance) {
  const double best = remaining.seconds(least(sizes, remaining.seconds));
  return *std::ranges::find_if(sizes, [&](int n) { return remaining.seconds(n) <= best * (1 + tolerance); });
}

Proposal propose_size(int wanted, const PolicyInput& input, const Remaining& remaining, std::string reason,
                      Outlook outlook) {
  Prediction prediction;
  prediction.measured_seconds = remaining.iteration(input.current);
  if (wanted != input.current) prediction.predicted_seconds = remaining.iteration(wanted);
  // Who is late cannot wait until a reversal is open again.
  prediction.lasting = wanted > input.current;
  Proposal proposal{wanted, std::move(reason), false, false, prediction};
  proposal.outlook = std::move(outlook);
  return proposal;
}

Proposal unknown(const PolicyInput& input, const std::string& missing) {
  return {input.current, missing, true, false, {}};
}

std::string at_text(Time time) { return to_string(std::chrono::floor<Seconds>(time)); }

Time after(Time from, double seconds) {
  return from + std::chrono::ceil<Millis>(std::chrono::duration<double>(std::min(seconds, 1e9)));
}

Outlook dear(double budget, int cheapest, double price) {
  return {true,
          {},
          price,
          format("of the sizes that the job may have none keeps to the budget of %.4g: on %d workers, the "
                 "cheapest, it will have cost about %.4g",
                 budget, cheapest, price)};
}

}  // namespace

Proposal DeadlinePolicy::propose(const PolicyInput& input, PolicyState& state) const {
  std::string missing;
  const auto remaining = remaining_time(input, state, evidence_, missing);
  if (!remaining) return unknown(input, missing);
  if (!input.goals.deadline) return unknown(input, "the job has no deadline");
  const double time = std::chrono::duration<double>(*input.goals.deadline - input.now).count();
  const double margin = parameters_.margin_percent / 100.0 + remaining->error;
  const int current = input.current;
  const Sizes sizes = sizes_of(input, *remaining);
  const auto enough = [&](int n) { return remaining->seconds(n) * (1 + margin) <= time; };
  const bool kept = remaining->seconds(current) * (1 + kKeptMargin * margin) <= time;
  const int best = least(sizes.all, remaining->seconds);
  const double soonest = remaining->seconds(best);
  const std::string known = remaining->words + ", the deadline is " +
                            (time > 0 ? "in " + time_text(time) : "over for " + time_text(-time));
  const auto on = [&](int n) {
    return format(", %d would take %s", n, time_text(remaining->seconds(n)).c_str());
  };

  if (soonest > time) {
    const int to = fastest(sizes.judged, *remaining, tolerance_);
    Outlook outlook{
        true, after(input.now, soonest), 0,
        format("of the sizes that the job may have none meets the deadline of %s: on %d workers, the "
               "fastest, it will be over at about %s",
               at_text(*input.goals.deadline).c_str(), best, at_text(after(input.now, soonest)).c_str())};
    return propose_size(to, input, *remaining, known + on(best) + ", the least of all, and is late",
                        std::move(outlook));
  }
  const auto floor = std::ranges::find_if(sizes.judged, enough);
  int to = floor == sizes.judged.end() ? fastest(sizes.judged, *remaining, tolerance_) : *floor;
  if (to > current && kept) to = current;
  std::string why = to == current ? "" : on(to);
  if (to < current) {
    const double saved = (current - to) * remaining->seconds(to);
    const double price = change_cost(input.history, current, to).lost_seconds * current;
    if (saved < kReturn * price) {
      why += format(", but frees %.0f worker seconds only, a change costs %.0f", saved, price);
      to = current;
    }
  } else if (const auto below = std::ranges::lower_bound(sizes.judged, current);
             to == current && below != sizes.judged.begin()) {
    why += on(*(below - 1));
  }
  Outlook outlook{false, after(input.now, remaining->seconds(to)), 0, {}};
  return propose_size(to, input, *remaining, known + why, std::move(outlook));
}

Proposal BudgetPolicy::propose(const PolicyInput& input, PolicyState& state) const {
  std::string missing;
  const auto remaining = remaining_time(input, state, evidence_, missing);
  if (!remaining) return unknown(input, missing);
  if (!input.goals.budget) return unknown(input, "the job has no budget");
  const int current = input.current;
  const double rate = input.goals.per_worker_hour / 3600;
  const double left = *input.goals.budget - input.goals.spent;
  Sizes sizes = sizes_of(input, *remaining);
  // A guess that makes fewer workers dear would give up too many of them.
  const int gives_up = std::max(1, remaining->fewer_known ? current / 2 : current / 4);
  std::erase_if(sizes.judged, [&](int n) { return n < current - gives_up; });
  // Newcomers are paid from their first second, leavers until they are gone.
  const auto price = [&](int n) {
    const double leaving =
        n < current ? (current - n) * change_cost(input.history, current, n).delay_seconds : 0;
    return rate * (n * (remaining->seconds(n) + kEndSeconds) + leaving);
  };
  // The first windows tell little, not even how little, and what a size too large costs until more is known
  // is little, too: what runs is left for what is surely too much, and then for the fastest of those that are
  // expected to be paid, or that cost about as little as any: a few per cent are within what is not known.
  // Who can only just be paid on the cheapest has no time to wait for that.
  const double planned = left - kReserve * *input.goals.budget;
  const double least_price = price(least(sizes.judged, price));
  const double patience = least_price <= planned ? kTooMuch * remaining->error + tolerance_ : 0;
  const auto paid = [&](int n) {
    if (n <= current) return price(n) * (1 - (n == current ? patience : 0)) <= planned;
    // Larger sizes were measured when the machine may have been faster: more workers are not cheaper than
    // fewer.
    return std::max(price(n), price(current)) * (1 + tolerance_ + kEnough * remaining->error) <= planned;
  };
  const std::vector<int> affordable = those(sizes.judged, [&](int n) {
    return paid(n) || (n <= current && price(n) <= least_price * (1 + tolerance_));
  });
  int to = affordable.empty() ? least(sizes.judged, price) : fastest(affordable, *remaining, tolerance_);
  std::string why = format(", %d would take %s and cost %.4g more", to,
                           time_text(remaining->seconds(to)).c_str(), price(to));
  const double gain = 1 - remaining->seconds(to) / remaining->seconds(current);
  const bool pays =
      to > current ? gain >= std::max(tolerance_, remaining->error)
                   : gain >= remaining->error - tolerance_ && price(to) <= price(current) * (1 - tolerance_);
  if (to != current && paid(current) && !pays) {
    why += ", which is not worth a change";
    to = current;
  }
  const int cheapest = least(sizes.all, price);
  const bool too_dear = price(cheapest) > left;
  if (too_dear) why += ", and is too much";
  Outlook outlook = too_dear ? dear(*input.goals.budget, cheapest, input.goals.spent + price(cheapest))
                             : Outlook{false, {}, input.goals.spent + price(to), {}};
  const std::string known =
      remaining->words + format(", %.4g of %.4g spent", input.goals.spent, *input.goals.budget);
  return propose_size(to, input, *remaining, known + why, std::move(outlook));
}

}  // namespace emj
