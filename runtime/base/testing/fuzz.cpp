// SPDX-License-Identifier: Apache-2.0
// Of each fuzzer: its seeds go into the folder that is its first argument, before libFuzzer reads that.
#include "runtime/base/testing/fuzz.hpp"

#include <filesystem>
#include <fstream>

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  for (int i = 1; i < *count; ++i) {
    const std::filesystem::path folder = (*arguments)[i];
    if (folder.string().starts_with('-')) continue;
    if (std::filesystem::is_regular_file(folder)) break;  // a finding that is tried again
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const std::string& seed : empi::fuzz::seeds())
      std::ofstream(folder / ("seed-" + std::to_string(number++)), std::ios::binary) << seed;
    break;
  }
  return 0;
}
