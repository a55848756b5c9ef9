// SPDX-License-Identifier: Apache-2.0
// A file that is read once, whoever needs it: what is in it goes to its reader and names the case of a
// checkpoint. A second look might find another file, and finds nothing where it is a pipe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/io/file_error.hpp"
#include "runtime/base/hash.hpp"

namespace io {

class InputFile {
 public:
  /// Throws as read_bytes().
  explicit InputFile(std::string path) : path_(std::move(path)), bytes_(read_bytes(path_)) {}

  const std::string& path() const { return path_; }
  std::string_view text() const { return {bytes_.data(), bytes_.size()}; }
  /// Of what is in it, whatever it is called.
  std::uint64_t hash() const { return empi::fnv1a(text()); }

 private:
  std::string path_;
  std::vector<char> bytes_;
};

}  // namespace io
