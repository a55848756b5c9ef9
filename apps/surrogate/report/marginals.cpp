// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/report/marginals.hpp"

#include <nlohmann/json.hpp>

#include "apps/io/report.hpp"

namespace surrogate {

using nlohmann::json;

std::vector<Marginal> read_marginals(const std::filesystem::path& folder, const json& results) {
  std::vector<Marginal> marginals;
  for (const json& p : results.at("parameters")) {
    Marginal m{p.at("name"), {p.at("low"), p.at("high")}, p.at("mean"), p.at("q05"), p.at("q95"), {}, {}};
    if (p.contains("true")) m.truth = p["true"].get<double>();
    marginals.push_back(std::move(m));
  }
  const io::Table table(folder / "samples.csv");
  const std::vector<double> ensembles = table.numbers("ensemble");
  for (Marginal& m : marginals) {
    const std::vector<double> values = table.numbers(m.name);
    for (std::size_t row = 0; row < values.size(); ++row) {
      const auto ensemble = static_cast<std::size_t>(ensembles[row]);
      if (ensemble >= m.samples.size()) m.samples.resize(ensemble + 1);
      m.samples[ensemble].push_back(values[row]);
    }
  }
  return marginals;
}

}  // namespace surrogate
