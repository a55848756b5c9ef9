// SPDX-License-Identifier: Apache-2.0
// What the tests of files share: a scratch folder, the data folder, the message of an error.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "apps/io/file_error.hpp"
#include "runtime/protocol/names.hpp"

namespace io::test {

/// A folder that is removed with everything in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "empi-io-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed for " + pattern);
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

/// A file that can be read once, like what a shell makes of --dtopo <(xz -dc motion.tt3.xz). At most 64 kB.
class Pipe {
 public:
  explicit Pipe(std::string_view text) {
    if (::pipe(ends_) != 0 || ::write(ends_[1], text.data(), text.size()) != std::ssize(text))
      throw std::runtime_error("the pipe of a test");
    ::close(ends_[1]);
  }
  ~Pipe() { ::close(ends_[0]); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  std::string path() const { return "/dev/fd/" + std::to_string(ends_[0]); }

 private:
  int ends_[2] = {-1, -1};
};

/// A file or folder of the measured data, which EMPI_DATA names; "" when that is not on this machine.
inline std::string data_file(const std::string& name) {
  const char* root = std::getenv(empi::names::kData);
  if (root == nullptr || *root == '\0') return "";
  const auto path = std::filesystem::path(root) / name;
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) ? path.string() : "";
}

/// The message of the FileError that `action` throws, without the scratch folder; "" if it throws none.
template <class Action>
std::string file_error_of(Action&& action) {
  try {
    action();
  } catch (const FileError& error) {
    const std::string text = error.what();
    const auto folder = text.find("empi-io-");
    return folder == 0 || folder == std::string::npos ? text : text.substr(text.find('/', folder) + 1);
  }
  return "";
}

}  // namespace io::test
