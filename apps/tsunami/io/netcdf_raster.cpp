// SPDX-License-Identifier: Apache-2.0
#include <netcdf.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/io/file_error.hpp"
#include "apps/tsunami/io/topography_formats.hpp"
#include "runtime/base/joined.hpp"
#include "runtime/base/text.hpp"

namespace io {
namespace {

class NetcdfFile {
 public:
  explicit NetcdfFile(const std::string& path) : path_(path) {
    check(nc_open(path.c_str(), NC_NOWRITE, &id_), "", "a netCDF file");
  }
  ~NetcdfFile() { nc_close(id_); }
  NetcdfFile(const NetcdfFile&) = delete;
  NetcdfFile& operator=(const NetcdfFile&) = delete;

  int id() const { return id_; }
  const std::string& path() const { return path_; }

  void check(int status, const std::string& place, const std::string& expected) const {
    if (status == NC_NOERR) return;
    throw FileError(path_, place, expected, nc_strerror(status),
                    "the file is damaged or cut off: fetch it again");
  }
  [[noreturn]] void fail(const std::string& place, const std::string& expected, const std::string& found,
                         const std::string& advice) const {
    throw FileError(path_, place, expected, found, advice);
  }

 private:
  std::string path_;
  int id_ = -1;
};

constexpr std::uintmax_t padded(std::uintmax_t bytes) { return (bytes + 3) / 4 * 4; }

// Of the classic formats, bytes that a whole file has at least: its header, to the byte, and its data. The
// library reads zeros where a file ends early. Of other formats: 0, for HDF5 sees that.
// https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html
std::uintmax_t least_size(const NetcdfFile& file) {
  int format = 0, dimensions = 0, variables = 0, attributes = 0, records = -1;
  const auto check = [&](int status) { file.check(status, "", "a header"); };
  check(nc_inq_format(file.id(), &format));
  if (format != NC_FORMAT_CLASSIC && format != NC_FORMAT_64BIT_OFFSET && format != NC_FORMAT_CDF5) return 0;
  check(nc_inq(file.id(), &dimensions, &variables, &attributes, &records));
  const std::uintmax_t number = format == NC_FORMAT_CDF5 ? 8 : 4,
                       offset = format == NC_FORMAT_CLASSIC ? 4 : 8;
  const auto size_of = [&](nc_type type) {
    std::size_t size = 0;
    check(nc_inq_type(file.id(), type, nullptr, &size));
    return std::uintmax_t{size};
  };
  const auto list_of_attributes = [&](int variable, int count) {
    std::uintmax_t bytes = 4 + number;
    for (int k = 0; k < count; ++k) {
      char name[NC_MAX_NAME + 1] = {};
      nc_type type = 0;
      std::size_t length = 0;
      check(nc_inq_attname(file.id(), variable, k, name));
      check(nc_inq_att(file.id(), variable, name, &type, &length));
      bytes += number + padded(std::strlen(name)) + 4 + number + padded(length * size_of(type));
    }
    return bytes;
  };
  std::uintmax_t bytes = 4 + number + (4 + number) + list_of_attributes(NC_GLOBAL, attributes) + (4 + number);
  std::vector<std::uintmax_t> lengths(static_cast<std::size_t>(dimensions));
  for (int k = 0; k < dimensions; ++k) {
    char name[NC_MAX_NAME + 1] = {};
    std::size_t length = 0;
    check(nc_inq_dim(file.id(), k, name, &length));
    lengths[static_cast<std::size_t>(k)] = length;
    bytes += number + padded(std::strlen(name)) + number;
  }
  for (int k = 0; k < variables; ++k) {
    char name[NC_MAX_NAME + 1] = {};
    nc_type type = 0;
    int rank = 0, own = 0;
    check(nc_inq_var(file.id(), k, name, &type, &rank, nullptr, &own));
    std::vector<int> of(static_cast<std::size_t>(rank));
    check(nc_inq_vardimid(file.id(), k, of.data()));
    std::uintmax_t data = size_of(type);
    for (const int dimension : of) data *= lengths[static_cast<std::size_t>(dimension)];
    bytes += number + padded(std::strlen(name)) + number + of.size() * number + list_of_attributes(k, own) +
             4 + number + offset + data;
  }
  return bytes;
}

void expect_whole(const NetcdfFile& file) {
  std::error_code failed;
  const std::uintmax_t found = std::filesystem::file_size(file.path(), failed), least = least_size(file);
  if (!failed && found < least)
    throw FileError::at_byte(file.path(), found,
                             "at least " + std::to_string(least) + " bytes as its header says",
                             std::to_string(found), "the file is cut off: fetch it again");
}

struct Variable {
  int id = -1;
  std::string name;
  std::vector<int> dimensions;
};

std::string place_of(const Variable& variable) { return "variable '" + variable.name + "'"; }

Variable describe(const NetcdfFile& file, int id) {
  Variable variable{id, "", {}};
  char name[NC_MAX_NAME + 1] = {};
  int rank = 0;
  file.check(nc_inq_varname(file.id(), id, name), "", "a variable's name");
  variable.name = name;
  file.check(nc_inq_varndims(file.id(), id, &rank), place_of(variable), "its number of dimensions");
  variable.dimensions.resize(static_cast<std::size_t>(rank));
  file.check(nc_inq_vardimid(file.id(), id, variable.dimensions.data()), place_of(variable),
             "its dimensions");
  return variable;
}

// A well-known name, or else the only numeric two-dimensional variable.
Variable find_variable(const NetcdfFile& file, const Quantity& quantity) {
  const auto known = [&] {
    return empi::joined(std::vector(quantity.variables.begin(), quantity.variables.begin() + 4));
  };
  for (const char* name : quantity.variables) {
    int id = -1;
    if (nc_inq_varid(file.id(), name, &id) != NC_NOERR) continue;
    auto variable = describe(file, id);
    if (variable.dimensions.size() == 2) return variable;
  }
  int count = 0;
  file.check(nc_inq_nvars(file.id(), &count), "", "a list of variables");
  std::optional<Variable> only;
  std::string names;
  for (int id = 0; id < count; ++id) {
    auto variable = describe(file, id);
    names += (names.empty() ? "" : ", ") + variable.name;
    if (variable.dimensions.size() != 2) continue;
    if (only)
      file.fail("", "one two-dimensional variable (" + known() + ")", "several: " + names,
                "keep one of them (ncks -v NAME)");
    only = variable;
  }
  if (!only) {
    file.fail("", "a two-dimensional variable (" + known() + ")", "variables: " + names,
              "convert the grid to netCDF with lon/lat coordinates (gdal_translate -of netCDF)");
  }
  return *only;
}

struct Axis {
  std::string name;
  bool is_longitude = false;
  std::size_t size = 0;
  double first = 0, step = 0;  // step < 0 when the file runs from east to west or north to south
};

std::string text_attribute(const NetcdfFile& file, int variable, const char* name) {
  std::size_t length = 0;
  if (nc_inq_attlen(file.id(), variable, name, &length) != NC_NOERR) return "";
  std::string value(length, '\0');
  if (nc_get_att_text(file.id(), variable, name, value.data()) != NC_NOERR) return "";
  return value;
}

// Which way an axis points: its name, else its units, else its place (latitude before longitude).
bool points_east(const NetcdfFile& file, int variable, const std::string& name, bool second) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower.rfind("lon", 0) == 0 || lower == "x") return true;
  if (lower.rfind("lat", 0) == 0 || lower == "y") return false;
  const auto units = text_attribute(file, variable, "units");
  if (units.rfind("degrees_e", 0) == 0) return true;
  if (units.rfind("degrees_n", 0) == 0) return false;
  return second;
}

