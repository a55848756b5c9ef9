// SPDX-License-Identifier: Apache-2.0
// The job's bearer token, kept in a file that may be replaced while we run (a mounted Secret).
#pragma once
#include <sys/stat.h>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace empi::agent {

// Thread-safe. The file's first line is the current token; further lines, and the token that was current
// before the file last changed, are accepted too, so that a rotation never locks anybody out.
class TokenFile {
 public:
  explicit TokenFile(std::string path);  // throws std::runtime_error when there is no token in it
  std::string current();
  // All that a receiver may take, the current one first: it may not have got our file yet, or we not its one.
  std::vector<std::string> lines();
  // Takes the same time for every wrong token of a given length.
  bool accepts(std::string_view presented);
  bool accepts_header(std::string_view authorization);  // "Bearer <token>"

 private:
  bool reload();
  std::string path_;
  std::mutex mutex_;
  struct stat seen_{};
  std::vector<std::string> tokens_;
  std::string previous_;
};

}  // namespace empi::agent
