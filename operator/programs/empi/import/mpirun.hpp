// SPDX-License-Identifier: Apache-2.0
// The command of a launcher, taken apart: what is mpirun's, and the program. Pure.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace emj::cli {

// `problem` says why it cannot be taken apart; the rest is then of no use.
struct MpirunCommand {
  std::string problem;
  std::vector<std::string> program;  // with its arguments
  std::optional<int> ranks;          // -n
  std::optional<int> ranks_per_node;
  std::optional<int> timeout_seconds;
  std::string working_directory;
  std::vector<std::pair<std::string, std::string>> variables;  // -x NAME=VALUE
  std::vector<std::string> exported;                           // -x NAME
  std::vector<std::string> left_out;  // options without a meaning here, as they were written
};

// `words`: command and args of the container. A shell with one plain mpirun line is one, too.
MpirunCommand take_apart(const std::vector<std::string>& words);

// The words of a shell's line, or nothing where the shell would do more than to split it.
std::optional<std::vector<std::string>> shell_words(const std::string& line);

}  // namespace emj::cli