Axis read_axis(const NetcdfFile& file, int dimension, bool second) {
  char name[NC_MAX_NAME + 1] = {};
  Axis axis;
  file.check(nc_inq_dim(file.id(), dimension, name, &axis.size), "", "a dimension");
  axis.name = name;
  const auto place = "dimension '" + axis.name + "'";
  int variable = -1;
  if (nc_inq_varid(file.id(), name, &variable) != NC_NOERR) {
    file.fail(place, "a coordinate variable of the same name (lon, lat, x or y, in degrees)", "none",
              "add it, or convert the grid with gdal_translate -of netCDF");
  }
  axis.is_longitude = points_east(file, variable, axis.name, second);
  if (axis.size < 2 || axis.size > 1000000) {
    file.fail(place, "2 to 1000000 points", std::to_string(axis.size), "check the file");
  }
  if (const auto shape = describe(file, variable); shape.dimensions.size() != 1) {
    file.fail(place, "a one-dimensional coordinate", std::to_string(shape.dimensions.size()) + " dimensions",
              "interpolate the grid to a regular longitude/latitude grid");
  }
  std::vector<double> values(axis.size);
  file.check(nc_get_var_double(file.id(), variable, values.data()), place, "its coordinates");
  axis.first = values.front();
  axis.step = (values.back() - values.front()) / static_cast<double>(axis.size - 1);
  for (std::size_t k = 0; k < axis.size; ++k) {
    const double regular = axis.first + axis.step * static_cast<double>(k);
    // Coordinates stored as float are off by up to 1e-5 degrees.
    if (!(std::abs(values[k] - regular) <= std::abs(axis.step) * 0.01 + 1e-5) || axis.step == 0) {
      file.fail(place + "[" + std::to_string(k) + "]", "a regular coordinate, " + std::to_string(regular),
                std::to_string(values[k]), "interpolate the grid to a regular longitude/latitude grid");
    }
  }
  return axis;
}

