// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/topography.hpp"

#include <algorithm>
#include <string_view>

#include "apps/io/file_error.hpp"
#include "apps/io/text_scanner.hpp"
#include "apps/tsunami/io/topography_formats.hpp"

namespace io {
namespace {

bool starts_with(const std::vector<char>& bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
}

bool is_text(const std::vector<char>& bytes) {
  const auto text = TextScanner::without_mark({bytes.data(), std::min<std::size_t>(bytes.size(), 4096)});
  return std::ranges::all_of(
      text, [](char c) { return (c >= 32 && c < 127) || c == '\n' || c == '\r' || c == '\t' || c == '\f'; });
}

void refuse_compressed(const std::string& path, const std::vector<char>& bytes, const Quantity& quantity) {
  using namespace std::string_view_literals;
  const auto refuse = [&](const char* kind, const std::string& command) {
    throw FileError::at_byte(path, 0, "a raster of the " + quantity.name,
                             std::string("a file compressed with ") + kind,
                             "decompress it first: " + command + " " + path);
  };
  if (starts_with(bytes,
                  "\xFD"
                  "7zXZ\0"sv))
    refuse("xz", "xz -dk");
  if (starts_with(bytes, "\x1F\x8B"sv)) refuse("gzip", "gzip -dk");
  if (starts_with(bytes, "BZh"sv)) refuse("bzip2", "bzip2 -dk");
  if (starts_with(bytes, "PK\x03\x04"sv)) refuse("zip", "unzip");
}

}  // namespace

std::unique_ptr<Raster> read_topography(const std::string& path, const TopographyOptions& options) {
  using namespace std::string_view_literals;
  // A global netCDF file is larger than memory: look at its first bytes only.
  const auto head = read_head(path, 4096);
  refuse_compressed(path, head, options.quantity);
  if (starts_with(head, "CDF\x01"sv) || starts_with(head, "CDF\x02"sv) || starts_with(head, "CDF\x05"sv) ||
      starts_with(head, "\x89HDF\r\n"sv)) {
    return std::make_unique<Raster>(read_netcdf_raster(path, options));
  }
  if (is_text(head)) return std::make_unique<Raster>(read_ascii_raster(path, options));
  return std::make_unique<Raster>(read_binary_raster(path, options));
}

}  // namespace io
