// SPDX-License-Identifier: Apache-2.0
// Whether all of a set of ranks have got somewhere, asked again after each report. Where ranks get is never
// taken back, so that those that were found are not looked for again: all the asking together is linear in
// the ranks.
#pragma once
#include <optional>
#include <set>

#include "runtime/protocol/ids.hpp"

namespace empi::agent {

class Awaited {
 public:
  // `ranks` must be the same at each call, and has(rank) must stay true once it is.
  bool all(const std::set<ProcId>& ranks, const auto& has) {
    auto at = found_ ? ranks.upper_bound(*found_) : ranks.begin();
    const auto begun = at;
    while (at != ranks.end() && has(*at)) ++at;
    if (at != begun) found_ = *std::prev(at);
    return at == ranks.end();
  }

 private:
  std::optional<ProcId> found_;  // and all that come before it
};

}  // namespace empi::agent
