// SPDX-License-Identifier: Apache-2.0
// A file that grows while a run goes on. What cannot be written for now, as on a full disk, is kept and
// written as soon as it can be: nothing in between is left out.
#pragma once
#include <string>

#include "runtime/base/unique_fd.hpp"

namespace emj::cli {

class GrowingFile {
 public:
  // New, and empty. Throws std::runtime_error.
  explicit GrowingFile(std::string path);

  void add(const std::string& text) { pending_ += text; }
  void flush();
  // Why the last flush() could not write all; "" when it did.
  const std::string& trouble() const { return trouble_; }

 private:
  std::string path_, pending_, trouble_;
  empi::UniqueFd file_;
};

}  // namespace emj::cli
