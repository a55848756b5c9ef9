// SPDX-License-Identifier: Apache-2.0
// The reservoir that the options name.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "apps/spe10/app/options.hpp"
#include "apps/spe10/solver/simulator.hpp"

namespace spe10 {

struct Scenario {
  std::unique_ptr<Field> field;  // setup refers to it
  Setup setup;
  std::string description;      // one line
  std::uint64_t deck_hash = 0;  // of the deck file's contents; 0: no file
};

// Reads what the options name, or makes the synthetic field. Serial: every rank reads for itself, but MPI has
// begun. Throws io::FileError.
Scenario make_scenario(const Options& options);

// All that the flow depends on, in one line: two runs of one name may go on from each other's checkpoints.
std::string name_case(const Options& options, const Scenario& scenario);

}  // namespace spe10
