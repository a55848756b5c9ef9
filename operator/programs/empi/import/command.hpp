// SPDX-License-Identifier: Apache-2.0
// empi import: reads the job of another operator from a file and prints it as an ElasticMPIJob (import.hpp).
#pragma once
#include <string>

namespace emj::cli {

struct ImportOptions {
  std::string file, runtime;
};

// The job to standard output, what changes to standard error. 0, or 2 where it is refused. Throws Refusal.
int import_file(const ImportOptions& options);

}  // namespace emj::cli
