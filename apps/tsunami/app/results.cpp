#include "apps/tsunami/app/results.hpp"

#include <bit>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

#include "apps/mesh/mpi_check.hpp"
#include "apps/tsunami/io/gauge.hpp"

namespace tsunami {
namespace {

using nlohmann::json;

void write_text(const std::string& path, const std::string& text) {
  const std::string unfinished = path + ".part";
  std::ofstream file(unfinished);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path + ": is the folder writable and not full?");
  std::filesystem::rename(unfinished, path);
}

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

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
  std::filesystem::create_directories(folder);
  std::vector<std::filesystem::path> old;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (std::regex_match(entry.path().filename().string(), ours)) old.push_back(entry.path());
  for (const auto& path : old) std::filesystem::remove(path);
}

void write_progress(const std::string& folder, const Progress& p, bool force) {
  static double last = 0;
  const double now = wall_clock();
  if (!force && now < last + 0.5) return;
  last = now;
  write_text(folder + "/progress.json", json{{"time_s", p.time},
                                             {"end_s", p.end},
                                             {"cells", p.cells},
                                             {"ranks", p.ranks},
                                             {"step", p.steps},
                                             {"progress", p.end > 0 ? p.time / p.end : 0}}
                                            .dump());
  const std::string path = folder + "/cells.csv";
  const bool fresh = !std::filesystem::exists(path);
  std::ofstream file(path, std::ios::app);
  if (fresh) file << "wall_clock_s,simulated_s,cells,ranks\n";
  char line[96];
  std::snprintf(line, sizeof line, "%.3f,%.1f,%lld,%d\n", now, p.time, static_cast<long long>(p.cells),
                p.ranks);
  file << line;
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

double total(MPI_Comm world, double mine) {
  double all = 0;
  mesh::check_mpi(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, world), "adding up");
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
    write_text(folder + "/gauge-" + gauge.id + ".csv", text);
    gauges.push_back(compare(gauge, io::make_series(series[i].time, series[i].eta)));
  }
  char hash[20];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(s.hash));
  write_text(folder + "/tsunami.json", json{{"cells_final", s.cells},
                                            {"steps", s.steps},
                                            {"cell_updates", s.updates},
                                            {"volume_drift", s.volume_drift},
                                            {"finest_cell_km", s.finest_cell_km},
                                            {"state_hash", hash},
                                            {"case", s.description},
                                            {"gauges", gauges}}
                                           .dump(2));
}

}  // namespace tsunami
