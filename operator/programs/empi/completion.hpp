// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace emj::cli {

// Shell code to be evaluated: `source <(empi completion bash)`. Empty for an unknown shell.
std::string completion_script(const std::string& shell);

}  // namespace emj::cli
