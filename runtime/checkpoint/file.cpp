// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/file.hpp"

#include <fcntl.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "runtime/base/hdf5.hpp"
#include "runtime/base/positioned.hpp"
#include "runtime/base/unique_fd.hpp"

namespace empi::checkpoint {
namespace {

using namespace hdf5;

constexpr std::uint64_t kWritten = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostRanks = 1 << 24, kMostParts = 1 << 12;  // more is no checkpoint but damage

void put_number(hid_t object, const char* name, std::uint64_t value) {
  const Handle attribute(H5Acreate2(object, name, H5T_STD_U64LE, scalar(), H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose, name);
  must(H5Awrite(attribute, H5T_NATIVE_UINT64, &value), name);
}

std::uint64_t get_number(hid_t object, const char* name) {
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose, name);
  std::uint64_t value = 0;
  must(H5Aread(attribute, H5T_NATIVE_UINT64, &value), name);
  return value;
}

// Numbers are stored as such, so that any reader of HDF5 shows them; the rest as bytes.
Handle stored_type(const Part& part) {
  hid_t known = -1;
  if (part.type == "f4") known = H5T_IEEE_F32LE;
  if (part.type == "f8") known = H5T_IEEE_F64LE;
  if (part.type == "i1") known = H5T_STD_I8LE;
  if (part.type == "i2") known = H5T_STD_I16LE;
  if (part.type == "i4") known = H5T_STD_I32LE;
  if (part.type == "i8") known = H5T_STD_I64LE;
  if (part.type == "u1") known = H5T_STD_U8LE;
  if (part.type == "u2") known = H5T_STD_U16LE;
  if (part.type == "u4") known = H5T_STD_U32LE;
  if (part.type == "u8") known = H5T_STD_U64LE;
  if (known >= 0) return {H5Tcopy(known), H5Tclose, "a type of numbers"};
  return {H5Tcreate(H5T_OPAQUE, part.element_bytes / part.columns), H5Tclose, "a type of bytes"};
}

std::string dataset_name(std::size_t part) { return "part" + std::to_string(part); }

std::vector<std::uint64_t> all_counts(const Contents& contents) {
  std::vector<std::uint64_t> counts;
  for (const Part& part : contents.parts) counts.insert(counts.end(), part.counts.begin(), part.counts.end());
  return counts;
}

std::uint64_t checksum_of(const std::vector<std::uint64_t>& numbers) {
  return checksum(std::as_bytes(std::span(numbers)));
}

// Everything that is written by HDF5 itself. The file is as long as that of the checkpoint will be, and takes
// a few kilobytes: parts and checksums are holes.
Places write_header(const std::string& path, const Contents& contents) {
  const Handle access = file_access();
  // The newest format: its metadata has checksums of its own.
  must(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110), "the version of the format");
  const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose,
                    "making a file for the header");
  const auto counts = all_counts(contents);
  put_text(file, "format", kFormat);
  put_number(file, "version", kVersion);
  put_text(file, "program", contents.program);
  put_number(file, "number", static_cast<std::uint64_t>(contents.number));
  put_number(file, "iteration", static_cast<std::uint64_t>(contents.iteration));
  put_number(file, "ranks", contents.ranks());
  put_number(file, "parts", contents.parts.size());
  put_number(file, "chunk_bytes", contents.chunk_bytes);
  put_number(file, "counts_checksum", checksum_of(counts));

  Places places;
  for (std::size_t p = 0; p < contents.parts.size(); ++p) {
    const Part& part = contents.parts[p];
    std::vector<hsize_t> shape{part.total()};
    if (part.columns > 1) shape.push_back(part.columns);
    const Handle data = placed_dataset(file, dataset_name(p), stored_type(part), shape);
    put_text(data, "registered", part.description);
    put_text(data, "type", part.type);
    put_number(data, "element_bytes", part.element_bytes);
    put_number(data, "columns", part.columns);
    places.parts.push_back(offset_of(data));
  }
  const Handle held = placed_dataset(file, "counts", H5T_STD_U64LE,
                                     {contents.parts.size(), std::max<hsize_t>(contents.ranks(), 1)});
  must(H5Dwrite(held, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts.data()), "the counts");
  const Handle table = placed_dataset(file, "checksums", H5T_STD_U64LE, {chunks(contents).size()});
  places.checksums = offset_of(table);
  return places;
}

std::string reading_failed() {
  return errno == 0 ? "it is truncated" : std::string("reading it: ") + std::strerror(errno);
}

Part read_part(hid_t file, std::size_t number, std::vector<std::uint64_t> counts, std::uint64_t file_bytes,
               std::uint64_t& offset) {
  const std::string name = dataset_name(number);
  const Handle data(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose, ("it has no " + name).c_str());
  Part part;
  part.description = get_text(data, "registered");
  part.type = get_text(data, "type");
  part.element_bytes = get_number(data, "element_bytes");
  part.columns = get_number(data, "columns");
  part.counts = std::move(counts);
  offset = offset_of(data);
  if (part.element_bytes == 0 || part.total() > file_bytes / part.element_bytes ||
      offset > file_bytes - part.bytes())
    throw std::runtime_error("it is truncated: " + name + " ends behind the end of the file");
  return part;
}

