// SPDX-License-Identifier: Apache-2.0
#include "apps/mesh/tight.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace mesh {

void ask_for_huge_pages(void* begin, std::size_t bytes) {
  constexpr std::uintptr_t page = 2u << 20;
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (at + page - 1) & ~(page - 1), last = (at + bytes) & ~(page - 1);
  // Where there are none, nothing is lost.
  if (first < last) static_cast<void>(madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE));
}

}  // namespace mesh
