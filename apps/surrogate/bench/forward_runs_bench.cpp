// SPDX-License-Identifier: Apache-2.0
// ./dev bench surrogate-runs [ERROR]: the forward runs of the channel (four_obstacles()) that a surrogate
// takes until its error, seed 000 equation (7.33) on the 500 reference points, is as low as the default
// tolerance: by the default criterion of refinement over those by the surplus of points that are there. In
// one process, seconds: it does not depend on workers.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "apps/surrogate/app/options.hpp"
#include "apps/surrogate/app/testing/run_through.hpp"

namespace {

using surrogate::Build;
using surrogate::Inversion;

// Builds come in steps of half their size: between two of them the logarithm of the error is taken to be
// linear in that of the runs.
double runs_until(const surrogate::Options& options, surrogate::RefineBy by, double wanted) {
  surrogate::Settings settings = options.settings;
  settings.refine_by = by;
  settings.tolerance = wanted;
  settings.most_points = 20000;
  Inversion inversion(surrogate::channel_problem(options), settings);
  while (inversion.state().stage != surrogate::Stage::Sample) surrogate::test::run_phase(inversion);
  const std::vector<Build>& builds = inversion.state().builds;
  for (const Build& build : builds)
    std::fprintf(stderr, "# by %s: %.0f runs, error %.5f\n", surrogate::name_of(by), build.points,
                 build.error);
  if (builds.size() < 2) return builds.back().points;
  const Build &last = builds.back(), &before = builds[builds.size() - 2];
  const double share = std::log(before.error / wanted) / std::log(before.error / last.error);
  return before.points * std::pow(last.points / before.points, share);
}

}  // namespace

int main(int argc, char** argv) {
  const surrogate::Options options = surrogate::parse_options(1, argv);
  const double wanted = argc > 1 ? std::atof(argv[1]) : options.settings.tolerance;
  const double ours = runs_until(options, options.settings.refine_by, wanted);
  const double by_surplus = runs_until(options, surrogate::RefineBy::Surplus, wanted);
  std::fprintf(stderr, "# error %g: %.0f runs, by the surplus of points that are there %.0f\n", wanted, ours,
               by_surplus);
  std::printf("bench elastic-surrogate.forward_runs %.4g ratio\n", ours / by_surplus);
  return 0;
}
