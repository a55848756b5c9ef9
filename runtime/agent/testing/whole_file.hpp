// SPDX-License-Identifier: Apache-2.0
// For tests that look at processes and logs: a file's text in one call.
#pragma once
#include <fstream>
#include <sstream>
#include <string>

namespace empi::testing {

// "" where it cannot be read. Also of /proc, whose files have no size.
inline std::string whole_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace empi::testing
