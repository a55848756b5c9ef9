// SPDX-License-Identifier: Apache-2.0
// Files that are read and written whole, and the one error for all that is wrong with an input or an output.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace io {

/// Bad or missing input or output file. what() is one line for the person who reads it:
///   "FILE:PLACE: expected X, found Y; what to do".
/// Programs print it and exit with exit_status (2).
class FileError : public std::runtime_error {
 public:
  static constexpr int exit_status = 2;

  using std::runtime_error::runtime_error;

  FileError(const std::string& path, const std::string& place, const std::string& expected,
            const std::string& found, const std::string& advice)
      : std::runtime_error(path + (place.empty() ? "" : ":" + place) + ": expected " + expected + ", found " +
                           found + (advice.empty() ? "" : "; " + advice)) {}

  /// `reason`: of the call that could not write it, an errno.
  static FileError unwritten(const std::string& path, int reason);
  static FileError at_line(const std::string& path, std::size_t line, const std::string& expected,
                           const std::string& found, const std::string& advice) {
    return {path, std::to_string(line), expected, found, advice};
  }
  static FileError at_byte(const std::string& path, std::uint64_t byte, const std::string& expected,
                           const std::string& found, const std::string& advice) {
    return {path, "byte " + std::to_string(byte), expected, found, advice};
  }
};

/// The whole file as bytes. Throws FileError for a directory, a device, an unreadable,
/// missing or empty file.
std::vector<char> read_bytes(const std::string& path);

/// Writes to a temporary file beside `path` and renames it, so that a reader never sees half a file.
/// Throws FileError with the system's reason.
void write_bytes(const std::string& path, const void* data, std::size_t size);
void write_text(const std::string& path, const std::string& text);

}  // namespace io
