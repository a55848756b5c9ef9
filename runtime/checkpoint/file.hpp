// SPDX-License-Identifier: Apache-2.0
// The file of a checkpoint: HDF5, laid out by one rank, filled in by all (decision R21: no MPI-IO).
//
//   /            attributes: format, version, program, number, iteration, ranks, chunk_bytes, counts_checksum
//   /partN       one dataset for each part, contiguous; attribute: registered
//   /counts      elements of each part on each rank
//   /checksums   one number a chunk: CRC-32 + 2^32; 0: never written
//
// The only source of the runtime that calls HDF5. Nothing here touches MPI. Not for several threads at a
// time: serial HDF5.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/expected.hpp"
#include "runtime/base/laid_out.hpp"
#include "runtime/checkpoint/layout.hpp"

namespace empi::checkpoint {

// Where in the file things are.
struct Places {
  std::vector<std::uint64_t> parts;  // offset of each part, 0 of an empty one
  std::uint64_t checksums = 0;       // of the table
  std::uint64_t file_bytes = 0;
};

// All of a file but parts and checksums, made in memory: who calls it does not wait for the volume.
struct Laid {
  Places places;
  std::vector<Segment> segments;
};
// Throws std::runtime_error with HDF5's reason.
Laid lay_out(const Contents& contents);

struct Found {
  Contents contents;
  Places places;
  std::vector<std::uint64_t> checksums;
};
// What a file holds, or in words why it is no checkpoint that can be read. Looks at no part.
Expected<Found, std::string> inspect(const std::string& path);

// What stands in the table for a chunk of these bytes.
std::uint64_t checksum(std::span<const std::byte> bytes);

// Copies elements [first, first + count) of a part to `to`, and checks the chunks that they lie in. Returns
// what is wrong, "" when all is well.
std::string read_elements(const std::string& path, const Found& found, std::size_t part, std::uint64_t first,
                          std::uint64_t count, std::byte* to);

}  // namespace empi::checkpoint
