// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/policies/cost.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "operator/decide/policies/model.hpp"

namespace emj {
namespace {

constexpr double kFirstLost = 1, kFirstLostPerWorker = 0.1, kFirstDelay = 5;

std::vector<double> terms(int from, int to) {
  return {1, static_cast<double>(std::max(0, to - from)),
          std::abs(to - from) / static_cast<double>(std::max(from, to))};
}

}  // namespace

ChangeCost change_cost(const std::vector<SizeChange>& history, int from, int to) {
  std::vector<std::vector<double>> rows;
  std::vector<double> lost;
  double delay = 0;
  int delays = 0;
  for (const SizeChange& change : history) {
    if (change.from <= 0) continue;  // the start of the job
    if (change.cost_seconds > 0) {
      rows.push_back(terms(change.from, change.to));
      lost.push_back(change.cost_seconds);
    }
    if (change.duration_seconds > 0 && (change.to > change.from) == (to > from)) {
      delay += change.duration_seconds;
      ++delays;
    }
  }
  ChangeCost cost;
  cost.delay_seconds = delays > 0 ? delay / delays : kFirstDelay;
  cost.lost_seconds = kFirstLost + kFirstLostPerWorker * std::abs(to - from);
  if (!rows.empty()) {
    const std::vector<double> fitted = nonnegative_least_squares(rows, lost);
    const std::vector<double> here = terms(from, to);
    cost.lost_seconds = std::inner_product(fitted.begin(), fitted.end(), here.begin(), 0.0);
  }
  return cost;
}

}  // namespace emj
