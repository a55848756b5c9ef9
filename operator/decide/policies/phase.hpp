// SPDX-License-Identifier: Apache-2.0
// Whether the program has entered another phase: its iteration time has changed although its size has not.
#pragma once
#include <optional>
#include <vector>

#include "operator/decide/policy.hpp"

namespace emj {

struct PhaseChange {
  Time since{};       // start of the first window of the new phase
  double before = 0;  // iteration time (per unit of work where reported), medians of windows
  double after = 0;
  // Of that time, factors by which the busiest rank's useful part and the rest (transfers) have changed. A
  // part that is next to nothing before and after has not.
  double compute = 1, transfer = 1;
};

// Page-Hinkley test, two-sided, over windows of one size, oldest first (E. S. Page, Biometrika 41, 1954).
// Changes below 5 % are none, and neither is what the noise of the windows explains. Needs at least 6
// windows.
std::optional<PhaseChange> detect_phase_change(const std::vector<Sample>& windows);

// Iteration time of a window, per unit of work where the application reports work.
double normalised_seconds(const Sample& sample);

}  // namespace emj
