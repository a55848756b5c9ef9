// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/app/inversion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "apps/io/file_error.hpp"
#include "apps/surrogate/app/parameter_names.hpp"
#include "apps/surrogate/sampler/random.hpp"
#include "runtime/base/hash.hpp"
#include "runtime/base/text.hpp"

namespace surrogate {
namespace {

// Streams of random numbers beside the sampler's.
constexpr std::int64_t kBlock = 8;  // outputs that one task hierarchises
constexpr std::uint32_t kNoise = 0xfffffff0u, kReference = 0xfffffff1u;

void check(const Problem& p, const Settings& s) {
  const auto refuse = [](const std::string& what) {
    throw std::invalid_argument("inverse problem: " + what);
  };
  if (p.parameters.empty() || p.parameters.size() > 64) refuse("1 to 64 parameters expected");
  if (const auto bad = find_bad_name(p.parameters))
    refuse("parameter " + std::to_string(bad->parameter + 1) + ": expected as its name " + bad->expected +
           ", found " + bad->found);
  for (const Parameter& parameter : p.parameters)
    if (!(parameter.low < parameter.high)) refuse("the range of " + parameter.name + " is empty");
  if (p.outputs < 1) refuse("the model needs outputs");
  if (!p.model) refuse("there is no forward model");
  if (p.observed.empty() && p.truth.size() != p.parameters.size())
    refuse("measurements, or true parameters to make them from, expected");
  if (!p.observed.empty() && p.observed.size() != static_cast<std::size_t>(p.outputs))
    refuse(std::to_string(p.outputs) + " measurements expected, " + std::to_string(p.observed.size()) +
           " given");
  if (!p.observed.empty() && !(p.noise > 0))
    refuse("measurements need the standard deviation of their noise");
  if (p.observed.empty() && !(p.relative_noise > 0)) refuse("the noise must be positive");
  if (s.reference_points < 1) refuse("at least one reference point expected");
  if (!(s.tolerance >= 0) || !(s.growth > 0))
    refuse("the tolerance must not be negative, the growth positive");
  if (s.delayed_acceptance && s.sampler.rule == mcmc::SwapRule::Thesis)
    refuse("the thesis' rule of exchange does not go with delayed acceptance");
  if (s.ensembles < 1 || s.samples < 8 * s.ensembles || s.segment < 1)
    refuse("at least one ensemble, and 8 samples of each, expected");
}

void append(std::vector<double>& to, std::span<const double> from) {
  to.insert(to.end(), from.begin(), from.end());
}

// FNV-1a over words instead of bytes, with a shift besides.
std::uint64_t mix(std::uint64_t hash, std::span<const double> values) {
  for (const double value : values) {
    std::uint64_t bits = 0;
    static_assert(sizeof bits == sizeof value);
    std::copy_n(reinterpret_cast<const char*>(&value), sizeof value, reinterpret_cast<char*>(&bits));
    hash = (hash ^ bits) * empi::kFnv1aPrime;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

const char* name_of(Stage stage) {
  switch (stage) {
    case Stage::Reference:
      return "reference runs";
    case Stage::Build:
      return "surrogate";
    case Stage::Hierarchise:
      return "hierarchisation";
    case Stage::Sample:
      return "sampling";
    case Stage::Done:
      return "done";
  }
  return "";
}

RefineBy refine_by_of(const std::string& name) {
  for (const RefineBy by : {RefineBy::Surplus, RefineBy::Children, RefineBy::Posterior})
    if (name == name_of(by)) return by;
  throw std::invalid_argument("'" + name +
                              "' is nothing to refine by: surplus, children or posterior expected");
}

const char* name_of(RefineBy by) {
  return by == RefineBy::Surplus ? "surplus" : by == RefineBy::Children ? "children" : "posterior";
}

Inversion::Inversion(Problem problem, const Settings& settings, std::optional<sparse::Grid> grid)
    : problem_((check(problem, settings), std::move(problem))),
      settings_(settings),
      grid_(grid ? std::move(*grid) : sparse::Grid(dimensions(), problem_.outputs, settings_.boundary)) {
  if (grid_.dimensions() != dimensions() || grid_.outputs() != problem_.outputs)
    throw std::invalid_argument("inverse problem: the surrogate given is one of " +
                                std::to_string(grid_.dimensions()) + " parameters and " +
                                std::to_string(grid_.outputs()) + " outputs");
  state_.boundary = grid_.boundary();
  state_.observed = problem_.observed;
  state_.noise = problem_.noise;
  if (grid_.size() > 0) keep_grid();
  mcmc::make_ensemble(  // refuses settings of the sampler that make no sense, before any work is done
      {.low = std::vector<double>(1, 0.0),
       .high = std::vector<double>(1, 1.0),
       .log_density = [](auto) { return 0.0; }},
      settings_.sampler, 0);
}

void Inversion::keep_grid() {
  state_.nodes = grid_.all_nodes();
  for (std::size_t p = 0; p < grid_.size(); ++p) append(state_.values, grid_.values(p));
}

void Inversion::restore() {
  grid_ = sparse::Grid::of_nodes(dimensions(), problem_.outputs, state_.boundary, state_.nodes);
  grid_.append_values(state_.values);
  // Else the phase in hand is to bring the missing values, or the surpluses.
  if (grid_.size() > 0 && grid_.complete() && state_.stage != Stage::Hierarchise) grid_.hierarchise();
}

void Inversion::to_parameters(std::span<const double> unit, std::span<double> parameters) const {
  for (std::size_t k = 0; k < unit.size(); ++k) {
    const Parameter& p = problem_.parameters[k];
    parameters[k] = p.low + (p.high - p.low) * unit[k];
  }
}

std::vector<double> Inversion::reference_point(std::int64_t index) const {
  mcmc::Draws draws(settings_.seed, kReference, 0, static_cast<std::uint32_t>(index));
  std::vector<double> unit(problem_.parameters.size());
  for (double& u : unit) u = draws.uniform();
  return unit;
}

// An output that is no number would go into the surrogate, whose error could then not be judged.
void Inversion::run_model(std::span<const double> parameters, std::span<double> outputs) const {
  problem_.model(parameters, outputs);
  const auto bad = std::ranges::find_if_not(outputs, [](double y) { return std::isfinite(y); });
  if (bad == outputs.end()) return;
  std::string given;
  for (std::size_t k = 0; k < parameters.size(); ++k)
    given += (k > 0 ? ", " : "") + problem_.parameters[k].name + empi::format(" = %.17g", parameters[k]);
  throw io::FileError("forward model", "", "finite outputs for " + given,
                      "output " + std::to_string(bad - outputs.begin() + 1) + empi::format(" = %g", *bad),
                      "restrict the parameters' ranges to where the model has an answer");
}

Work Inversion::next() {
  const std::int64_t m = problem_.outputs;
  const auto d = static_cast<std::size_t>(dimensions());
  if (state_.stage == Stage::Reference) {
    const std::int64_t truth = state_.observed.empty() ? 1 : 0;
    return {settings_.reference_points + truth, m, [this, d](std::int64_t index, std::span<double> row) {
              std::vector<double> parameters(d);
              if (index == settings_.reference_points)
                parameters = problem_.truth;
              else
                to_parameters(reference_point(index), parameters);
              run_model(parameters, row);
            }};
  }
  if (state_.stage == Stage::Build) {
    const std::size_t first = grid_.filled();
    return {static_cast<std::int64_t>(grid_.size() - first), m,
            [this, d, first](std::int64_t index, std::span<double> row) {
              std::vector<double> unit(d), parameters(d);
              grid_.position(first + static_cast<std::size_t>(index), unit);
              to_parameters(unit, parameters);
              run_model(parameters, row);
            }};
  }
  if (state_.stage == Stage::Hierarchise) {
    const auto points = static_cast<std::int64_t>(grid_.size());
    return {(m + kBlock - 1) / kBlock, points * kBlock, [this](std::int64_t index, std::span<double> row) {
              const auto [first, last] = output_block(index);
              grid_.hierarchise(first, last);
              std::ranges::copy(grid_.surpluses(first, last), row.begin());
            }};
  }
  if (state_.stage == Stage::Done) throw std::logic_error("inverse problem: there is nothing left to do");
  const std::int64_t steps = next_steps();
  return {
      settings_.ensembles, static_cast<std::int64_t>(segment_width(steps)),
      [this, d, steps](std::int64_t index, std::span<double> row) {
        const std::size_t packed = mcmc::packed_size(dimensions(), settings_.sampler.chains);
        const mcmc::Target density = target();
        mcmc::Ensemble ensemble =
            state_.ensembles.empty()
                ? mcmc::make_ensemble(density, settings_.sampler, static_cast<std::uint32_t>(index))
                : mcmc::unpack(
                      std::span(state_.ensembles).subspan(static_cast<std::size_t>(index) * packed, packed),
                      dimensions(), settings_.sampler.chains);
        std::vector<double> samples;
        mcmc::advance(density, settings_.sampler, ensemble, steps, samples);
        const std::vector<double> now = mcmc::pack(ensemble);
        std::ranges::copy(now, row.begin());
        std::ranges::copy(samples, row.begin() + static_cast<std::ptrdiff_t>(packed));
      }};
}

void Inversion::absorb(std::span<const double> rows) {
  ++state_.phase;
  switch (state_.stage) {
    case Stage::Reference:
      return absorb_reference(rows);
    case Stage::Build:
      return absorb_values(rows);
    case Stage::Hierarchise:
      return absorb_surpluses(rows);
    case Stage::Sample:
      return absorb_segments(rows);
    case Stage::Done:
      return;
  }
}

void Inversion::absorb_reference(std::span<const double> rows) {
  const auto m = static_cast<std::size_t>(problem_.outputs);
  const std::size_t count = static_cast<std::size_t>(settings_.reference_points) * m;
  state_.reference.assign(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count));
  if (state_.observed.empty()) {
    state_.observed.assign(rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end());
    double sum = 0;
    for (const double y : state_.observed) sum += std::abs(y);
    state_.noise = problem_.relative_noise * sum / static_cast<double>(m);
    if (!(state_.noise > 0) || !std::isfinite(state_.noise))
      throw io::FileError("measurements made from the truth", "",
                          "outputs that are not all 0, for the noise is a part of their mean",
                          "a mean of " + std::to_string(sum / static_cast<double>(m)),
                          "give measurements and their noise, or another truth");
    mcmc::Draws draws(settings_.seed, kNoise, 0, 0);
    for (double& y : state_.observed) y += state_.noise * draws.normal();
  }
  state_.stage = Stage::Build;
  if (grid_.size() > 0) return judge_build();  // it was given
  grid_.add_regular(settings_.level);
  state_.nodes = grid_.all_nodes();
}

void Inversion::absorb_values(std::span<const double> rows) {
  append(state_.values, rows);
  grid_.append_values(rows);
  if (static_cast<std::int64_t>(state_.values.size()) >= settings_.hierarchise_as_tasks) {
    state_.stage = Stage::Hierarchise;
    return;
  }
  grid_.hierarchise();
  judge_build();
}

std::pair<int, int> Inversion::output_block(std::int64_t index) const {
  const int first = static_cast<int>(index * kBlock);
  return {first, std::min(first + static_cast<int>(kBlock), problem_.outputs)};
}

void Inversion::absorb_surpluses(std::span<const double> rows) {
  const std::size_t width = grid_.size() * static_cast<std::size_t>(kBlock);
  for (std::int64_t index = 0; static_cast<std::size_t>(index) * width < rows.size(); ++index) {
    const auto [first, last] = output_block(index);
    grid_.set_surpluses(first, last,
                        rows.subspan(static_cast<std::size_t>(index) * width,
                                     grid_.size() * static_cast<std::size_t>(last - first)));
  }
  state_.stage = Stage::Build;
  judge_build();
}

// Refines the surrogate, or is content with it.
void Inversion::judge_build() {
  const auto points = static_cast<std::int64_t>(grid_.size());
  state_.builds.push_back(measure_build());
  const std::int64_t room = settings_.most_points - points;
  if (state_.builds.back().error > settings_.tolerance && room > 0) {
    const auto wanted =
        std::max<std::int64_t>(1, std::llround(settings_.growth * static_cast<double>(points)));
    std::vector<double> samples;
    if (settings_.refine_by == RefineBy::Posterior) samples = likely_places();
    grid_.refine({.most_points = static_cast<std::size_t>(std::min(room, wanted)),
                  .by = settings_.refine_by == RefineBy::Surplus ? sparse::Indicator::Surplus
                                                                 : sparse::Indicator::Children,
                  .samples = samples});
    state_.nodes = grid_.all_nodes();
  }
  if (grid_.complete()) begin_sampling();
}

void Inversion::begin_sampling() {
  state_.stage = Stage::Sample;
  state_.ensembles.clear();
}

// Seed 000 equation (7.23), over the unit cube.
mcmc::Target Inversion::target() const {
  const auto d = static_cast<std::size_t>(dimensions());
  const auto inside = [](std::span<const double> unit) {
    return std::ranges::all_of(unit, [](double u) { return u >= 0 && u <= 1; });
  };
  mcmc::Target target{std::vector<double>(d, 0.0), std::vector<double>(d, 1.0), nullptr, nullptr};
  const auto m = static_cast<std::size_t>(problem_.outputs);
  target.log_density = [this, inside, y = std::vector<double>(m),
                        factor = settings_.surrogate_error ? error_factor() : std::vector<double>()](
                           std::span<const double> unit) mutable {
    if (!inside(unit)) return -std::numeric_limits<double>::infinity();
    grid_.evaluate(unit, y);
    return log_likelihood(y, factor);
  };
  if (settings_.delayed_acceptance)
    target.exact = [this, d, y = std::vector<double>(m)](std::span<const double> unit) mutable {
      std::vector<double> parameters(d);
      to_parameters(unit, parameters);
      run_model(parameters, y);
      return log_likelihood(y, {});
    };
  return target;
}

std::int64_t Inversion::all_steps() const {
  const std::int64_t each = (settings_.samples + settings_.ensembles - 1) / settings_.ensembles;
  return settings_.sampler.burn_in + each * settings_.sampler.thin;
}

std::int64_t Inversion::next_steps() const { return std::min(settings_.segment, all_steps() - state_.steps); }

std::size_t Inversion::segment_width(std::int64_t steps) const {
  const long samples = mcmc::samples_in(settings_.sampler, static_cast<std::uint64_t>(state_.steps), steps);
  return mcmc::packed_size(dimensions(), settings_.sampler.chains) +
         static_cast<std::size_t>(samples) * (problem_.parameters.size() + 1);
}

void Inversion::absorb_segments(std::span<const double> rows) {
  const std::size_t packed = mcmc::packed_size(dimensions(), settings_.sampler.chains);
  const std::size_t width = segment_width(next_steps());
  state_.ensembles.clear();
  for (std::size_t n = 0; n < static_cast<std::size_t>(settings_.ensembles); ++n) {
    append(state_.ensembles, rows.subspan(n * width, packed));
    append(state_.samples, rows.subspan(n * width + packed, width - packed));
  }
  state_.steps += next_steps();
  if (state_.steps >= all_steps()) state_.stage = Stage::Done;
}

std::vector<mcmc::Ensemble> Inversion::ensembles() const {
  const std::size_t packed = mcmc::packed_size(dimensions(), settings_.sampler.chains);
  std::vector<mcmc::Ensemble> result;
  for (std::size_t at = 0; at < state_.ensembles.size(); at += packed)
    result.push_back(mcmc::unpack(std::span(state_.ensembles).subspan(at, packed), dimensions(),
                                  settings_.sampler.chains));
  return result;
}

std::vector<std::vector<double>> Inversion::samples() const {
  const auto count = static_cast<std::size_t>(settings_.ensembles);
  std::vector<std::vector<double>> result(count);
  std::size_t at = 0;
  for (std::int64_t step = 0; step < state_.steps; step += settings_.segment) {
    const std::int64_t steps = std::min(settings_.segment, state_.steps - step);
    const auto numbers = static_cast<std::size_t>(
                             mcmc::samples_in(settings_.sampler, static_cast<std::uint64_t>(step), steps)) *
                         (problem_.parameters.size() + 1);
    for (std::size_t n = 0; n < count; ++n, at += numbers)
      append(result[n], std::span(state_.samples).subspan(at, numbers));
  }
  return result;
}

double Inversion::progress() const {
  return static_cast<double>(state_.steps) / static_cast<double>(all_steps());
}

std::uint64_t Inversion::fingerprint() const {
  std::uint64_t hash = empi::kFnv1aStart;
  for (const auto* v :
       {&state_.observed, &state_.reference, &state_.values, &state_.ensembles, &state_.samples})
    hash = mix(hash, *v);
  for (const Build& build : state_.builds) hash = mix(hash, std::vector{build.points, build.error});
  return hash;
}

}  // namespace surrogate
