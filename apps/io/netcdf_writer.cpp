// SPDX-License-Identifier: Apache-2.0
#include "apps/io/netcdf_writer.hpp"

#include <netcdf.h>

#include <filesystem>
#include <utility>

#include "apps/io/file_error.hpp"

namespace io {

const int NetcdfWriter::kGlobal = NC_GLOBAL;

NetcdfWriter::NetcdfWriter(std::string path) : path_(std::move(path)), part_(path_ + ".part") {
  check(nc_create(part_.c_str(), NC_CLOBBER | NC_NETCDF4, &file_));
}

NetcdfWriter::~NetcdfWriter() {
  if (file_ < 0) return;
  nc_close(file_);
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
}

void NetcdfWriter::finish() {
  check(nc_close(std::exchange(file_, -1)));
  std::error_code error;
  std::filesystem::rename(part_, path_, error);
  if (error) throw FileError(path_, "", "to write it", error.message(), "");
}

int NetcdfWriter::group(const std::string& name) {
  int id = 0;
  check(nc_def_grp(file_, name.c_str(), &id));
  return id;
}

int NetcdfWriter::dimension(int group, const std::string& name, std::size_t size) {
  int id = 0;
  check(nc_def_dim(group, name.c_str(), size, &id));
  return id;
}

int NetcdfWriter::variable(int group, const std::string& name, Type type, const std::vector<int>& dimensions,
                           std::optional<double> fill) {
  int id = 0;
  const int kind = type == Type::Float ? NC_FLOAT : type == Type::Double ? NC_DOUBLE : NC_INT64;
  check(nc_def_var(group, name.c_str(), kind, static_cast<int>(dimensions.size()), dimensions.data(), &id));
  if (fill) check(nc_put_att_double(group, id, "_FillValue", kind, 1, &*fill));
  return id;
}

void NetcdfWriter::put(int group, int variable, std::span<const double> values) {
  check(nc_put_var_double(group, variable, values.data()));
}

void NetcdfWriter::attribute(int group, int variable, const std::string& name, const std::string& text) {
  check(nc_put_att_text(group, variable, name.c_str(), text.size(), text.c_str()));
}

void NetcdfWriter::attribute(int group, int variable, const std::string& name, double value) {
  check(nc_put_att_double(group, variable, name.c_str(), NC_DOUBLE, 1, &value));
}

void NetcdfWriter::check(int status) const {
  if (status != NC_NOERR) throw FileError(path_, "", "to write it", nc_strerror(status), "");
}

}  // namespace io
