// SPDX-License-Identifier: Apache-2.0
// Policies that go by the clock: stepping, random, and manual, which never moves.

#include <algorithm>

#include "operator/decide/policies/policies.hpp"
#include "runtime/base/hash.hpp"

namespace emj {
namespace {

// The n-th number of a seed, without a state to keep.
std::uint64_t draw(std::uint64_t seed, std::uint64_t n) {
  return empi::split_mix64(seed + n * empi::kSplitMix64Step);
}

std::string every(Seconds interval) { return " (every " + std::to_string(interval.count()) + " s)"; }

Proposal not_yet(const PolicyInput& input, const PolicyState& state, Seconds interval) {
  const auto left = std::chrono::ceil<Seconds>(*state.last_tick + interval - input.now);
  return {input.current, "next step in " + std::to_string(left.count()) + " s" + every(interval)};
}

}  // namespace

std::int64_t passed_ticks(PolicyState& state, Seconds interval, Time now) {
  if (!state.last_tick || *state.last_tick > now) {
    state.last_tick = now;
    return 0;
  }
  const std::int64_t ticks = (now - *state.last_tick) / std::chrono::duration_cast<Millis>(interval);
  *state.last_tick += ticks * interval;
  return ticks;
}

Proposal SteppingPolicy::propose(const PolicyInput& input, PolicyState& state) const {
  if (passed_ticks(state, parameters_.interval, input.now) == 0)
    return not_yet(input, state, parameters_.interval);
  // A longer pause is one step, too: catching up would jump.
  const int step = parameters_.step;
  return {input.current + step,
          (step > 0 ? "+" : "") + std::to_string(step) + " workers" + every(parameters_.interval)};
}

Proposal RandomPolicy::propose(const PolicyInput& input, PolicyState& state) const {
  const std::int64_t passed = passed_ticks(state, parameters_.interval, input.now);
  if (passed == 0) return not_yet(input, state, parameters_.interval);
  state.ticks += passed;
  std::vector<int> sizes;
  for (const int size : input.allowed)
    if (size >= input.min && size <= input.max) sizes.push_back(size);
  const std::uint64_t count = sizes.empty() ? input.max - input.min + 1 : sizes.size();
  // The bias of the remainder is below 1e-15 for at most 10,000 sizes.
  const int chosen = static_cast<int>(draw(parameters_.seed, state.ticks) % count);
  return {sizes.empty() ? input.min + chosen : sizes[chosen],
          "draw " + std::to_string(state.ticks) + " of seed " + std::to_string(parameters_.seed) +
              every(parameters_.interval)};
}

Proposal ManualPolicy::propose(const PolicyInput& input, PolicyState&) const {
  return {input.current, "the size is set by hand"};
}

}  // namespace emj
