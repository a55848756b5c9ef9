// SPDX-License-Identifier: Apache-2.0
// empi-surrogate: four obstacles in a fluid channel, found from ten noisy sensors, by workers that come and
// go. See docs/surrogate.md.
#include <elastic_master_worker.hpp>
#include <exception>

#include "apps/io/collective_try.hpp"
#include "apps/surrogate/app/options.hpp"
#include "apps/surrogate/app/solve.hpp"

int main(int argc, char** argv) {
  const surrogate::Options options = surrogate::parse_options(argc, argv);
  elastic::MasterWorker job(argc, argv);
  surrogate::Problem problem;
  try {
    io::prepare(job.joining(), [&] { problem = surrogate::channel_problem(options); });
  } catch (const std::exception& error) {
    return io::refuse("empi-surrogate", error, job.joining());
  }
  return surrogate::solve(job, problem, options.settings, options.out, surrogate::description(options),
                          options.grid);
}