Found read_header(const std::string& path, std::uint64_t file_bytes) {
  const Handle access = file_access();
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose,
                    "it is no HDF5 file, or truncated");
  if (H5Aexists(file, "format") <= 0 || get_text(file, "format") != kFormat)
    throw std::runtime_error("it is an HDF5 file, but no checkpoint of Elastic MPI");
  if (const auto version = get_number(file, "version"); version != kVersion)
    throw std::runtime_error("its format has the version " + std::to_string(version) +
                             ", this library reads version " + std::to_string(kVersion));
  Found found;
  found.places.file_bytes = file_bytes;
  Contents& contents = found.contents;
  contents.program = get_text(file, "program");
  contents.number = static_cast<std::int64_t>(get_number(file, "number"));
  contents.iteration = static_cast<std::int64_t>(get_number(file, "iteration"));
  contents.chunk_bytes = get_number(file, "chunk_bytes");
  const std::uint64_t ranks = get_number(file, "ranks"), parts = get_number(file, "parts");
  if (ranks == 0 || ranks > kMostRanks || parts == 0 || parts > kMostParts || contents.chunk_bytes == 0)
    throw std::runtime_error("it is damaged: " + std::to_string(parts) + " parts of " +
                             std::to_string(ranks) + " ranks");
  const auto read_numbers = [&](const char* name, std::size_t expected) {
    const Handle data(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose, "it lacks a table");
    const Handle space(H5Dget_space(data), H5Sclose, "the shape of a table");
    if (H5Sget_simple_extent_npoints(space) != static_cast<hssize_t>(expected))
      throw std::runtime_error(std::string("it is damaged: the table ") + name + " has another size");
    std::vector<std::uint64_t> numbers(expected);
    must(H5Dread(data, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()), name);
    if (std::string_view(name) == "checksums") found.places.checksums = offset_of(data);
    return numbers;
  };
  const auto counts = read_numbers("counts", ranks * parts);
  if (checksum_of(counts) != get_number(file, "counts_checksum"))
    throw std::runtime_error("it is damaged: the checksum of its table of counts is wrong");
  for (std::size_t p = 0; p < parts; ++p) {
    const auto begin = counts.begin() + static_cast<std::ptrdiff_t>(p * ranks);
    contents.parts.push_back(read_part(file, p, {begin, begin + static_cast<std::ptrdiff_t>(ranks)},
                                       file_bytes, found.places.parts.emplace_back()));
  }
  found.checksums = read_numbers("checksums", chunks(contents).size());
  return found;
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return kWritten |
         crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

Laid lay_out(const Contents& contents) {
  const Silence silence;
  Laid laid;
  LaidOut out = lay_out_in_memory([&](const std::string& path) {
    laid.places = write_header(path, contents);
    std::vector<Hole> holes;
    for (std::size_t p = 0; p < contents.parts.size(); ++p)
      holes.push_back({laid.places.parts[p], contents.parts[p].bytes()});
    holes.push_back({laid.places.checksums, 8 * chunks(contents).size()});
    return holes;
  });
  laid.places.file_bytes = out.file_bytes;
  laid.segments = std::move(out.segments);
  return laid;
}

Expected<Found, std::string> inspect(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::string("it cannot be opened: ") + std::strerror(errno);
  const off_t bytes = lseek(file.get(), 0, SEEK_END);
  if (bytes < 0) return std::string("it cannot be read: ") + std::strerror(errno);
  const Silence silence;
  try {
    return read_header(path, static_cast<std::uint64_t>(bytes));
  } catch (const std::exception& e) {
    return std::string(e.what());
  }
}

std::string read_elements(const std::string& path, const Found& found, std::size_t part, std::uint64_t first,
                          std::uint64_t count, std::byte* to) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::string("it cannot be opened: ") + std::strerror(errno);
  const std::uint64_t element = found.contents.parts[part].element_bytes;
  const std::uint64_t begin = first * element, end = (first + count) * element;
  std::vector<std::byte> buffer;
  const auto all = chunks(found.contents);
  for (std::size_t c = 0; c < all.size(); ++c) {
    const Chunk& chunk = all[c];
    if (chunk.part != part || chunk.begin >= end || chunk.begin + chunk.bytes <= begin) continue;
    const std::uint64_t offset = found.places.parts[part] + chunk.begin;
    const bool whole = chunk.begin >= begin && chunk.begin + chunk.bytes <= end;
    if (!whole) buffer.resize(chunk.bytes);
    std::byte* const here = whole ? to + (chunk.begin - begin) : buffer.data();
    if (!read_fully(file.get(), {here, chunk.bytes}, offset)) return reading_failed();
    if (checksum({here, chunk.bytes}) != found.checksums[c])
      return "it is damaged: the checksum of what rank " + std::to_string(chunk.rank) + " wrote of [" +
             found.contents.parts[part].description + "] is wrong";
    if (whole) continue;
    const std::uint64_t from = std::max(begin, chunk.begin), until = std::min(end, chunk.begin + chunk.bytes);
    std::memcpy(to + (from - begin), here + (from - chunk.begin), until - from);
  }
  return {};
}

}  // namespace empi::checkpoint
