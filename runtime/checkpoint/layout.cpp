// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/layout.hpp"

#include <algorithm>
#include <numeric>

namespace empi::checkpoint {
namespace {

std::string list_of(const std::vector<Part>& parts) {
  std::string list;
  for (const Part& part : parts) list += (list.empty() ? "" : "; ") + part.description;
  return list;
}

}  // namespace

std::uint64_t Part::total() const { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }

std::uint64_t Part::first(std::size_t rank) const {
  return std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(rank),
                         std::uint64_t{0});
}

std::uint64_t Contents::bytes() const {
  std::uint64_t sum = 0;
  for (const Part& part : parts) sum += part.bytes();
  return sum;
}

std::vector<Chunk> chunks(const Contents& contents) {
  std::vector<Chunk> all;
  std::vector<std::uint64_t> at(contents.parts.size(), 0);
  for (std::size_t rank = 0; rank < contents.ranks(); ++rank)
    for (std::size_t p = 0; p < contents.parts.size(); ++p) {
      const Part& part = contents.parts[p];
      const std::uint64_t end = at[p] + part.counts[rank] * part.element_bytes;
      while (at[p] < end) {
        const std::uint64_t bytes = std::min(contents.chunk_bytes, end - at[p]);
        all.push_back({p, rank, at[p], bytes});
        at[p] += bytes;
      }
    }
  return all;
}

std::string difference(const Contents& found, const std::string& program, const std::vector<Part>& mine) {
  if (found.program != program) return "it is of the program " + found.program + ", this is " + program;
  const bool same = std::ranges::equal(found.parts, mine, [](const Part& a, const Part& b) {
    return a.description == b.description && a.type == b.type && a.element_bytes == b.element_bytes &&
           a.columns == b.columns;
  });
  if (same) return {};
  return "the program that wrote it registered [" + list_of(found.parts) + "], this one [" + list_of(mine) +
         "]";
}

}  // namespace empi::checkpoint
