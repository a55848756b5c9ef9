// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "apps/io/file_error.hpp"
#include "apps/io/text_scanner.hpp"
#include "apps/tsunami/io/topography_formats.hpp"
#include "runtime/base/text.hpp"

namespace io {
namespace {

constexpr const char* kHeaderHelp =
    "the header is six lines: ncols, nrows, xll (xlower, xllcorner, xllcenter), yll, cellsize, nodata_value, "
    "each with its value before or after the name";

struct Header {
  std::optional<double> ncols, nrows, xll, yll, dx, dy, nodata;
  bool corner = false;  // xll, yll name the corner of the first cell, not its middle
  std::set<std::string> names;
};

// One header line, `name value [value]` or `value [value] name`; false if the line has no name: data begin.
bool read_header_line(const TextScanner& scanner, std::string_view line, Header& header) {
  const auto words = TextScanner::words(line);
  double first = 0, last = 0;
  const bool first_is_number = TextScanner::parse(words.front(), first);
  if (first_is_number && (words.size() == 1 || TextScanner::parse(words[1], last))) {
    const bool two_values = words.size() == 3 && !TextScanner::parse(words[2], last);
    if (!two_values) return false;
  }
  const auto name = empi::lower(std::string(first_is_number ? words.back() : words.front()));
  const auto value_of = [&](std::size_t which) {
    const std::size_t at = first_is_number ? which : which + 1;
    double value = 0;
    if (at >= words.size() || !TextScanner::parse(words[at], value)) {
      scanner.fail("a number for '" + name + "'", in_quotes(line), kHeaderHelp);
    }
    return value;
  };
  const double value = value_of(0);
  if (!header.names.insert(name).second)
    scanner.fail("each header line once", in_quotes(name) + " again", kHeaderHelp);
  const auto begins = [&](const char* prefix) { return name.rfind(prefix, 0) == 0; };
  if (name == "ncols" || name == "mx") {
    header.ncols = value;
  } else if (name == "nrows" || name == "my") {
    header.nrows = value;
  } else if (begins("xll") || name == "xlower") {
    header.xll = value;
    header.corner = header.corner || name == "xllcorner";
  } else if (begins("yll") || name == "ylower") {
    header.yll = value;
    header.corner = header.corner || name == "yllcorner";
  } else if (name == "cellsize") {
    header.dx = value;
    header.dy = words.size() > 2 ? value_of(1) : value;
  } else if (name == "dx") {
    header.dx = value;
  } else if (name == "dy") {
    header.dy = value;
  } else if (begins("nodata")) {
    header.nodata = value;
  } else {
    scanner.fail("a header name", in_quotes(name), kHeaderHelp);
  }
  return true;
}

int grid_size(const TextScanner& scanner, const char* name, const std::optional<double>& value) {
  if (!value) scanner.fail(std::string("a header line '") + name + "'", "the first data line", kHeaderHelp);
  if (*value < 2 || *value > 1e6 || *value != std::floor(*value)) {
    scanner.fail(std::string(name) + " as a whole number from 2 to 1000000", std::to_string(*value),
                 "correct the header");
  }
  return static_cast<int>(*value);
}

Raster shape(const TextScanner& scanner, const Header& header) {
  Raster raster;
  raster.nx = grid_size(scanner, "ncols", header.ncols);
  raster.ny = grid_size(scanner, "nrows", header.nrows);
  const auto need = [&](const char* name, const std::optional<double>& value) {
    if (!value) scanner.fail(std::string("a header line '") + name + "'", "the first data line", kHeaderHelp);
    return *value;
  };
  raster.dx = need("cellsize", header.dx);
  raster.dy = need("cellsize", header.dy);
  if (!(raster.dx > 0 && raster.dy > 0)) {
    scanner.fail("cellsize above 0", std::to_string(std::min(raster.dx, raster.dy)), "correct the header");
  }
  raster.x0 = need("xll", header.xll) + (header.corner ? raster.dx / 2 : 0);
  raster.y0 = need("yll", header.yll) + (header.corner ? raster.dy / 2 : 0);
  return raster;
}

}  // namespace

Raster read_ascii_raster(const std::string& path, const TopographyOptions& options) {
  const auto bytes = read_bytes(path);
  const std::string_view text(bytes.data(), bytes.size());
  TextScanner scanner(path, text);
  Header header;
  auto data = scanner;
  while (const auto line = scanner.next_line()) {
    if (TextScanner::words(*line).empty()) continue;
    if (!read_header_line(scanner, *line, header)) break;
    data = scanner;
  }
  Raster raster = shape(scanner, header);
  const auto count = static_cast<std::size_t>(raster.nx) * static_cast<std::size_t>(raster.ny);
  if (count > (data.bytes_left() + 1) / 2) {  // a value takes at least a digit and a blank
    scanner.fail(std::to_string(raster.nx) + " x " + std::to_string(raster.ny) + " values as the header says",
                 "only " + std::to_string(data.bytes_left()) + " bytes of data",
                 "the file is cut off or its header is wrong: fetch it again");
  }
  raster.z.resize(count);
  for (int row = 0; row < raster.ny; ++row) {
    double* values = raster.z.data() + static_cast<std::size_t>(raster.ny - 1 - row) * raster.nx;
    for (int column = 0; column < raster.nx; ++column) {
      const auto where = [&] {
        return "the " + options.quantity.name + " of row " + std::to_string(row + 1) + " of " +
               std::to_string(raster.ny) + ", column " + std::to_string(column + 1) + " of " +
               std::to_string(raster.nx);
      };
      values[column] = data.next_number(where);
      if (header.nodata && values[column] == *header.nodata) {
        if (!options.fill) data.fail(where(), "the nodata value", "give a fill value or fill the hole first");
        values[column] = *options.fill;
      }
      if (const Quantity& q = options.quantity; !(values[column] >= q.least && values[column] <= q.most))
        data.fail(where() + empi::format(" from %g to %g", q.least, q.most),
                  empi::format("%g", values[column]), "correct the value");
    }
  }
  if (const auto extra = data.next_word()) {
    data.fail("the end of the file after " + std::to_string(count) + " values (ncols x nrows)",
              in_quotes(*extra), "correct ncols and nrows in the header");
  }
  return raster;
}

}  // namespace io
