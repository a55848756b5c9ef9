// empi-surrogate: four obstacles in a fluid channel, found from ten noisy sensors, by workers that come and
// go. See docs/inverse.md.
#include <cstdio>
#include <elastic_master_worker.hpp>
#include <exception>

#include "apps/surrogate/app/options.hpp"
#include "apps/surrogate/app/solve.hpp"

int main(int argc, char** argv) {
  const inverse::Options options = inverse::parse_options(argc, argv);
  elastic::MasterWorker job(argc, argv);
  inverse::Problem problem;
  try {
    problem = inverse::channel_problem(options);
  } catch (const std::exception& error) {  // every rank reads the same, so every rank ends here
    if (job.master()) std::fprintf(stderr, "empi-surrogate: %s\n", error.what());
    return 2;
  }
  return inverse::solve(job, problem, options.settings, options.out, inverse::description(options),
                        options.grid);
}
