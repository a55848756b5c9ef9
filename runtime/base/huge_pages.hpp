// SPDX-License-Identifier: Apache-2.0
// Without a source of its own, for the library in the ranks exports nothing.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace empi {

// For memory that nobody has touched yet, where some whole huge pages of it are. A request: a system that has
// none goes on with small ones.
inline void ask_for_huge_pages(void* begin, std::size_t bytes) {
  constexpr std::uintptr_t page = std::uintptr_t{2} << 20;
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (at + page - 1) / page * page, last = (at + bytes) / page * page;
  if (first < last) madvise(static_cast<std::byte*>(begin) + (first - at), last - first, MADV_HUGEPAGE);
}

}  // namespace empi
