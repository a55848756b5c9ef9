// empi-surrogate: four obstacles in a fluid channel, found from ten noisy sensors, by workers that come and
// go. See docs/inverse.md.
#include <elastic_master_worker.hpp>
#include <exception>

#include "apps/io/together.hpp"
#include "apps/surrogate/app/options.hpp"
#include "apps/surrogate/app/solve.hpp"

int main(int argc, char** argv) {
  const inverse::Options options = inverse::parse_options(argc, argv);
  elastic::MasterWorker job(argc, argv);
  inverse::Problem problem;
  try {
    const auto read = [&] { problem = inverse::channel_problem(options); };
    if (job.joining())
      read();
    else
      io::together(MPI_COMM_WORLD, read);
  } catch (const std::exception& error) {
    return io::refuse("empi-surrogate", error, job.joining());
  }
  return inverse::solve(job, problem, options.settings, options.out, inverse::description(options),
                        options.grid);
}
