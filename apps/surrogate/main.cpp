// SPDX-License-Identifier: Apache-2.0
// empi-surrogate: four obstacles in a fluid channel, found from ten noisy sensors, or what a file of yours
// says, by workers that come and go. See docs/surrogate.md.
#include <elastic_master_worker.hpp>
#include <exception>

#include "apps/io/collective_try.hpp"
#include "apps/surrogate/app/options.hpp"
#include "apps/surrogate/app/solve.hpp"

int main(int argc, char** argv) {
  const surrogate::Options options = surrogate::parse_options(argc, argv);
  elastic::MasterWorker job(argc, argv);
  surrogate::Task task;
  try {
    io::prepare(job.joining(), [&] { task = surrogate::make_task(options); });
  } catch (const std::exception& error) {
    return io::refuse("empi-surrogate", error, job.joining());
  }
  return surrogate::solve(job, task.problem, options.settings, options.out, task.note, options.grid);
}
