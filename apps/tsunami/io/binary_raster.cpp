// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>

#include "apps/io/file_error.hpp"
#include "apps/io/text_scanner.hpp"
#include "apps/tsunami/io/topography_formats.hpp"
#include "runtime/base/text.hpp"

namespace io {
namespace {

Raster read_companion_header(const std::string& path) {
  const auto bytes = read_bytes(path);
  TextScanner scanner(path, {bytes.data(), bytes.size()});
  std::map<std::string, double, std::less<>> found;
  while (const auto line = scanner.next_line()) {
    const auto words = TextScanner::words(*line);
    if (words.size() != 2) continue;  // remarks
    double value = 0;
    if (TextScanner::parse(words[1], value)) found[std::string(words[0])] = value;
  }
  const auto need = [&](const char* name) {
    const auto at = found.find(name);
    if (at == found.end()) {
      scanner.fail(std::string("a line '") + name + " NUMBER'", "none",
                   "the header has nx, ny, x0_lonE, y0_lat, dx_deg, dy_deg");
    }
    return at->second;
  };
  const auto size = [&](const char* name) {
    const double value = need(name);
    if (value < 2 || value > 1e6 || value != std::floor(value)) {
      scanner.fail(std::string(name) + " as a whole number from 2 to 1000000", std::to_string(value),
                   "correct the header");
    }
    return static_cast<int>(value);
  };
  Raster raster{size("nx"), size("ny"), need("x0_lonE"), need("y0_lat"), need("dx_deg"), need("dy_deg"), {}};
  if (!(raster.dx > 0 && raster.dy > 0)) {
    scanner.fail("dx_deg and dy_deg above 0", std::to_string(std::min(raster.dx, raster.dy)),
                 "correct the header");
  }
  return raster;
}

}  // namespace

std::vector<char> read_head(const std::string& path, std::size_t size) {
  std::error_code failed;
  if (std::filesystem::file_size(path, failed) <= size || failed) return read_bytes(path);  // and its errors
  std::vector<char> head(size);
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return read_bytes(path);
  head.resize(std::fread(head.data(), 1, size, file));
  std::fclose(file);
  if (head.empty()) return read_bytes(path);
  return head;
}

Raster read_binary_raster(const std::string& path, const TopographyOptions& options) {
  const auto header_path = std::filesystem::path(path).replace_extension(".txt").string();
  std::error_code ignored;
  if (!std::filesystem::exists(header_path, ignored)) {
    throw FileError::at_byte(
        path, 0,
        "the " + options.quantity.name +
            " as text (topotype 2 or 3, ESRI ASCII), netCDF, or raw int16 with a header " + header_path,
        "binary data without that header", "convert the file or add the header");
  }
  Raster raster = read_companion_header(header_path);
  const auto count = static_cast<std::uintmax_t>(raster.nx) * static_cast<std::uintmax_t>(raster.ny);
  const auto found = std::filesystem::file_size(path, ignored);
  if (ignored || found != 2 * count) {
    throw FileError::at_byte(path, found,
                             std::to_string(2 * count) + " bytes (nx x ny int16 of " + header_path + ")",
                             std::to_string(found) + " bytes", "fetch the file again or correct the header");
  }
  const auto bytes = read_bytes(path);
  raster.z.resize(count);
  for (std::size_t k = 0; k < count; ++k) {
    const auto low = static_cast<unsigned char>(bytes[2 * k]),
               high = static_cast<unsigned char>(bytes[2 * k + 1]);
    raster.z[k] = static_cast<std::int16_t>(low | (high << 8));
    if (const Quantity& q = options.quantity; !(raster.z[k] >= q.least && raster.z[k] <= q.most))
      throw FileError::at_byte(path, 2 * k, "the " + q.name + empi::format(" from %g to %g", q.least, q.most),
                               empi::format("%g", raster.z[k]), "correct the value");
  }
  return raster;
}

}  // namespace io