struct Range {
  std::size_t first = 0, count = 0;
};

// The points of `axis` that cover [low, high], in the file's order.
Range cover(const NetcdfFile& file, const Axis& axis, double low, double high) {
  const double size = static_cast<double>(axis.size);
  double a = (low - axis.first) / axis.step, b = (high - axis.first) / axis.step;
  if (a > b) std::swap(a, b);
  const double begin = std::clamp(std::floor(a), 0.0, size - 1),
               end = std::clamp(std::ceil(b), 0.0, size - 1);
  if (end - begin < 1) {
    file.fail("dimension '" + axis.name + "'",
              "points between " + std::to_string(low) + " and " + std::to_string(high) + " degrees",
              std::to_string(axis.first) + " to " + std::to_string(axis.first + axis.step * (size - 1)),
              "choose a region inside the file (and the same convention for longitudes)");
  }
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin) + 1};
}

// What to add to a file's longitudes so that they reach farthest into [west, east]: 0, 360 or -360 degrees.
double turn_of(const Axis& lon, double west, double east) {
  const double a = lon.first, b = lon.first + lon.step * (static_cast<double>(lon.size) - 1);
  return nearest_turn(std::min(a, b), std::max(a, b), west, east);
}

// None where there is no such attribute, or a text.
std::vector<double> number_attribute(const NetcdfFile& file, const Variable& variable, const char* name) {
  std::size_t length = 0;
  if (nc_inq_attlen(file.id(), variable.id, name, &length) != NC_NOERR) return {};
  std::vector<double> values(length);
  if (nc_get_att_double(file.id(), variable.id, name, values.data()) != NC_NOERR) return {};
  return values;
}

double one_number(const NetcdfFile& file, const Variable& variable, const char* name, double without) {
  const auto values = number_attribute(file, variable, name);
  if (values.size() > 1 || (values.size() == 1 && !std::isfinite(values[0])))
    file.fail(place_of(variable), std::string(name) + " as one finite number",
              values.size() > 1 ? std::to_string(values.size()) : empi::format("%g", values[0]),
              "correct it (ncatted)");
  return values.empty() ? without : values[0];
}

