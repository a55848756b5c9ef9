// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/app/posterior_file.hpp"

#include <numeric>

#include "apps/io/netcdf_writer.hpp"
#include "apps/surrogate/app/parameter_names.hpp"

namespace surrogate {
namespace {

using io::NetcdfWriter;

// InferenceData, as ArviZ reads it: groups of variables.
class InferenceFile : public NetcdfWriter {
 public:
  using NetcdfWriter::NetcdfWriter;

  int group(const char* name) {
    const int id = NetcdfWriter::group(name);
    attribute(id, kGlobal, "inference_library", "elastic-mpi");
    attribute(id, kGlobal, "arviz_version", "0");  // of its schema; none of it has written this
    return id;
  }
  // A dimension, with its numbers from 0 as coordinates.
  int dimension(int group, const char* name, std::size_t size) {
    const int id = NetcdfWriter::dimension(group, name, size);
    std::vector<double> numbers(size);
    std::iota(numbers.begin(), numbers.end(), 0);
    put(group, variable(group, name, Type::Int64, {id}), numbers);
    return id;
  }
  void values(int group, const std::string& name, const std::vector<int>& dimensions,
              const std::vector<double>& values) {
    put(group, variable(group, name, Type::Double, dimensions), values);
  }
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
  InferenceFile file(path);
  const auto of_chains = [&](int group) {
    return std::vector{file.dimension(group, "chain", samples.size()), file.dimension(group, "draw", draws)};
  };
  const int posterior = file.group("posterior");
  std::vector<int> shape = of_chains(posterior);
  for (std::size_t k = 0; k + 1 < width; ++k) {
    const Parameter& p = problem.parameters[k];
    file.values(posterior, name_in_netcdf(p.name), shape,
                column(k, [&](double unit) { return p.low + (p.high - p.low) * unit; }));
  }
  const int statistics = file.group("sample_stats");
  shape = of_chains(statistics);
  file.values(statistics, "lp", shape, column(width - 1, [](double value) { return value; }));
  const int data = file.group("observed_data");
  shape = {file.dimension(data, "output", inversion.state().observed.size())};
  file.values(data, "y", shape, inversion.state().observed);
  file.finish();
}

}  // namespace surrogate
