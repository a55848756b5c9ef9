// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/growing_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace emj::cli {

GrowingFile::GrowingFile(std::string path)
    : path_(std::move(path)), file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (!file_)
    throw std::runtime_error("cannot write " + path_ + " (" + std::generic_category().message(errno) +
                             "): choose another folder with --out");
}

void GrowingFile::flush() {
  trouble_.clear();
  while (!pending_.empty()) {
    const ssize_t count = write(file_.get(), pending_.data(), pending_.size());
    if (count > 0) {
      pending_.erase(0, static_cast<std::size_t>(count));
    } else if (count < 0 && errno != EINTR) {
      trouble_ = "cannot write " + path_ + " (" + std::generic_category().message(errno) +
                 "): what belongs there is kept until it can be written, or the run ends";
      return;
    }
  }
}

}  // namespace emj::cli