// Missing values replaced or refused, then scale and offset applied.
void decode(const NetcdfFile& file, const Variable& variable, const TopographyOptions& options,
            Raster& raster) {
  auto missing = number_attribute(file, variable, "missing_value");  // there may be several
  for (const double fill : number_attribute(file, variable, "_FillValue")) missing.push_back(fill);
  const double scale = one_number(file, variable, "scale_factor", 1);
  const double offset = one_number(file, variable, "add_offset", 0);
  const Quantity& q = options.quantity;
  const auto where = [&](std::size_t k) {
    const auto i = k % static_cast<std::size_t>(raster.nx), j = k / static_cast<std::size_t>(raster.nx);
    return "the " + q.name + " at lon " + std::to_string(raster.x0 + raster.dx * static_cast<double>(i)) +
           ", lat " + std::to_string(raster.y0 + raster.dy * static_cast<double>(j));
  };
  for (std::size_t k = 0; k < raster.z.size(); ++k) {
    double& z = raster.z[k];
    if (!std::isfinite(z) || std::ranges::find(missing, z) != missing.end()) {
      if (!options.fill) {
        file.fail(place_of(variable), where(k), "a missing value",
                  "give a fill value or fill the hole first (gdal_fillnodata.py)");
      }
      z = *options.fill;
    } else {
      z = z * scale + offset;
    }
    if (!(z >= q.least && z <= q.most))
      file.fail(place_of(variable), where(k) + empi::format(" from %g to %g", q.least, q.most),
                empi::format("%g", z), "correct the value");
  }
}

}  // namespace

Raster read_netcdf_raster(const std::string& path, const TopographyOptions& options) {
  const NetcdfFile file(path);
  expect_whole(file);
  const auto variable = find_variable(file, options.quantity);
  const Axis axes[2] = {read_axis(file, variable.dimensions[0], false),
                        read_axis(file, variable.dimensions[1], true)};
  if (axes[0].is_longitude == axes[1].is_longitude) {
    file.fail(place_of(variable), "one longitude and one latitude dimension",
              "'" + axes[0].name + "' and '" + axes[1].name + "'", "rename the dimensions to lat and lon");
  }
  const std::size_t lon_at = axes[0].is_longitude ? 0 : 1, lat_at = 1 - lon_at;
  const Axis &lon = axes[lon_at], &lat = axes[lat_at];

  Range range[2] = {{0, axes[0].size}, {0, axes[1].size}};
  double turn = 0;
  if (options.region) {
    turn = turn_of(lon, options.region->west, options.region->east);
    range[lon_at] = cover(file, lon, options.region->west - turn, options.region->east - turn);
    range[lat_at] = cover(file, lat, options.region->south, options.region->north);
  }
  const std::size_t nx = range[lon_at].count, ny = range[lat_at].count;
  if (nx * ny > 400'000'000) {
    file.fail(place_of(variable), "at most 400 million points",
              std::to_string(nx) + " x " + std::to_string(ny), "choose a smaller region");
  }
  std::vector<double> values(nx * ny);
  const std::size_t start[2] = {range[0].first, range[1].first}, count[2] = {range[0].count, range[1].count};
  file.check(nc_get_vara_double(file.id(), variable.id, start, count, values.data()), place_of(variable),
             std::to_string(nx) + " x " + std::to_string(ny) + " values");

  Raster raster{static_cast<int>(nx), static_cast<int>(ny), 0, 0, std::abs(lon.step), std::abs(lat.step), {}};
  const auto lowest = [](const Axis& axis, const Range& r) {
    const auto index = static_cast<double>(axis.step > 0 ? r.first : r.first + r.count - 1);
    return axis.first + axis.step * index;
  };
  raster.x0 = lowest(lon, range[lon_at]) + turn;
  raster.y0 = lowest(lat, range[lat_at]);
  raster.z.resize(nx * ny);
  for (std::size_t j = 0; j < ny; ++j) {
    const std::size_t row = lat.step > 0 ? j : ny - 1 - j;
    for (std::size_t i = 0; i < nx; ++i) {
      const std::size_t column = lon.step > 0 ? i : nx - 1 - i;
      raster.z[j * nx + i] = lon_at == 1 ? values[row * nx + column] : values[column * ny + row];
    }
  }
  decode(file, variable, options, raster);
  return raster;
}

}  // namespace io
