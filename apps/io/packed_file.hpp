// SPDX-License-Identifier: Apache-2.0
// Data that may be packed: a program names FILE, and it may be there as FILE.xz alone. The program xz unpacks
// it.
#pragma once
#include <string>
#include <vector>

namespace io {

struct PackedFile {
  std::string path;  ///< with .xz, if it was that
  std::vector<char> bytes;
};

/// The file `path`, or where there is none of that name its .xz, unpacked. Throws FileError; `get_again` is
/// what to do where that cannot be unpacked.
PackedFile read_packed(const std::string& path, const std::string& get_again);

}  // namespace io
