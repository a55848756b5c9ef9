// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/app/ground.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "apps/io/file_error.hpp"

namespace tsunami {
namespace {

constexpr double kIntervals = 240;

struct GridHeader {
  char magic[8] = {'E', 'M', 'P', 'I', 'G', 'R', 'D', '1'};
  std::int32_t nx = 0, ny = 0;
  double x0 = 0, y0 = 0, dx = 0, dy = 0;  // degrees
};

}  // namespace

void write_ground(const std::string& path, const Options& o, const Scenario& scenario) {
  const double width = o.east - o.west, height = o.north - o.south,
               step = std::max(width, height) / kIntervals;
  const auto nodes = [&](double length) {
    return std::max(1, static_cast<int>(std::lround(length / step))) + 1;
  };
  const io::Raster raster =
      io::sample(scenario.bed.still, {o.west, o.east, o.south, o.north}, nodes(width), nodes(height));
  GridHeader header;
  header.nx = raster.nx, header.ny = raster.ny;
  header.x0 = raster.x0, header.y0 = raster.y0, header.dx = raster.dx, header.dy = raster.dy;
  const std::vector<float> values(raster.z.begin(), raster.z.end());
  std::vector<char> bytes(sizeof header + values.size() * sizeof(float));
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, values.data(), values.size() * sizeof(float));
  io::write_bytes(path, bytes.data(), bytes.size());
}

io::Raster read_ground(const std::string& path) {
  const std::vector<char> bytes = io::read_bytes(path);
  GridHeader header;
  const GridHeader expected;
  if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  const auto count =
      static_cast<std::size_t>(std::max(header.nx, 0)) * static_cast<std::size_t>(std::max(header.ny, 0));
  if (std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0 || header.nx < 2 || header.ny < 2 ||
      bytes.size() != sizeof header + count * sizeof(float))
    throw io::FileError::at_byte(path, 0, "the ground of a run of this version of empi-tsunami",
                                 "something else", "run it again");
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes.data() + sizeof header, count * sizeof(float));
  return {header.nx, header.ny, header.x0, header.y0, header.dx, header.dy, {values.begin(), values.end()}};
}

}  // namespace tsunami
