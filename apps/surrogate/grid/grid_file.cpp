// SPDX-License-Identifier: Apache-2.0
// A grid as one file: a line of JSON, nodes, values, and the checksum of all before it.
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "apps/io/file_error.hpp"
#include "apps/surrogate/grid/grid.hpp"
#include "runtime/base/hash.hpp"

namespace sparse {
namespace {

using nlohmann::json;
constexpr const char* kFormat = "elastic-mpi sparse grid 1";
constexpr const char* kAdvice = "build the surrogate anew, or take an undamaged file";

void append(std::string& bytes, const void* data, std::size_t size) {
  bytes.append(static_cast<const char*>(data), size);
}

}  // namespace

void Grid::save(const std::string& path, const std::string& note) const {
  const json header = {{"format", kFormat},
                       {"dimensions", dimensions_},
                       {"outputs", outputs_},
                       {"boundary", name_of(boundary_)},
                       {"points", filled_},
                       {"layout",
                        "points x dimensions uint32 nodes, points x outputs float64 values, uint64 "
                        "FNV-1a of all before; little endian"},
                       {"note", json::parse(note)}};
  std::string bytes = header.dump() + "\n";
  append(bytes, nodes_.data(), filled_ * dimensions_ * sizeof(Node1));
  for (std::size_t p = 0; p < filled_; ++p) append(bytes, values(p).data(), outputs_ * sizeof(double));
  const std::uint64_t sum = empi::fnv1a(bytes);
  append(bytes, &sum, sizeof sum);
  io::write_bytes(path, bytes.data(), bytes.size());
}

Grid Grid::load(const std::string& path, std::string* note) {
  const std::vector<char> bytes = io::read_bytes(path);
  const auto* end = static_cast<const char*>(std::memchr(bytes.data(), '\n', bytes.size()));
  const json header = end != nullptr ? json::parse(bytes.data(), end, nullptr, false) : json();
  if (!header.is_object() || header.value("format", json()) != json(kFormat))
    throw io::FileError::at_byte(path, 0, std::string("a header with format '") + kFormat + "'",
                                 "something else", "give a file that empi-surrogate wrote");
  const auto start = static_cast<std::size_t>(end - bytes.data()) + 1;
  const auto number = [&](const char* name, std::int64_t most) {
    const json value = header.value(name, json());
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > most)
      throw io::FileError::at_byte(path, 0, std::string("'") + name + "' of 0 to " + std::to_string(most),
                                   value.dump(), kAdvice);
    return value.get<std::size_t>();
  };
  const std::size_t d = number("dimensions", 64), m = number("outputs", 1'000'000),
                    n = number("points", 100'000'000);
  if (d == 0 || m == 0)
    throw io::FileError::at_byte(path, 0, "at least one dimension and one output", "none", kAdvice);
  const std::size_t node_bytes = n * d * sizeof(Node1), value_bytes = n * m * sizeof(double);
  const std::size_t expected = start + node_bytes + value_bytes + sizeof(std::uint64_t);
  if (bytes.size() != expected)
    throw io::FileError::at_byte(path, bytes.size(),
                                 std::to_string(expected) + " bytes for " + std::to_string(n) + " points",
                                 std::to_string(bytes.size()), kAdvice);
  std::uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + expected - sizeof sum, sizeof sum);
  if (sum != empi::fnv1a(std::string_view(bytes.data(), expected - sizeof sum)))
    throw io::FileError::at_byte(path, expected - sizeof sum, "the checksum of what is before it", "another",
                                 kAdvice);

  std::vector<Node1> nodes(n * d);
  std::memcpy(nodes.data(), bytes.data() + start, node_bytes);
  Grid grid = [&] {
    try {
      return of_nodes(static_cast<int>(d), static_cast<int>(m), boundary_of(header.value("boundary", "")),
                      nodes);
    } catch (const std::invalid_argument& error) {
      throw io::FileError::at_byte(path, start, "a grid", error.what(), kAdvice);
    }
  }();
  std::vector<double> rows(n * m);
  std::memcpy(rows.data(), bytes.data() + start + node_bytes, value_bytes);
  grid.append_values(rows);
  if (n > 0) grid.hierarchise();
  if (note != nullptr) *note = header.value("note", json::object()).dump();
  return grid;
}

}  // namespace sparse
