// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/import/command.hpp"

#include <cstdio>

#include "operator/programs/empi/import/import.hpp"
#include "operator/programs/empi/input.hpp"

namespace emj::cli {

int import_file(const ImportOptions& options) {
  ImportText runtime;
  if (!options.runtime.empty()) runtime = {read_input(options.runtime), options.runtime};
  const auto imported = import_job({read_input(options.file), options.file}, runtime);
  if (!imported) {
    std::fputs(imported.message().c_str(), stderr);
    return 2;
  }
  std::fputs(imported.value().manifest.c_str(), stdout);
  for (const Violation& change : imported.value().changes)
    std::fprintf(stderr, "%s\n", to_string(change, options.file).c_str());
  return 0;
}

}  // namespace emj::cli
