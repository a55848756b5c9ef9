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

using empi::amount_text;
using empi::format;
using empi::time_text;

// The size that a deadline has given is kept while this share of the margin is left, so that noise moves
// nothing.
constexpr double kKeptMargin = 0.5;
constexpr double kReserve = 0.01;  // of what is left of a budget
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

// How many workers fewer a deadline leaves room to try, where one size cannot tell what they take; else none.
// In time must be: as slow as is feared until that is measured, and then back to the present size. As few as
// that leaves for the pace as it seems to be, and when that is certain enough. `allowed`: seconds until the
// deadline, less the margin with which a size is kept; `error`: of what is left, relative.
std::optional<int> fewer_to_try(const PolicyInput& input, const Remaining& remaining,
                                const std::vector<int>& judged, double until_measured, double allowed,
                                double error) {
  const int current = input.current;
  if (remaining.fewer_known) return std::nullopt;
  const auto over_in = [&](int n) {
    const ChangeCost there = change_cost(input.history, current, n);
    const ChangeCost back = change_cost(input.history, n, current);
    const double slower = 1 - remaining.iteration(current) / remaining.iteration(n);
    return remaining.seconds(current) + there.lost_seconds + back.lost_seconds +
           slower * (until_measured + there.delay_seconds + back.delay_seconds);
  };
  const auto least = std::ranges::find_if(judged, [&](int n) {
    return n < current && n >= current - std::max(1, current / 4) && remaining.at_best(n) <= allowed &&
           over_in(n) <= allowed;
  });
  if (least == judged.end() || over_in(*least) * (1 + error) > allowed) return std::nullopt;
  return *least;
}

Proposal unknown(const PolicyInput& input, const std::string& missing) {
  return {input.current, missing, true, false, {}};
}

Time after(Time from, double seconds) {
  return from + std::chrono::ceil<Millis>(std::chrono::duration<double>(std::min(seconds, 1e9)));
}

Outlook dear(double budget, int cheapest, double price) {
  return {true,
          {},
          price,
          "of the sizes that the job may have none keeps to the budget of " + amount_text(budget) + ": on " +
              std::to_string(cheapest) + " workers, the cheapest, it will have cost about " +
              amount_text(price)};
}

// What a budget goes by at one moment: what each size will have cost from now on. A guess that makes fewer
// workers dear would give up too many of them: the fewer sizes are known, the nearer are those that are
// judged.
class Bill {
 public:
  Bill(const PolicyInput& input, const Remaining& remaining, double tolerance)
      : input_(input),
        remaining_(remaining),
        tolerance_(tolerance),
        current_(input.current),
        planned_((*input.goals.budget - input.goals.spent) * (1 - kReserve)),
        sizes_(sizes_of(input, remaining)) {
    const int gives_up = std::max(1, remaining.fewer_known ? current_ / 2 : current_ / 4);
    std::erase_if(sizes_.judged, [&](int n) { return n < current_ - gives_up; });
    least_price_ = price(least(sizes_.judged, [this](int n) { return price(n); }));
  }

  // Newcomers are paid from their first second, leavers until they are gone.
  double price(int n) const {
    const double leaving =
        n < current_ ? (current_ - n) * change_cost(input_.history, current_, n).delay_seconds : 0;
    return input_.goals.per_worker_hour / 3600 * (n * (remaining_.seconds(n) + kEndSeconds) + leaving);
  }

  // The first windows tell little, not even how little, and what a size too large costs until more is known
  // is little, too: what runs is left for what is surely too much. Who can only just be paid on the cheapest
  // has no time to wait for that. Larger sizes were measured when the machine may have been faster: more
  // workers are not cheaper than fewer.
  bool paid(int n) const {
    if (n > current_)
      return std::max(price(n), price(current_)) * (1 + tolerance_ + kEnough * remaining_.error) <= planned_;
    const double patience = least_price_ <= planned_ ? kTooMuch * remaining_.error + tolerance_ : 0;
    return price(n) * (1 - (n == current_ ? patience : 0)) <= planned_;
  }

