// SPDX-License-Identifier: Apache-2.0
// What a checkpoint holds and how its bytes are shared out: plain values, no files, no MPI.
//
// A checkpoint has parts: each a sequence of elements of one size, the concatenation in rank order of what
// the ranks held. A part is written in chunks, each by one rank and with a checksum of its own: whoever reads
// a stretch of a part reads the chunks that it meets, and so checks what it takes, on any number of ranks.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace empi::checkpoint {

inline constexpr char kFormat[] = "elastic-mpi-checkpoint";
inline constexpr int kVersion = 1;  // of the format; another one is refused
inline constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;

// One thing that the program registered.
struct Part {
  std::string description;            // as the program registered it
  std::string type;                   // "f8", "i4", "u1", ...: kind of number and bytes; "": not a number
  std::uint64_t element_bytes = 1;    // of a row, where it has columns
  std::uint64_t columns = 1;          // numbers in an element
  std::vector<std::uint64_t> counts;  // elements of each rank

  std::uint64_t total() const;                  // elements
  std::uint64_t first(std::size_t rank) const;  // global number of the rank's first element
  std::uint64_t bytes() const { return total() * element_bytes; }
  bool operator==(const Part&) const = default;
};

struct Contents {
  std::string program;         // whose checkpoint it is
  std::int64_t number = 0;     // in the series of the job's checkpoints
  std::int64_t iteration = 0;  // iterations of the loop that had been done
  std::uint64_t chunk_bytes = kChunkBytes;
  std::vector<Part> parts;

  std::size_t ranks() const { return parts.empty() ? 0 : parts[0].counts.size(); }
  std::uint64_t bytes() const;  // of all parts
  bool operator==(const Contents&) const = default;
};

// A stretch of a part, in bytes from the part's first.
struct Chunk {
  std::size_t part = 0, rank = 0;
  std::uint64_t begin = 0, bytes = 0;
};

// All chunks in the order of the table of checksums: by rank, then by part.
std::vector<Chunk> chunks(const Contents& contents);

// Why a file with `found` is none of a program whose next checkpoint would have the parts `mine` (its counts
// do not matter); "" when it is one.
std::string difference(const Contents& found, const std::string& program, const std::vector<Part>& mine);

}  // namespace empi::checkpoint
