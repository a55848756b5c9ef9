// SPDX-License-Identifier: Apache-2.0
// The reservoir that the options name.
#pragma once
#include <memory>
#include <string>

#include "apps/spe10/app/options.hpp"
#include "apps/spe10/solver/simulator.hpp"

namespace spe10 {

struct Scenario {
  std::unique_ptr<Field> field;  // setup refers to it
  Setup setup;
  std::string description;  // one line
};

// Reads what the options name, or makes the synthetic field. Serial: every rank reads for itself.
// Throws io::FileError.
Scenario make_scenario(const Options& options);

}  // namespace spe10
