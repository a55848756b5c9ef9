// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/app/results.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <regex>

#include "apps/io/file_error.hpp"
#include "apps/io/run_folder.hpp"
#include "apps/mesh/mpi_check.hpp"
#include "apps/tsunami/io/gauge.hpp"
#include "runtime/base/hash.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/text.hpp"

namespace tsunami {
namespace {

using nlohmann::json;

json place_of(const GaugeOption& gauge) { return {{"id", gauge.id}, {"lon", gauge.lon}, {"lat", gauge.lat}}; }

json compare(const Gauge& gauge, const io::TimeSeries& computed) {
  json result = place_of(gauge);
  std::size_t highest = 0;
  for (std::size_t i = 1; i < computed.t.size(); ++i)
    if (computed.v[i] > computed.v[highest]) highest = i;
  result["max_m"] = computed.v[highest];
  result["arrival_of_max_s"] = computed.t[highest];
  result["rms_m"] = nullptr;
  result["correlation"] = nullptr;
  if (gauge.observed.empty()) return result;

  result["observed"] = gauge.observed;
  if (!gauge.remark.empty()) result["remark"] = gauge.remark;
  const auto window = judged_window(gauge, computed.t.front(), computed.t.back());
  if (!window) {
    result["not_judged"] =
        "less than ten minutes, or two samples, of the observed record are in its window and in the run";
    return result;
  }
  const io::GaugeComparison c = io::compare_gauge(gauge.record, computed, *window);
  const io::GaugeShift shift = io::best_shift(gauge.record, computed, *window);
  result["rms_m"] = c.rms;
  result["rms_observed_m"] = c.rms_observed;
  result["rms_shifted_m"] = shift.rms;
  result["best_shift_s"] = shift.seconds;
  result["correlation"] = c.correlation;
  result["samples"] = c.samples;
  result["max_m"] = c.max_computed;
  result["arrival_of_max_s"] = c.time_max_computed;
  result["max_observed_m"] = c.max_observed;
  result["arrival_of_max_observed_s"] = c.time_max_observed;
  result["window_s"] = {window->begin, window->end};
  return result;
}

}  // namespace

void clear_results(const std::string& folder) {
  static const std::regex ours(
      R"(index\.html|ground\.bin|progress\.json|(resources|profiles)\.png|map\.svg|maxima\.nc|tsunami\.(json|pvd)|tsunami-\d{4}(-\d+)?\.p?vtu)"
      R"(|wave-\d{4}\.png|gauge-[^/]*\.(csv|png))");
  io::clear_folder(folder, ours);
}

void clear_series(const std::string& folder) {
  static const std::regex ours(R"(cells\.csv|tsunami\.vtkhdf\.series|snapshot-\d{4}\.vtkhdf(\.part)?)");
  io::clear_folder(folder, ours);
}

template <class Stored>
std::uint64_t state_hash(MPI_Comm world, const swe::BasicSolver<Stored>& solver) {
  std::uint64_t sum = 0, all = 0;
  for (std::size_t i = 0; i < solver.cells(); ++i) {
    const swe::Cell c = solver.cell(i);
    std::uint64_t h = empi::mix64(solver.mesh().leaves()[i].bits);
    for (const double value : {c.eta, c.hu, c.hv, c.b})
      h = empi::mix64(h ^ std::bit_cast<std::uint64_t>(value));
    sum += h;
  }
  elastic::check_mpi(MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, world), "hashing the state");
  return all;
}
template std::uint64_t state_hash(MPI_Comm, const swe::Solver&);
template std::uint64_t state_hash(MPI_Comm, const swe::SingleSolver&);

void announce_results(const std::string& folder, const Scenario& scenario) {
  json gauges = json::array();
  for (const Gauge& gauge : scenario.gauges) {
    gauges.push_back(place_of(gauge));
    if (!gauge.observed.empty()) gauges.back()["observed"] = gauge.observed;
  }
  io::write_text(folder + "/tsunami.json",
                 json{{"case", scenario.description}, {"gauges", gauges}}.dump(2) + "\n");
}

void write_gauges(const std::string& folder, const Scenario& scenario,
                  const std::vector<swe::GaugeSeries>& series) {
  for (std::size_t i = 0; i < series.size(); ++i) {
    std::string text = "time_s,eta_m,depth_m,u_m_s,v_m_s,level\n";
    for (const auto& [time, eta, depth, u, v, level] : series[i].samples)
      text += empi::format("%.3f,%.6f,%.4f,%.6f,%.6f,%.0f\n", time, eta, depth, u, v, level);
    io::write_text(folder + "/gauge-" + scenario.gauges[i].id + ".csv", text);
  }
}

void write_results(const std::string& folder, const Summary& s, const Scenario& scenario,
                   const std::vector<swe::GaugeSeries>& series) {
  write_gauges(folder, scenario, series);
  json gauges = json::array();
  for (std::size_t i = 0; i < series.size(); ++i) {
    std::vector<double> times, surface;
    for (const swe::GaugeSample& sample : series[i].samples)
      times.push_back(sample.time), surface.push_back(sample.eta);
    gauges.push_back(compare(scenario.gauges[i], io::make_series(std::move(times), std::move(surface))));
  }
  json tasks = json::object();
  for (std::size_t task = 0; task < kTaskNames.size(); ++task)
    tasks[std::string(kTaskNames[task])] = s.tasks[task];
  io::write_text(folder + "/tsunami.json", empi::json_text::text({{"cells_final", s.cells},
                                                                  {"steps", s.steps},
                                                                  {"cell_updates", s.updates},
                                                                  {"volume_drift", s.volume_drift},
                                                                  {"volume_added", s.volume_added},
                                                                  {"volume_came_in", s.volume_came_in},
                                                                  {"finest_cell_km", s.finest_cell_km},
                                                                  {"state_hash", io::hex(s.hash)},
                                                                  {"case", s.description},
                                                                  {"seconds_by_task", tasks},
                                                                  {"gauges", gauges}},
                                                                 2));
}

}  // namespace tsunami
