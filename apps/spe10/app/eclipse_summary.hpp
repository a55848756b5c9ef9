// SPDX-License-Identifier: Apache-2.0
// The production curves as a summary of Eclipse, which the tools of that field read (OPM's `summary`,
// ResInsight, resdata).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "apps/spe10/model/deck.hpp"

namespace spe10 {

/// Two files of one run: what its vectors are (.SMSPEC), and their values after each step (.UNSMRY).
struct EclipseSummary {
  std::string specification, values;
};

/// Of the rows that add_to_curves() has made. Vectors, in field units: TIME; FPR, FOPR, FWPR, FWCT, FOPT,
/// FWPT, FWIR, FWIT; of each producer WOPR, WWPR, WWCT, WOPT, WWPT, WBHP, of each injector WWIR, WWIT, WBHP.
/// Totals are of the rates of the steps. Names of wells have eight characters there: longer ones are cut off
/// (a deck in which two would be one is refused). SPE10 has no calendar: day 0 is 1 January 2000. No vector
/// is of a block: our cells are none.
EclipseSummary eclipse_summary(const Deck& deck, std::span<const double> curves);

}  // namespace spe10
