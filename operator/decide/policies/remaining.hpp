// SPDX-License-Identifier: Apache-2.0
// How long a job still runs, by its number of workers: what the policies that keep to a deadline or a budget
// go by. Seed 002, section II, with a fitted model in the place of perfect scaling, of the present membership
// only, and with the price of the change itself.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "operator/decide/policy.hpp"

namespace emj {

struct Remaining {
  // From now until the end on `workers`, a change to them included: until it is made the job runs on as it
  // does, and then it has lost what a change costs.
  std::function<double(int workers)> seconds;
  std::function<double(int workers)> iteration;  // seconds of one (of a task)
  double error = 0;  // of that, relative: two standard deviations of the measurement
  int smallest = 1;  // sizes that may be judged: beyond, a change to one of them comes first
  int largest = 1;
  // What fewer workers would take is known: else transfers are taken to last as long there as they do here.
  bool fewer_known = false;
  // As `seconds`, if transfers took no time there: no fewer workers can take less.
  std::function<double(int workers)> at_best;
  std::string words;  // what it is known by
};

// Of a program that reports its progress, from input.steady; of a master-worker phase, from its tasks. Else
// nothing, and `missing` says why.
std::optional<Remaining> remaining_time(const PolicyInput& input, const PolicyState& state, Evidence evidence,
                                        std::string& missing);

// What the job may have: the present size, and those within its limits that it is allowed. Ascending.
std::vector<int> possible_sizes(const PolicyInput& input);

}  // namespace emj
