// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/dtopo.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "apps/io/file_error.hpp"
#include "apps/io/text_scanner.hpp"
#include "runtime/base/text.hpp"

namespace io {
namespace {

constexpr std::array<const char*, 9> kNames = {"mx", "my", "mt", "xlower", "ylower", "t0", "dx", "dy", "dt"};
// m, more than a floor moves: a value that stands for none, or another unit.
constexpr double kMost = 2000;
constexpr const char* kDtopoHelp =
    "a dtopo type 3 file starts with nine lines: mx, my, mt, xlower, ylower, t0, dx, dy, dt";

struct DtopoHeader {
  std::array<double, 9> values{};
  std::array<std::size_t, 9> lines{};
};

DtopoHeader read_header(TextScanner& scanner) {
  DtopoHeader header;
  for (std::size_t k = 0; k < kNames.size(); ++k) {
    const std::string expected = std::string("a header line '") + kNames[k] + "' with its value";
    const auto line = scanner.next_line();
    if (!line) scanner.fail(expected, "the end of the file", kDtopoHelp);
    header.lines[k] = scanner.line();
    const auto words = TextScanner::words(*line);
    bool good = false;
    if (words.size() == 1) good = TextScanner::parse(words[0], header.values[k]);
    if (words.size() >= 2) {
      good = (TextScanner::parse(words[0], header.values[k]) && words[1] == kNames[k]) ||
             (words[0] == kNames[k] && TextScanner::parse(words[1], header.values[k]));
    }
    if (!good) scanner.fail(expected, in_quotes(*line), kDtopoHelp);
  }
  return header;
}

int whole(const std::string& path, const DtopoHeader& header, std::size_t k, int least) {
  const double value = header.values[k];
  if (value < least || value > 1e6 || value != std::floor(value)) {
    throw FileError::at_line(
        path, header.lines[k],
        std::string(kNames[k]) + " as a whole number from " + std::to_string(least) + " to 1000000",
        std::to_string(value), "correct the header");
  }
  return static_cast<int>(value);
}

void need_positive(const std::string& path, const DtopoHeader& header, std::size_t k) {
  if (header.values[k] > 0) return;
  throw FileError::at_line(path, header.lines[k], std::string(kNames[k]) + " above 0",
                           std::to_string(header.values[k]), "correct the header");
}

}  // namespace

double Dtopo::at(double lon, double lat, double t) const {
  if (!frames.front().contains(lon, lat) || t < times.front()) return 0;
  if (t >= times.back()) return frames.back().at(lon, lat);
  const auto after =
      static_cast<std::size_t>(std::upper_bound(times.begin(), times.end(), t) - times.begin());
  const double fraction = (t - times[after - 1]) / (times[after] - times[after - 1]);
  return (1 - fraction) * frames[after - 1].at(lon, lat) + fraction * frames[after].at(lon, lat);
}

double Dtopo::final_at(double lon, double lat) const {
  return frames.back().contains(lon, lat) ? frames.back().at(lon, lat) : 0;
}

Dtopo read_dtopo(const InputFile& file) {
  const std::string& path = file.path();
  TextScanner scanner(path, file.text());
  const DtopoHeader header = read_header(scanner);
  const int mx = whole(path, header, 0, 2), my = whole(path, header, 1, 2), mt = whole(path, header, 2, 1);
  need_positive(path, header, 6);
  need_positive(path, header, 7);
  if (mt > 1) need_positive(path, header, 8);
  const std::size_t count = static_cast<std::size_t>(mx) * my;
  if (static_cast<double>(count) * mt > static_cast<double>(scanner.bytes_left() + 1) / 2) {
    scanner.fail(std::to_string(mx) + " x " + std::to_string(my) + " x " + std::to_string(mt) +
                     " values as the header says (mx, my, mt)",
                 "only " + std::to_string(scanner.bytes_left()) + " bytes of data",
                 "the file is cut off or its header is wrong: fetch it again");
  }
  Dtopo dtopo;
  for (int frame = 0; frame < mt; ++frame) {
    dtopo.times.push_back(header.values[5] + frame * header.values[8]);
    Raster raster{mx, my, header.values[3], header.values[4], header.values[6], header.values[7], {}};
    raster.z.resize(count);
    for (int row = 0; row < my; ++row) {
      for (int column = 0; column < mx; ++column) {
        const auto where = [&] {
          return "the displacement of time " + std::to_string(frame + 1) + " of " + std::to_string(mt) +
                 ", row " + std::to_string(row + 1) + " of " + std::to_string(my) + ", column " +
                 std::to_string(column + 1) + " of " + std::to_string(mx);
        };
        const double moved = scanner.next_number(where);
        if (std::abs(moved) > kMost)
          scanner.fail(where() + empi::format(" from %g to %g m", -kMost, kMost), empi::format("%g", moved),
                       "correct the value");
        raster.node(column, my - 1 - row) = moved;
      }
    }
    dtopo.frames.push_back(std::move(raster));
  }
  if (const auto extra = scanner.next_word()) {
    scanner.fail("the end of the file after mx x my x mt values", in_quotes(*extra),
                 "correct mx, my and mt in the header");
  }
  return dtopo;
}

}  // namespace io
