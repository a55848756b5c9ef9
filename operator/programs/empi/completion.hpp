// SPDX-License-Identifier: Apache-2.0
// What may come next on a command line, by the description that the option parser has of it. Shells ask for
// it: `empi __complete WORDS...`, and kubectl the program kubectl_complete-empi. Pure but for the job names.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/options.hpp"

namespace emj::cli {

inline constexpr const char* kCompleteCommand = "__complete";

// Shell code to be evaluated: `source <(empi completion bash)`. Empty for an unknown shell.
std::string completion_script(const std::string& shell);

// Options given so far, by the name without dashes that the program knows them by ("namespace"); of a flag
// "".
using GivenOptions = std::map<std::string, std::string>;

struct Candidates {
  std::vector<std::string> words{};
  bool files = false;  // instead
};

// `words`: those behind the program's name, of which the last one is being written and may be empty.
Candidates candidates(const empi::options::Program& program, const std::vector<std::string>& words,
                      const std::function<std::vector<std::string>(const GivenOptions&)>& jobs);

// As the shells' code and kubectl want it: a word a line, then ":0" where files may follow, else ":4".
std::string candidates_text(const Candidates& candidates);

}  // namespace emj::cli
