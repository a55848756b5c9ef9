#include "apps/tsunami/app/results.hpp"

#include <bit>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <regex>

#include "apps/io/file_error.hpp"
#include "apps/io/run_folder.hpp"
#include "apps/mesh/mpi_check.hpp"
#include "apps/tsunami/io/gauge.hpp"

namespace tsunami {
namespace {

using nlohmann::json;

std::uint64_t mix(std::uint64_t x) {  // the finaliser of splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

json compare(const GaugeOption& gauge, const io::TimeSeries& computed) {
  json result = {{"id", gauge.id}, {"lon", gauge.lon}, {"lat", gauge.lat}};
  std::size_t highest = 0;
  for (std::size_t i = 1; i < computed.t.size(); ++i)
    if (computed.v[i] > computed.v[highest]) highest = i;
  result["max_m"] = computed.v[highest];
  result["arrival_of_max_s"] = computed.t[highest];
  result["rms_m"] = nullptr;
  result["correlation"] = nullptr;
  if (gauge.observed.empty()) return result;

  io::GaugeWindow window;
  window.end = std::min(window.end, computed.t.back());
  if (window.end < window.begin + 600) return result;  // the run ended before the wave
  const io::GaugeComparison c = io::compare_gauge(io::read_gauge(gauge.observed), computed, window);
  result["rms_m"] = c.rms;
  result["rms_observed_m"] = c.rms_observed;
  result["correlation"] = c.correlation;
  result["max_m"] = c.max_computed;
  result["arrival_of_max_s"] = c.time_max_computed;
  result["max_observed_m"] = c.max_observed;
  result["arrival_of_max_observed_s"] = c.time_max_observed;
  result["window_s"] = {window.begin, window.end};
  result["observed"] = gauge.observed;
  return result;
}

}  // namespace

void clear_results(const std::string& folder) {
  static const std::regex ours(
      R"((cells\.csv|progress\.json|resources\.png|tsunami\.(json|pvd)|tsunami-\d{4}(-\d+)?\.p?vtu)"
      R"(|snapshot-\d{4}\.bin|wave-\d{4}\.png|gauge-[^/]*\.(csv|png)))");
  io::clear_folder(folder, ours);
}

std::uint64_t state_hash(MPI_Comm world, swe::Solver& solver) {
  std::uint64_t sum = 0, all = 0;
  for (std::size_t i = 0; i < solver.cells(); ++i) {
    const swe::Cell c = solver.cell(i);
    std::uint64_t h = mix(solver.mesh().leaves()[i].bits);
    for (const double value : {c.eta, c.hu, c.hv, c.b}) h = mix(h ^ std::bit_cast<std::uint64_t>(value));
    sum += h;
  }
  mesh::check_mpi(MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, world), "hashing the state");
  return all;
}

void write_results(const std::string& folder, const Summary& s, const Scenario& scenario,
                   const std::vector<swe::GaugeSeries>& series) {
  json gauges = json::array();
  for (std::size_t i = 0; i < series.size(); ++i) {
    const GaugeOption& gauge = scenario.gauges[i];
    std::string text = "time_s,eta_m\n";
    char line[64];
    for (std::size_t k = 0; k < series[i].time.size(); ++k) {
      std::snprintf(line, sizeof line, "%.3f,%.6f\n", series[i].time[k], series[i].eta[k]);
      text += line;
    }
    io::write_text(folder + "/gauge-" + gauge.id + ".csv", text);
    gauges.push_back(compare(gauge, io::make_series(series[i].time, series[i].eta)));
  }
  io::write_text(folder + "/tsunami.json", json{{"cells_final", s.cells},
                                                {"steps", s.steps},
                                                {"cell_updates", s.updates},
                                                {"volume_drift", s.volume_drift},
                                                {"finest_cell_km", s.finest_cell_km},
                                                {"state_hash", io::hex(s.hash)},
                                                {"case", s.description},
                                                {"gauges", gauges}}
                                               .dump(2));
}

}  // namespace tsunami
