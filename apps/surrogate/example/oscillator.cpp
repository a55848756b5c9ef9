// SPDX-License-Identifier: Apache-2.0
// Another inverse problem (docs/surrogate.md): amplitude, frequency and damping of an oscillator, from 24
// noisy displacements.
#include <cmath>

#include "apps/io/run_folder.hpp"
#include "apps/surrogate/app/solve.hpp"

int main(int argc, char** argv) {
  elastic::MasterWorker job(argc, argv);
  surrogate::Problem problem;
  problem.parameters = {{"amplitude", 0.5, 2}, {"frequency", 0.8, 1.6}, {"damping", 0, 0.5}};
  problem.outputs = 24;
  problem.model = [](std::span<const double> p, std::span<double> displacement) {
    for (std::size_t k = 0; k < displacement.size(); ++k) {
      const double t = 0.25 * static_cast<double>(k + 1);
      displacement[k] = p[0] * std::exp(-p[2] * t) * std::cos(p[1] * t);
    }
  };
  problem.truth = {1.2, 1.1, 0.2};  // or problem.observed = {...}, problem.noise = 0.05
  surrogate::Settings settings;
  settings.tolerance = 0.002;
  return surrogate::solve(job, problem, settings, argc > 1 ? argv[1] : io::default_folder());
}
