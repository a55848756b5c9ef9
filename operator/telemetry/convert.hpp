#pragma once

// Runtime's values -> the operator's values. Pure: no network, no clock but the one passed in.

#include <string>
#include <vector>

#include "operator/api/time.hpp"
#include "operator/decide/decide.hpp"
#include "operator/decide/policy.hpp"
#include "runtime/protocol/change.hpp"
#include "runtime/protocol/sample.hpp"
#include "runtime/protocol/start.hpp"

namespace emj {

// Windows as the lead serves them (one after the other, of one width) -> samples of at least `window` each,
// cut at the same multiples of it. A sample has one epoch: windows that saw a commit are left out, and so
// is a sample that is not complete. Over several windows the largest useful time is the sum of each
// window's largest, so load balance is a lower bound then.
// mtct_trend is the Theil-Sen slope over the samples of the same epoch so far, per second; 0 while unknown.
std::vector<Sample> to_samples(const std::vector<empi::WindowSample>& windows, Seconds window);

// What the lead says, in the terms of decide().
RuntimeView to_runtime_view(const empi::MembershipView& view, const std::vector<empi::ChangeStatus>& changes);

// What a worker left as its termination message, in words: the agent's outcome record as reason and last
// lines, anything else as it is.
std::string termination_text(const std::string& message);

// One change as `empi history` and summary.json show it.
struct ChangeRecord {
  std::string id, kind, outcome, reason;
  int from_ranks = 0, to_ranks = 0;
  empi::ChangeTimes times;
};
ChangeRecord to_record(const empi::ChangeStatus& change);

}  // namespace emj
