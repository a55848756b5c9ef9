// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/app/solve.hpp"

#include <cstdio>
#include <exception>
#include <optional>

#include "apps/io/collective_try.hpp"
#include "apps/io/file_error.hpp"
#include "apps/io/run_folder.hpp"
#include "apps/surrogate/app/results.hpp"
#include "runtime/base/joined.hpp"

namespace surrogate {
namespace {

void print(const Inversion& inversion) {
  const State& s = inversion.state();
  const PhaseRecord& last = s.log.back();
  if (last.stage == Stage::Sample && s.stage != Stage::Done)
    return;  // segment by segment is too much to read
  std::printf("%s: %lld tasks on %d workers in %.1f s", name_of(last.stage),
              static_cast<long long>(last.tasks), last.workers, last.end - last.begin);
  if ((last.stage == Stage::Build || last.stage == Stage::Hierarchise) && s.stage != Stage::Hierarchise)
    std::printf("; surrogate of %.0f points, error %.4g", s.builds.back().points, s.builds.back().error);
  std::printf("\n");
  std::fflush(stdout);
}

void solve(elastic::MasterWorker& job, Inversion& inversion, const std::string& folder,
           const std::string& note) {
  State& s = inversion.state();
  const bool joining = job.joining();
  const std::string ours = describe_run(inversion.problem(), inversion.settings(), note);
  std::string of_values = ours;
  job.replicate(s.stage, s.boundary, s.phase, s.noise, s.observed, s.reference, s.error_moments, s.nodes,
                s.values, s.builds, s.ensembles, s.samples, s.steps, s.log, of_values);
  const bool restored = job.checkpoint();  // where and how often is the job's matter (spec.checkpoint)
  if (restored) io::expect_same_case(of_values, ours);
  if (joining || restored) inversion.restore();

  while (!job.left() && !inversion.done()) {
    const double begin = io::wall_clock();
    const Stage stage = s.stage;
    const Work work = inversion.next();
    const std::vector<double> rows = job.map_rows(work.count, work.width, work.task);
    if (job.left()) return;
    inversion.absorb(rows);
    s.log.push_back({begin, io::wall_clock(), stage, job.workers(), work.count});
    if (!job.master()) continue;
    write_progress(folder, note, inversion);
    print(inversion);
  }
}

}  // namespace

int solve(elastic::MasterWorker& job, const Problem& problem, const Settings& settings,
          const std::string& folder, const std::string& note, const std::string& grid) {
  std::optional<Inversion> inversion;
  try {
    io::prepare(job.joining(), [&] {
      std::optional<sparse::Grid> given;
      if (!grid.empty() && !job.joining()) {  // a joiner gets it from the others
        std::string about;
        given = sparse::Grid::load(grid, &about);
        check_model(grid, about, describe_model(problem, note));
      }
      inversion.emplace(problem, settings, std::move(given));
    });
    // After all that can be refused: until then the results of an earlier run are worth more.
    if (!job.joining()) io::on_first_rank(MPI_COMM_WORLD, [&] { clear_results(folder, grid); });
  } catch (const std::exception& error) {
    return io::refuse("inverse problem", error, job.joining());
  }
  try {
    solve(job, *inversion, folder, note);
  } catch (const std::exception& error) {  // the others wait for tasks, or for this one's
    std::fprintf(stderr, "inverse problem: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, io::FileError::exit_status);
  }
  try {
    if (!job.left() && job.master()) {
      if (const auto stuck = write_results(folder, note, *inversion); !stuck.empty())
        std::fprintf(
            stderr,
            "inverse problem: the chains are stuck, R-hat of %s is no finite number: these samples are no "
            "posterior; a larger noise or a longer burn-in may help\n",
            empi::joined(stuck).c_str());
    }
  } catch (const io::FileError& error) {  // the others are done
    return io::refuse("inverse problem", error, true);
  }
  return 0;
}

}  // namespace surrogate
