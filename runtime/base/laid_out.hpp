// SPDX-License-Identifier: Apache-2.0
// Laying out a file in memory whose large parts are filled in later: whoever lays it out does not wait for a
// disk, and learns of a full one by its own writes, of which a library such as HDF5 says little. Without a
// source of its own, as unique_fd.hpp.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/base/positioned.hpp"
#include "runtime/base/unique_fd.hpp"

namespace empi {

struct Hole {
  std::uint64_t offset = 0, bytes = 0;
};
struct Segment {
  std::uint64_t offset = 0;  // in the file
  std::vector<std::byte> bytes;
};

// All of a file but its holes.
struct LaidOut {
  std::vector<Segment> segments;
  std::uint64_t file_bytes = 0;
};

// A file in memory. (Not one of memfd_create: HDF5 wants a name that leads to it.)
class FileInMemory {
 public:
  FileInMemory() {
    for (const char* folder : {"/dev/shm", "/tmp"}) {
      path_ = std::string(folder) + "/empi-header.XXXXXX";
      file_ = UniqueFd(mkostemp(path_.data(), O_CLOEXEC));
      if (file_) return;
    }
    throw std::runtime_error(std::string("making a file for the header in /dev/shm or /tmp: ") +
                             std::strerror(errno));
  }
  FileInMemory(const FileInMemory&) = delete;
  FileInMemory& operator=(const FileInMemory&) = delete;
  ~FileInMemory() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }
  int get() const { return file_.get(); }

 private:
  std::string path_;
  UniqueFd file_;
};

// `write` makes and closes the file that it is given the path of, sparse where its holes are, and returns the
// holes; an empty one may have offset 0. Throws std::runtime_error, and what `write` throws.
template <class Write>
LaidOut lay_out_in_memory(Write&& write) {
  const FileInMemory memory;
  std::vector<Hole> holes = write(memory.path());
  LaidOut laid;
  laid.file_bytes = static_cast<std::uint64_t>(lseek(memory.get(), 0, SEEK_END));
  holes.push_back({laid.file_bytes, 0});
  std::erase_if(holes, [](const Hole& hole) { return hole.bytes == 0 && hole.offset == 0; });
  std::ranges::sort(holes, {}, &Hole::offset);
  std::uint64_t at = 0;
  for (const Hole& hole : holes) {
    if (hole.offset > at) {
      Segment segment{at, std::vector<std::byte>(hole.offset - at)};
      if (!read_fully(memory.get(), segment.bytes, at))
        throw std::runtime_error("reading the header back: " +
                                 std::string(errno == 0 ? "it is truncated" : std::strerror(errno)));
      laid.segments.push_back(std::move(segment));
    }
    at = hole.offset + hole.bytes;
  }
  return laid;
}

}  // namespace empi
