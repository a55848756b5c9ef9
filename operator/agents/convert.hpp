// SPDX-License-Identifier: Apache-2.0
// Runtime's values -> the operator's values. Pure: no network, no clock but the one passed in.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/time.hpp"
#include "operator/decide/decide.hpp"
#include "operator/decide/policy.hpp"
#include "runtime/protocol/change.hpp"
#include "runtime/protocol/sample.hpp"
#include "runtime/protocol/start.hpp"

namespace emj {

// Whether these can be figures of a window: an agent is the tenant's and may say anything.
bool plausible(const empi::WindowSample& window);

// Windows as the lead serves them (one after the other, of one width) -> samples of at least `window` each,
// cut at the same multiples of it. A sample has one epoch: windows that saw a commit are left out, and so
// is a sample that is not complete. Over several windows the largest useful time is the sum of each
// window's largest, so load balance is a lower bound then.
std::vector<Sample> to_samples(const std::vector<empi::WindowSample>& windows, Seconds window);

// What the lead says, in the terms of decide(). Texts are cut: they go into the status.
RuntimeView to_runtime_view(const empi::MembershipView& view, const std::vector<empi::ChangeStatus>& changes);

// The first word to the lead.
empi::StartRequest to_start_request(const JobSpec& spec, std::int64_t fence,
                                    std::vector<empi::Member> members);

// What a worker left as its termination message. `text`: the agent's outcome record as reason and last lines,
// anything else as it is.
struct Termination {
  std::string text;
  std::optional<empi::ChangeRecord> last_change;
  bool program_succeeded = false;
};
Termination read_termination(const std::string& message);

}  // namespace emj
