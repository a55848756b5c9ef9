// SPDX-License-Identifier: Apache-2.0
// Where a test finds programs of its build and files of its checkout: asked for when it runs, so that what is
// compiled names no folder, and serves another checkout as it is (cmake/compiling.cmake).
#pragma once
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace empi::testing {

/// A program that is built beside this one; of a test under a sanitizer, the one with that sanitizer.
inline std::string beside(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

/// A file or folder of the build.
inline std::string of_build(const std::string& path) {
  std::filesystem::path folder = beside("");
  while (!std::filesystem::exists(folder / "CMakeCache.txt")) {
    if (!folder.has_relative_path())
      throw std::runtime_error(beside("") + " is in no folder that CMake has made");
    folder = folder.parent_path();
  }
  return folder / path;
}

/// A file or folder of the checkout that the build is of.
inline std::string of_checkout(const std::string& path) {
  const std::string key = "CMAKE_HOME_DIRECTORY:INTERNAL=";
  std::ifstream cache(of_build("CMakeCache.txt"));
  for (std::string line; std::getline(cache, line);)
    if (line.starts_with(key)) return std::filesystem::path(line.substr(key.size())) / path;
  throw std::runtime_error(of_build("CMakeCache.txt") + " does not name the checkout");
}

}  // namespace empi::testing
