// SPDX-License-Identifier: Apache-2.0
// An inverse problem with a model that is a program of its own, from a YAML file (docs/surrogate.md).
#pragma once
#include <string>

#include "apps/surrogate/app/inversion.hpp"
#include "apps/surrogate/external/model.hpp"

namespace surrogate {

struct ExternalProblem {
  Problem problem;  ///< but for its model
  External external;
};

/// In the words of a program `{here}` is the file's folder. Throws io::FileError with the line of what is
/// wrong.
ExternalProblem read_problem(const std::string& path);

}  // namespace surrogate
