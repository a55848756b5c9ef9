// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/app/options.hpp"

#include <memory>
#include <nlohmann/json.hpp>

#include "apps/io/file_error.hpp"
#include "apps/io/input_file.hpp"
#include "apps/io/run_folder.hpp"
#include "apps/io/text_scanner.hpp"
#include "apps/surrogate/external/journal.hpp"
#include "apps/surrogate/external/model.hpp"
#include "apps/surrogate/external/problem_file.hpp"
#include "runtime/base/options.hpp"

namespace surrogate {
namespace {

constexpr const char* kCoordinates[] = {"x", "y"};

void check(const Options& o) {
  const auto refuse = [](const std::string& what) { throw empi::options::Refused("empi-surrogate", what); };
  for (std::size_t k = 0; k < o.truth.size(); ++k) {
    const auto& obstacle = o.channel.obstacles[k / 2];
    const flow::Interval& range = k % 2 == 0 ? obstacle.x : obstacle.y;
    if (!(o.truth[k] >= range.low && o.truth[k] <= range.high))
      refuse("--truth: " + std::string(kCoordinates[k % 2]) + " of obstacle " + std::to_string(k / 2 + 1) +
             " is " + std::to_string(o.truth[k]) + ", outside of its section, " + std::to_string(range.low) +
             " to " + std::to_string(range.high) + " m");
  }
  if (!o.observed.empty() && !(o.sigma > 0))
    refuse("--observed needs --sigma, the standard deviation of its noise");
  if (!o.problem.empty() && !o.observed.empty())
    refuse("--observed is for the channel: the file of --problem has measurements of its own");
}

// Numbers separated by blanks, commas or ends of lines; # starts a comment.
std::vector<double> read_numbers(const std::string& path, std::size_t count) {
  const io::InputFile file(path);
  io::TextScanner scanner(path, file.text());
  std::vector<double> numbers;
  while (const auto line = scanner.next_line())
    for (const std::string_view word : io::TextScanner::words(line->substr(0, line->find('#'))))
      if (!io::TextScanner::parse(word, numbers.emplace_back()))
        scanner.fail("a velocity in m/s", io::in_quotes(word), "correct the file");
  if (numbers.size() != count)
    throw io::FileError(
        path, "", std::to_string(count) + " velocities (every sensor at the first time, then at the next)",
        std::to_string(numbers.size()), "complete the file");
  return numbers;
}

empi::options::OptionList sampler_options(Settings& s, std::string& rule) {
  using namespace empi::options;
  mcmc::Settings& sampler = s.sampler;
  return {
      {"--ensembles",
       &s.ensembles,
       "independent ensembles of chains: the tasks of sampling",
       {.check = in_range(1, 100000), .shows_default = true}},
      {"--chains",
       &sampler.chains,
       "temperatures of an ensemble",
       {.check = in_range(1, 1000), .shows_default = true}},
      {"--samples",
       &s.samples,
       "samples of all ensembles together",
       {.check = in_range(std::int64_t{8}, std::int64_t{1} << 40), .shows_default = true}},
      {"--burn-in",
       &sampler.burn_in,
       "steps in which proposals and temperatures adapt",
       {.check = not_negative(), .shows_default = true}},
      {"--thin", &sampler.thin, "steps between samples", {.check = positive(), .shows_default = true}},
      {"--swap-every",
       &sampler.swap_every,
       "steps between exchanges of neighbouring temperatures",
       {.check = positive(), .shows_default = true}},
      {"--swap-rule",
       &rule,
       "acceptance of an exchange: by the ratio of densities, or as in the thesis",
       {.check = one_of("ratio", "thesis"), .shows_default = true}},
      {"--segment",
       &s.segment,
       "steps of an ensemble in one task",
       {.check = positive(), .shows_default = true}},
      {"--delayed-acceptance", &s.delayed_acceptance,
       "correct the surrogate's error: the full model decides on what the surrogate has accepted"},
  };
}

empi::options::OptionList surrogate_options(Settings& s, std::string& boundary, std::string& refine_by,
                                            bool& ignore_error) {
  using namespace empi::options;
  return {
      {"--boundary",
       &boundary,
       "basis at the border of the parameters' range",
       {.check = one_of("none", "points", "modified"), .shows_default = true}},
      {"--level",
       &s.level,
       "of the regular sparse grid to begin with",
       {.check = in_range(1, 12), .shows_default = true}},
      {"--tolerance",
       &s.tolerance,
       "surrogate error at which refining ends",
       {.check = in_range(0.0, 1.0), .shows_default = true}},
      {"--most-points",
       &s.most_points,
       "grid points at which refining ends",
       {.check = in_range(std::int64_t{1}, std::int64_t{100'000'000}), .shows_default = true}},
      {"--growth",
       &s.growth,
       "points of a refinement over those that are there",
       {.check = in_range(0.001, 100.0), .shows_default = true}},
      {"--refine-by",
       &refine_by,
       "where points are added: at the largest surpluses, at the largest that new points are expected to "
       "have "
       "(fewest runs for a tolerance), or at those times the posterior's density (fewest for a posterior; "
       "give "
       "--most-points)",
       {.check = one_of("surplus", "children", "posterior"), .shows_default = true}},
      {"--ignore-surrogate-error", &ignore_error,
       "take the surrogate for the model: the covariance of its error is not added to the noise's"},
      {"--reference-points",
       &s.reference_points,
       "random points at which the error is measured",
       {.check = in_range(1, 1'000'000), .shows_default = true}},
  };
}

}  // namespace

Options parse_options(int argc, char** argv) {
  namespace options = empi::options;
  Options o;
  o.out = io::default_folder();
  std::string boundary = sparse::name_of(o.settings.boundary), rule = "ratio";
  std::string refine_by = name_of(o.settings.refine_by);
  bool ignore_error = false;

  options::Program program{
      .what =
          "Finds four obstacles in a fluid channel from ten noisy sensors: a sparse-grid surrogate of the "
          "flow, "
          "then\n"
          "parallel tempering. Malleable under an Elastic MPI agent; alone or under mpirun it runs at a "
          "fixed "
          "size.",
      .reads_file = true,
      .options = {
          {"--cells",
           &o.channel.cells_across,
           "cells across the channel; 5 times as many along it",
           {.check = options::in_range(4, 2000), .shows_default = true}},
          {"--reynolds",
           &o.channel.reynolds,
           "inflow velocity * height / viscosity",
           {.check = options::in_range(0.1, 1000.0), .shows_default = true}},
          {"--truth",
           &o.truth,
           "true centres of the obstacles, x and y in turn, m: the measurements are made from them",
           {.shows_default = true, .count = static_cast<int>(o.truth.size())}},
          {"--noise",
           &o.relative_noise,
           "of made-up measurements, over their mean",
           {.check = options::in_range(1e-6, 10.0), .shows_default = true}},
          {"--observed", &o.observed, "file of measurements instead"},
          {"--sigma", &o.sigma, "standard deviation of their noise, m/s", {.check = options::positive()}},
          {"--problem", &o.problem,
           "file of another inverse problem, instead of the channel: its forward model is a program of "
           "yours"},
          {"--journal", &o.journal,
           "folder in which finished forward runs are kept, and found again; empty it when the model "
           "changes"},
          {"--grid", &o.grid,
           "surrogate to start from (surrogate.grid of an earlier run, also of one that did not end)"},
          {"--seed", &o.settings.seed, "of noise, reference points and chains", {.shows_default = true}},
          {"--out", &o.out, "folder for results", {.shows_default = true}},
      }};
  for (const auto& more :
       {surrogate_options(o.settings, boundary, refine_by, ignore_error), sampler_options(o.settings, rule)})
    program.options.insert(program.options.end(), more.begin(), more.end());
  options::read_or_exit(program, argc, argv, [&] {
    o.settings.boundary = sparse::boundary_of(boundary);
    o.settings.refine_by = refine_by_of(refine_by);
    o.settings.surrogate_error = !ignore_error;
    o.settings.sampler.rule = mcmc::swap_rule_of(rule);
    o.settings.sampler.seed = o.settings.seed;
    check(o);
  });
  return o;
}

Problem channel_problem(const Options& o) {
  Problem problem;
  for (std::size_t k = 0; k < o.channel.obstacles.size(); ++k) {
    const auto& obstacle = o.channel.obstacles[k];
    const std::string number = std::to_string(k + 1);
    problem.parameters.push_back({"x" + number, obstacle.x.low, obstacle.x.high});
    problem.parameters.push_back({"y" + number, obstacle.y.low, obstacle.y.high});
  }
  problem.outputs = o.channel.outputs();
  problem.model = [channel = std::make_shared<flow::Channel>(o.channel)](std::span<const double> centres,
                                                                         std::span<double> velocities) {
    channel->run(centres, velocities);
  };
  problem.truth = o.truth;
  problem.relative_noise = o.relative_noise;
  if (!o.observed.empty()) {
    problem.observed = read_numbers(o.observed, static_cast<std::size_t>(problem.outputs));
    problem.noise = o.sigma;
    problem.truth.clear();
  }
  return problem;
}

Task make_task(const Options& o) {
  Task task;
  std::string model;
  if (o.problem.empty()) {
    const int n = o.channel.cells_across;
    const nlohmann::json note = {{"case", "four obstacles in a channel of 10 m x 2 m, " +
                                              std::to_string(5 * n) + " x " + std::to_string(n) + " cells"},
                                 {"cells", n},
                                 {"reynolds", o.channel.reynolds}};
    task = {channel_problem(o), note.dump()};
    model = task.note;
  } else {
    ExternalProblem given = read_problem(o.problem);
    model = identity(given.external);
    task = {std::move(given.problem), nlohmann::json{{"case", o.problem}, {"model", model}}.dump()};
    task.problem.model = make_model(given.external);
  }
  if (!o.journal.empty())
    task.problem.model = with_journal(std::move(task.problem.model), o.journal, model,
                                      static_cast<int>(task.problem.parameters.size()), task.problem.outputs);
  return task;
}

}  // namespace surrogate
