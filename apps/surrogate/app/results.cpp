// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/app/results.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <span>

#include "apps/io/file_error.hpp"
#include "apps/io/run_folder.hpp"
#include "apps/surrogate/app/posterior_file.hpp"
#include "apps/surrogate/sampler/diagnostics.hpp"
#include "runtime/base/hash.hpp"
#include "runtime/base/text.hpp"

namespace surrogate {
namespace {

using nlohmann::json;

json builds_of(const Inversion& inversion) {
  json list = json::array();
  for (const Build& build : inversion.state().builds)
    list.push_back({{"points", build.points}, {"error", build.error}});
  return list;
}

json parameter(const Inversion& inversion, std::size_t k, const mcmc::Sequences& values) {
  const Problem& problem = inversion.problem();
  const Parameter& p = problem.parameters[k];
  const double q05 = mcmc::quantile(values, 0.05), q95 = mcmc::quantile(values, 0.95);
  json result = {{"name", p.name},
                 {"low", p.low},
                 {"high", p.high},
                 {"mean", mcmc::mean(values)},
                 {"sd", mcmc::standard_deviation(values)},
                 {"q05", q05},
                 {"q50", mcmc::quantile(values, 0.5)},
                 {"q95", q95},
                 {"split_rhat", mcmc::split_rhat(values)},
                 {"bulk_ess", mcmc::bulk_ess(values)},
                 {"mcse", mcmc::mcse(values)}};
  if (!problem.truth.empty()) {
    result["true"] = problem.truth[k];
    result["inside_90"] = problem.truth[k] >= q05 && problem.truth[k] <= q95;
  }
  return result;
}

// Parameter k of the samples in its own unit.
mcmc::Sequences values_of(const Inversion& inversion, std::size_t k) {
  const std::size_t width = inversion.problem().parameters.size() + 1;
  const Parameter& p = inversion.problem().parameters[k];
  mcmc::Sequences result;
  for (const auto& rows : inversion.samples()) {
    auto& values = result.emplace_back();
    for (std::size_t at = 0; at < rows.size(); at += width)
      values.push_back(p.low + (p.high - p.low) * rows[at + k]);
  }
  return result;
}

// Shares of accepted moves and exchanges, over all ensembles.
json rates_of(const Inversion& inversion) {
  const auto ensembles = inversion.ensembles();
  const std::size_t chains = ensembles[0].chains.size();
  const auto share = [&](std::vector<double> mcmc::Ensemble::* part,
                         std::vector<double> mcmc::Ensemble::* whole, std::size_t count) {
    json list = json::array();
    for (std::size_t c = 0; c < count; ++c) {
      double a = 0, b = 0;
      for (const auto& e : ensembles) a += (e.*part)[c], b += (e.*whole)[c];
      list.push_back(b > 0 ? json(a / b) : json());
    }
    return list;
  };
  json temperatures = json::array();
  for (std::size_t c = 0; c < chains; ++c)
    temperatures.push_back(1 / ensembles[0].chains[c].inverse_temperature);
  double exact = 0;
  for (const auto& e : ensembles) exact += e.exact_calls;
  return {{"acceptance", share(&mcmc::Ensemble::accepted, &mcmc::Ensemble::proposed, chains)},
          {"swaps", share(&mcmc::Ensemble::swapped, &mcmc::Ensemble::tried, chains - 1)},
          {"temperatures_of_first", temperatures},
          {"full_model_runs", exact}};
}

std::string phase_text(const State& state) {
  if (state.builds.empty()) return name_of(state.stage);
  const Build& last = state.builds.back();
  return empi::format("%s, grid of %.0f points, error %.4g", name_of(state.stage), last.points, last.error);
}

// Every bit of the parameters: a range may be narrow, and far from 0.
void write_samples(const std::string& path, const Inversion& inversion) {
  const auto& parameters = inversion.problem().parameters;
  std::string text = "ensemble";
  for (const Parameter& p : parameters) text += "," + p.name;
  text += ",log_density\n";
  int ensemble = 0;
  for (const auto& rows : inversion.samples()) {
    for (std::size_t at = 0; at < rows.size(); at += parameters.size() + 1) {
      text += std::to_string(ensemble);
      for (std::size_t k = 0; k < parameters.size(); ++k)
        text += empi::format(",%.17g",
                             parameters[k].low + (parameters[k].high - parameters[k].low) * rows[at + k]);
      text += empi::format(",%.4f\n", rows[at + parameters.size()]);
    }
    ++ensemble;
  }
  io::write_text(path, text);
}

}  // namespace

std::string describe_model(const Problem& problem, const std::string& note) {
  json about = json::parse(note);
  for (const Parameter& p : problem.parameters)
    about["parameters"].push_back({{"name", p.name}, {"low", p.low}, {"high", p.high}});
  return about.dump();
}

std::string describe_run(const Problem& problem, const Settings& s, const std::string& note) {
  const mcmc::Settings& chains = s.sampler;
  const auto exactly = [](const auto& value) { return json(value).dump(); };
  return describe_model(problem, note) + "; " + std::to_string(problem.outputs) + " outputs" +
         (problem.observed.empty()
              ? "; made-up measurements, noise of " + exactly(problem.relative_noise) + " of their mean"
              : "; measurements " + io::hex(empi::fnv1a(std::as_bytes(std::span(problem.observed)))) +
                    ", noise " + exactly(problem.noise)) +
         "; truth " + exactly(problem.truth) +
         empi::format(
             "; %s boundary; level %d, tolerance %g, growth %g by %s, at most %lld points, %d reference "
             "points",
             sparse::name_of(s.boundary), s.level, s.tolerance, s.growth, name_of(s.refine_by),
             static_cast<long long>(s.most_points), s.reference_points) +
         empi::format(
             "; %d ensembles of %d chains, %lld samples in segments of %lld, %lld burnt in, seed %llu",
             s.ensembles, s.sampler.chains, static_cast<long long>(s.samples),
             static_cast<long long>(s.segment), static_cast<long long>(s.sampler.burn_in),
             static_cast<unsigned long long>(s.seed)) +
         empi::format("; each %d steps a sample; exchanges each %d steps by %s", chains.thin,
                      chains.swap_every, chains.rule == mcmc::SwapRule::Thesis ? "thesis" : "ratio") +
         empi::format(
             "; acceptance %g, of exchanges %g; hottest %g; proposals' spread %g, single %g; chains' seed "
             "%llu",
             chains.acceptance, chains.swap_acceptance, chains.hottest, chains.spread, chains.single,
             static_cast<unsigned long long>(chains.seed)) +
         (s.delayed_acceptance ? "; delayed acceptance" : "") +
         (s.surrogate_error ? "" : "; surrogate error ignored");
}

void check_model(const std::string& path, const std::string& theirs, const std::string& ours) {
  const json before = json::parse(theirs), now = json::parse(ours);
  for (const auto& [key, value] : now.items())
    if (before.contains(key) && before[key] != value)
      throw io::FileError(path, "", "a surrogate of this model, with '" + key + "' " + value.dump(),
                          before[key].dump(), "give the options that it was built with, or build another");
}

void clear_results(const std::string& folder, const std::string& keep) {
  static const std::regex ours(
      R"(index\.html|posterior\.nc|(phases|samples)\.csv|progress\.json|surrogate\.(json|grid)|channel-\d\.vtu)"
      R"(|(marginals|corner|channel|traces|error|resources)\.png)");
  io::clear_folder(folder, ours, keep);
}

void write_progress(const std::string& folder, const std::string& note, const Inversion& inversion) {
  const State& state = inversion.state();
  const PhaseRecord& last = state.log.back();
  std::string text = "begin_s,end_s,stage,tasks,workers\n";
  for (const PhaseRecord& p : state.log)
    text += empi::format("%.3f,%.3f,%s,%lld,%d\n", p.begin, p.end, name_of(p.stage),
                         static_cast<long long>(p.tasks), p.workers);
  io::write_text(folder + "/phases.csv", text);
  // How much there is to do is known while sampling only: before, the error decides.
  json progress = {{"phase", phase_text(state)},
                   {"workers", last.workers},
                   {"builds", builds_of(inversion)},
                   {"boundary", sparse::name_of(inversion.grid().boundary())},
                   {"reference_points", inversion.settings().reference_points}};
  const json about = json::parse(note);
  for (const char* key : {"case", "reynolds"})  // by which the report knows what is solved
    if (about.contains(key)) progress[key] = about[key];
  if (state.stage == Stage::Sample || state.stage == Stage::Done) progress["progress"] = inversion.progress();
  io::write_text(folder + "/progress.json", progress.dump());
  if (state.builds.empty() || state.stage == Stage::Hierarchise || last.stage == Stage::Sample) return;
  json model = json::parse(describe_model(inversion.problem(), note));
  model["builds"] = builds_of(inversion);
  inversion.grid().save(folder + "/surrogate.grid", model.dump());
}

std::vector<std::string> write_results(const std::string& folder, const std::string& note,
                                       const Inversion& inversion) {
  const State& state = inversion.state();
  const Settings& settings = inversion.settings();
  json parameters = json::array();
  std::vector<std::string> stuck;
  double worst_rhat = 0, least_ess = 1e300;
  for (std::size_t k = 0; k < inversion.problem().parameters.size(); ++k) {
    parameters.push_back(parameter(inversion, k, values_of(inversion, k)));
    const auto rhat = parameters.back()["split_rhat"].get<double>();
    if (!std::isfinite(rhat)) stuck.push_back(inversion.problem().parameters[k].name);
    if (std::isnan(rhat) || rhat > worst_rhat) worst_rhat = rhat;  // once NaN, it stays: nothing is more
    least_ess = std::min(least_ess, parameters.back()["bulk_ess"].get<double>());
  }
  json results = json::parse(note);
  results.update(json{{"boundary", sparse::name_of(inversion.grid().boundary())},
                      {"grid_points", inversion.grid().size()},
                      {"surrogate_error", state.builds.back().error},
                      {"reference_points", settings.reference_points},
                      {"builds", builds_of(inversion)},
                      {"noise_sd", state.noise},
                      {"surrogate_sd", inversion.error_deviation()},
                      {"observed", state.observed},
                      {"delayed_acceptance", settings.delayed_acceptance},
                      {"parameters", parameters},
                      {"worst_split_rhat", worst_rhat},
                      {"least_bulk_ess", least_ess},
                      {"stuck", stuck},
                      {"rates", rates_of(inversion)},
                      {"fingerprint", io::hex(inversion.fingerprint())}});
  io::write_text(folder + "/surrogate.json", results.dump(2));
  write_samples(folder + "/samples.csv", inversion);
  write_posterior(folder + "/posterior.nc", inversion);
  return stuck;
}

}  // namespace surrogate