  // The fastest of those that are expected to be paid, or that cost about as little as any: a few per cent
  // are within what is not known.
  int best() const {
    const std::vector<int> affordable = those(sizes_.judged, [this](int n) {
      return paid(n) || (n <= current_ && price(n) <= least_price_ * (1 + tolerance_));
    });
    return affordable.empty() ? least(sizes_.judged, [this](int n) { return price(n); })
                              : fastest(affordable, remaining_, tolerance_);
  }

  // What fewer workers cost is a guess from this size, and no reason to stay with what is too much.
  bool is_to_try_fewer() const {
    return !remaining_.fewer_known && sizes_.judged.front() < current_ &&
           price(current_) * (1 - kTooMuch * remaining_.error) > planned_;
  }
  // If the time stayed the same.
  int as_many_as_would_be_paid() const {
    const int most = std::min(current_ - 1, static_cast<int>(planned_ / price(current_) * current_));
    const auto above = std::ranges::upper_bound(sizes_.judged, most);
    return above == sizes_.judged.begin() ? sizes_.judged.front() : *(above - 1);
  }

  bool is_worth_a_change(int to) const {
    const double gain = 1 - remaining_.seconds(to) / remaining_.seconds(current_);
    if (to > current_) return gain >= std::max(tolerance_, remaining_.error);
    return gain >= remaining_.error - tolerance_ && price(to) <= price(current_) * (1 - tolerance_);
  }

  // Of all sizes that the job may have, however far.
  int cheapest() const {
    return least(sizes_.all, [this](int n) { return price(n); });
  }

 private:
  const PolicyInput& input_;
  const Remaining& remaining_;
  const double tolerance_;
  const int current_;
  const double planned_;  // that may be spent from now on
  Sizes sizes_;
  double least_price_ = 0;
};

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
               second_text(*input.goals.deadline).c_str(), best,
               second_text(after(input.now, soonest)).c_str())};
    return propose_size(to, input, *remaining, known + on(best) + ", the least of all, and is late",
                        std::move(outlook));
  }
  const auto floor = std::ranges::find_if(sizes.judged, enough);
  int to = floor == sizes.judged.end() ? fastest(sizes.judged, *remaining, tolerance_) : *floor;
  // More is not asked for by what may be an error, as long as it can be asked for when more is known.
  const double until_measured = std::chrono::duration<double>(until_measured_).count();
  const double allowed = time / (1 + kKeptMargin * parameters_.margin_percent / 100);
  const double delayed = until_measured * (1 - remaining->iteration(to) / remaining->iteration(current));
  const bool may_be_enough = remaining->seconds(current) * (1 - remaining->error) <= allowed &&
                             remaining->seconds(to) + delayed <= allowed;
  if (to > current && (kept || may_be_enough)) to = current;
  const auto trial =
      fewer_to_try(input, *remaining, sizes.judged, until_measured, allowed, kKeptMargin * remaining->error);
  if (trial) to = std::min(to, *trial);
  std::string why = to == current ? "" : on(to);
  if (trial == to) why += " at worst, which the deadline leaves time to try";
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
  const Bill bill(input, *remaining, tolerance_);
  const bool tries = bill.is_to_try_fewer();
  int to = tries ? bill.as_many_as_would_be_paid() : bill.best();
  // Not more at a time than is surely too much: what still fewer cost is better known from there.
  if (to < current && !bill.paid(current)) to = std::max(to, bill.as_many_as_would_be_paid());
  std::string why = ", " + std::to_string(to) + " would take " + time_text(remaining->seconds(to)) +
                    " and cost " + amount_text(bill.price(to)) + " more";
  if (to != current && !tries && bill.paid(current) && !bill.is_worth_a_change(to)) {
    why += ", which is not worth a change";
    to = current;
  }
  const double left = *input.goals.budget - input.goals.spent;
  const double least_price = bill.price(bill.cheapest());
  if (least_price > left) why += ", and is too much";
  Outlook outlook = least_price > left
                        ? dear(*input.goals.budget, bill.cheapest(), input.goals.spent + least_price)
                        : Outlook{false, {}, input.goals.spent + bill.price(to), {}};
  const std::string known = remaining->words + ", " + amount_text(input.goals.spent) + " of " +
                            amount_text(*input.goals.budget) + " spent";
  return propose_size(to, input, *remaining, known + why, std::move(outlook));
}

}  // namespace emj
