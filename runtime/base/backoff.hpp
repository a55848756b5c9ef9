// SPDX-License-Identifier: Apache-2.0
// How long to wait before the next attempt: twice as long after each failure, up to a limit. Pure.
#pragma once
#include <algorithm>
#include <type_traits>

namespace empi {

// The wait after the failure that follows `failures_before` others: `first`, 2 `first`, 4 `first`, ... up to
// `longest`.
template <class Duration>
constexpr Duration backoff(Duration first, std::type_identity_t<Duration> longest, int failures_before) {
  Duration wait = first;
  for (int i = 0; i < failures_before && wait < longest; ++i) wait *= 2;
  return std::min(wait, longest);
}

}  // namespace empi
