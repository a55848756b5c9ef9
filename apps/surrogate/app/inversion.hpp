// SPDX-License-Identifier: Apache-2.0
// Bayesian inversion with a surrogate, seed 000 algorithm 7.3, as phases of independent tasks. Who computes
// which task does not matter: results are the same to the bit. Nothing here communicates.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/surrogate/grid/grid.hpp"
#include "apps/surrogate/sampler/tempering.hpp"

namespace surrogate {

struct Parameter {
  std::string name;          ///< parameter_names.hpp
  double low = 0, high = 1;  ///< the prior is uniform between them
};

/// What is to be found out: parameters, given measurements and a model of how they come about. To solve
/// another problem, fill in another one of these (docs/surrogate.md).
struct Problem {
  std::vector<Parameter> parameters;
  int outputs = 0;
  /// The forward model: parameters to outputs; the same outputs for the same parameters, to the bit. Called
  /// in one thread at a time. What it throws, and an output that is not finite, end the job.
  std::function<void(std::span<const double> parameters, std::span<double> outputs)> model;
  /// Measurements, one per output, with Gaussian noise of standard deviation `noise`. Without measurements
  /// they are made up: the outputs for `truth` plus noise of `relative_noise` times their mean magnitude,
  /// seed 000 equation (7.32).
  std::vector<double> observed;
  double noise = 0;
  std::vector<double> truth;
  double relative_noise = 0.1;
};

/// What the surrogate is refined by.
enum class RefineBy {
  Surplus,    ///< the surplus of points that are there: all their children are added
  Children,   ///< the surplus that points which are not there are expected to have
              ///< (sparse::Indicator::Children)
  Posterior,  ///< the same times the posterior's density, seed 000 equation (7.22)
};
/// "surplus", "children", "posterior". Throws std::invalid_argument for another name.
RefineBy refine_by_of(const std::string& name);
const char* name_of(RefineBy by);

struct Settings {
  sparse::Boundary boundary = sparse::Boundary::Modified;
  int level = 3;                    ///< of the regular grid that is built first
  double tolerance = 0.01;          ///< surrogate error, seed 000 equation (7.33), at which refining ends
  std::int64_t most_points = 4000;  ///< at which it ends too
  double growth = 0.5;              ///< points of a refinement, over those that are there
  RefineBy refine_by = RefineBy::Children;
  bool surrogate_error = true;   ///< its variance is added to the noise's in the likelihood
  int reference_points = 500;    ///< random points at which the error is measured
  int ensembles = 8;             ///< independent ensembles of chains, the tasks of sampling
  std::int64_t samples = 16000;  ///< of all ensembles together
  std::int64_t segment = 2000;   ///< steps that an ensemble does in one task
  /// Values (points times outputs) from which on they are hierarchised as tasks, too: below, every rank has
  /// done it for itself sooner than it could receive the result.
  std::int64_t hierarchise_as_tasks = 20'000'000;
  bool delayed_acceptance = false;  ///< correct the surrogate's error with the full model
  mcmc::Settings sampler;
  std::uint64_t seed = 1;  ///< of reference points and noise
};

enum class Stage : std::int32_t { Reference, Build, Hierarchise, Sample, Done };
const char* name_of(Stage stage);

/// One phase of independent tasks: task(index, row) fills row, width long.
struct Work {
  std::int64_t count = 0, width = 0;
  std::function<void(std::int64_t index, std::span<double> row)> task;
};

/// A build of the surrogate, as it was after a phase.
struct Build {
  double points = 0;
  double error = 0;  ///< seed 000 equation (7.33)
};

/// A phase that is over, for the record: times are of the clock of whoever wrote it down.
struct PhaseRecord {
  double begin = 0, end = 0;  ///< s since 1970
  Stage stage = Stage::Reference;
  std::int32_t workers = 0;  ///< at its end
  std::int64_t tasks = 0;
};

/// All that phases change: the same on every rank, and enough to go on from.
struct State {
  Stage stage = Stage::Reference;
  sparse::Boundary boundary = sparse::Boundary::Modified;  // of the grid
  std::int64_t phase = 0;                                  // phases that are over
  double noise = 0;
  std::vector<double> observed;
  std::vector<double> reference;      // outputs at the reference points
  std::vector<double> error_moments;  // of the surrogate after the last build: m x m, or m of many outputs
  std::vector<sparse::Node1> nodes;   // of the grid's points, with and without values
  std::vector<double> values;         // of those with values
  std::vector<Build> builds;
  std::vector<double> ensembles;  // packed
  std::vector<double> samples;    // per segment and ensemble: rows of d coordinates and the log density
  std::int64_t steps = 0;         // of each ensemble
  std::vector<PhaseRecord> log;   // kept by the caller
};

/// The phases: the forward model at reference points; at the points of the sparse grid, build by build; then
/// the chains, segment by segment.
///
///   while (!inversion.done()) {
///     const Work work = inversion.next();
///     inversion.absorb(rows of work.task(0), work.task(1), ...);
///   }
class Inversion {
 public:
  /// Throws std::invalid_argument for a problem or settings that make no sense. `grid`: a surrogate to start
  /// from, as an earlier run left it; it has to fit the problem, and is refined if the settings want it
  /// finer.
  Inversion(Problem problem, const Settings& settings, std::optional<sparse::Grid> grid = std::nullopt);

  bool done() const { return state_.stage == Stage::Done; }
  Work next();
  void absorb(std::span<const double> rows);

  State& state() { return state_; }
  const State& state() const { return state_; }
  /// After state() has been replaced by what another process has.
  void restore();

  const Problem& problem() const { return problem_; }
  const Settings& settings() const { return settings_; }
  const sparse::Grid& grid() const { return grid_; }
  int dimensions() const { return static_cast<int>(problem_.parameters.size()); }
  std::vector<mcmc::Ensemble> ensembles() const;
  /// Sample rows (d coordinates, log density) of each ensemble.
  std::vector<std::vector<double>> samples() const;
  /// How much of the sampling is done, 0 to 1.
  double progress() const;
  /// Of the surrogate's error that the likelihood has, root mean square over the outputs.
  double error_deviation() const;
  /// Of all that was computed: equal for runs that computed the same bits.
  std::uint64_t fingerprint() const;

 private:
  std::vector<double> reference_point(std::int64_t index) const;
  void to_parameters(std::span<const double> unit, std::span<double> parameters) const;
  void run_model(std::span<const double> parameters, std::span<double> outputs) const;
  double log_likelihood(std::span<const double> outputs, std::span<const double> factor) const;
  std::vector<double> error_factor() const;
  mcmc::Target target() const;
  Build measure_build();
  std::vector<double> likely_places() const;
  void absorb_reference(std::span<const double> rows);
  void absorb_values(std::span<const double> rows);
  void absorb_surpluses(std::span<const double> rows);
  void judge_build();
  std::pair<int, int> output_block(std::int64_t index) const;
  void absorb_segments(std::span<const double> rows);
  void begin_sampling();
  void keep_grid();
  std::int64_t all_steps() const;
  std::size_t segment_width(std::int64_t steps) const;
  std::int64_t next_steps() const;

  Problem problem_;
  Settings settings_;
  State state_;
  sparse::Grid grid_;
};

}  // namespace surrogate
