// SPDX-License-Identifier: Apache-2.0
// Reading and writing all of a buffer at an offset of a file, whatever interrupts it.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

namespace empi {

inline constexpr std::size_t kLargestCall = std::size_t{1} << 30;  // Linux takes no more than 2 GB at once

// False with errno when it fails, and with errno 0 where the file ends before.
inline bool read_fully(int fd, std::span<std::byte> to, std::uint64_t offset) {
  while (!to.empty()) {
    const ssize_t count = pread(fd, to.data(), std::min(to.size(), kLargestCall), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = 0;
    if (count <= 0) return false;
    to = to.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

// False with errno when it fails.
inline bool write_fully(int fd, std::span<const std::byte> from, std::uint64_t offset) {
  while (!from.empty()) {
    const ssize_t count =
        pwrite(fd, from.data(), std::min(from.size(), kLargestCall), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    from = from.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

}  // namespace empi
