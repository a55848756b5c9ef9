// SPDX-License-Identifier: Apache-2.0
// The physical case: bed and initial surface as functions of position, and the records to compare with.
#pragma once
#include <string>
#include <vector>

#include "apps/tsunami/app/options.hpp"
#include "apps/tsunami/solver/solver.hpp"

namespace tsunami {

struct Scenario {
  std::string description;  // one line: which bathymetry and which source
  swe::Function bed;        // m, after the earthquake
  swe::Function surface;    // m: the displacement of the sea floor, lifted to the surface
  std::vector<GaugeOption> gauges;
};

// Reads what the options name, or takes the built-in ocean. Serial: every rank reads for itself.
// Throws io::FileError.
Scenario make_scenario(const Options& options);

// Mesh and physics for the options; the domain's root squares are as square as the domain allows.
swe::Parameters make_setup(const Options& options);

}  // namespace tsunami
