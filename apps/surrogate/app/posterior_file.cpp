// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/app/posterior_file.hpp"

#include <netcdf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "apps/io/file_error.hpp"

namespace surrogate {
namespace {

class Writer {
 public:
  explicit Writer(const std::string& path) : path_(path), part_(path + ".part") {
    check(nc_create(part_.c_str(), NC_CLOBBER | NC_NETCDF4, &file_));
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    if (file_ < 0) return;
    nc_close(file_);
    std::error_code ignored;
    std::filesystem::remove(part_, ignored);
  }
  void finish() {
    check(nc_close(std::exchange(file_, -1)));
    std::error_code error;
    std::filesystem::rename(part_, path_, error);
    if (error) throw io::FileError(path_, "", "to write it", error.message(), "");
  }

  int group(const char* name) {
    int id = 0;
    check(nc_def_grp(file_, name, &id));
    text(id, "inference_library", "elastic-mpi");
    text(id, "arviz_version", "0");  // of its schema; none of it has written this
    return id;
  }
  // A dimension, with its numbers from 0 as coordinates.
  int dimension(int group, const char* name, std::size_t size) {
    int id = 0, variable = 0;
    check(nc_def_dim(group, name, size, &id));
    check(nc_def_var(group, name, NC_INT64, 1, &id, &variable));
    std::vector<long long> numbers(size);
    std::iota(numbers.begin(), numbers.end(), 0);
    check(nc_put_var_longlong(group, variable, numbers.data()));
    return id;
  }
  void variable(int group, std::string name, const std::vector<int>& dimensions,
                const std::vector<double>& values) {
    std::ranges::replace(name, '/', '_');  // the one sign that netCDF does not take
    int id = 0;
    check(nc_def_var(group, name.c_str(), NC_DOUBLE, static_cast<int>(dimensions.size()), dimensions.data(),
                     &id));
    check(nc_put_var_double(group, id, values.data()));
  }

 private:
  void text(int group, const char* name, const char* value) {
    check(nc_put_att_text(group, NC_GLOBAL, name, std::strlen(value), value));
  }
  void check(int status) const {
    if (status != NC_NOERR) throw io::FileError(path_, "", "to write it", nc_strerror(status), "");
  }

  std::string path_, part_;
  int file_ = -1;
};

}  // namespace

void write_posterior(const std::string& path, const Inversion& inversion) {
  const Problem& problem = inversion.problem();
  const std::size_t width = problem.parameters.size() + 1;
  const std::vector<std::vector<double>> samples = inversion.samples();
  const std::size_t draws = samples[0].size() / width;
  const auto column = [&](std::size_t k, auto&& scaled) {
    std::vector<double> values;
    for (const auto& rows : samples)
      for (std::size_t at = 0; at < rows.size(); at += width) values.push_back(scaled(rows[at + k]));
    return values;
  };
  Writer file(path);
  const auto of_chains = [&](int group) {
    return std::vector{file.dimension(group, "chain", samples.size()), file.dimension(group, "draw", draws)};
  };
  const int posterior = file.group("posterior");
  std::vector<int> shape = of_chains(posterior);
  for (std::size_t k = 0; k + 1 < width; ++k) {
    const Parameter& p = problem.parameters[k];
    file.variable(posterior, p.name, shape,
                  column(k, [&](double unit) { return p.low + (p.high - p.low) * unit; }));
  }
  const int statistics = file.group("sample_stats");
  shape = of_chains(statistics);
  file.variable(statistics, "lp", shape, column(width - 1, [](double value) { return value; }));
  const int data = file.group("observed_data");
  shape = {file.dimension(data, "output", inversion.state().observed.size())};
  file.variable(data, "y", shape, inversion.state().observed);
  file.finish();
}

}  // namespace surrogate
