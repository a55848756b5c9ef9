// empi-surrogate-report DIR: pictures of what empi-surrogate (and `empi run`) left in DIR.
#include <algorithm>
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/io/draw/chart.hpp"
#include "apps/io/file_error.hpp"
#include "apps/surrogate/report/pictures.hpp"

namespace {

namespace fs = std::filesystem;
using inverse::Marginal;
using nlohmann::json;

json read_json(const fs::path& path) {
  const std::vector<char> bytes = io::read_bytes(path);
  json value = json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (!value.is_object())
    throw io::FileError(path, "", "a JSON object", "something else", "run empi-surrogate again");
  return value;
}

// The fields of a comma separated file without its header line.
std::vector<std::vector<std::string>> read_table(const fs::path& path, std::size_t columns) {
  std::ifstream file(path);
  std::vector<std::vector<std::string>> rows;
  std::string text, field;
  std::getline(file, text);
  for (std::size_t number = 2; std::getline(file, text); ++number) {
    std::istringstream fields(text);
    auto& row = rows.emplace_back();
    while (std::getline(fields, field, ',')) row.push_back(field);
    if (row.size() < columns)
      throw io::FileError::at_line(path, number, std::to_string(columns) + " fields",
                                   std::to_string(row.size()), "run empi-surrogate again");
  }
  return rows;
}

double number(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

std::vector<Marginal> marginals_of(const fs::path& dir, const json& results) {
  std::vector<Marginal> marginals;
  for (const json& p : results.at("parameters")) {
    Marginal m{p.at("name"), {p.at("low"), p.at("high")}, p.at("mean"), p.at("q05"), p.at("q95"), {}, {}};
    if (p.contains("true")) m.truth = p["true"].get<double>();
    marginals.push_back(std::move(m));
  }
  for (const auto& row : read_table(dir / "samples.csv", marginals.size() + 1)) {
    const auto ensemble = static_cast<std::size_t>(number(row[0]));
    for (std::size_t k = 0; k < marginals.size(); ++k) {
      auto& samples = marginals[k].samples;
      if (ensemble >= samples.size()) samples.resize(ensemble + 1);
      samples[ensemble].push_back(number(row[k + 1]));
    }
  }
  return marginals;
}

void draw_error(const fs::path& dir, const json& results) {
  io::draw::Series line{"error", {}, {}, io::draw::Style::Line}, points{"", {}, {}, io::draw::Style::Points};
  for (const json& build : results.at("builds")) {
    line.x.push_back(std::log10(build.at("points").get<double>()));
    line.y.push_back(std::log10(std::max(1e-16, build.at("error").get<double>())));
  }
  points.x = line.x;
  points.y = line.y;
  points.colour = io::draw::category(0);
  line.name = "";
  io::draw::Chart chart;
  chart.title = "Error of the surrogate";
  char text[160];
  std::snprintf(text, sizeof text, "%d grid points, error %.4f at %d random points; boundary treatment: %s",
                results.value("grid_points", 0), results.value("surrogate_error", 0.0),
                results.value("reference_points", 0), results.value("boundary", "").c_str());
  chart.subtitle = text;
  chart.x_label = "log10 of the grid points";
  chart.y_label = "log10 of the error (thesis, 7.33)";
  chart.series = {line, points};
  io::draw::render(chart).write_png((dir / "error.png").string());
}

// Workers over the run time, with the beginnings of the phases: figure 7.7 of the thesis.
void draw_resources(const fs::path& dir) {
  const auto phases = read_table(dir / "phases.csv", 5);
  if (phases.empty()) return;
  const double begin = number(phases[0][0]);
  io::draw::Chart chart;
  io::draw::Series workers{"workers", {}, {}, io::draw::Style::Step};
  workers.fill = 0.15;
  if (fs::exists(dir / "profile.csv")) {
    // A rank that said nothing in one window is still there: within an epoch the number is its largest.
    const auto rows = read_table(dir / "profile.csv", 8);
    std::map<std::string, double> most;
    for (const auto& row : rows) most[row[7]] = std::max(most[row[7]], number(row[1]));
    for (const auto& row : rows) {
      workers.x.push_back(number(row[0]));
      workers.y.push_back(most[row[7]]);
    }
  } else {
    for (const auto& phase : phases) {
      workers.x.push_back(number(phase[0]) - begin);
      workers.y.push_back(number(phase[4]));
    }
  }
  std::string last;
  int builds = 0;
  double until = 0;
  for (const auto& phase : phases) {
    until = number(phase[1]) - begin;
    std::string tag = phase[2];
    if (tag == last && tag == "sampling") continue;
    last = tag;
    if (tag == "surrogate") tag = "build " + std::to_string(builds++);
    chart.markers.push_back({number(phase[0]) - begin, tag, {0.82, 0.16, 0.14}});
  }
  if (workers.x.empty()) return;
  workers.x.push_back(std::max(until, workers.x.back()));
  workers.y.push_back(workers.y.back());
  chart.title = "Resource profile: workers come and go within the phases";
  if (fs::exists(dir / "summary.json")) {
    const json summary = read_json(dir / "summary.json");
    char text[160];
    std::snprintf(text, sizeof text, "%.0f s, %zu changes of size, %.3f s lost by them in all",
                  summary.value("run_time_s", 0.0), summary.value("changes", json::array()).size(),
                  summary.value("lost_total_s", 0.0));
    chart.subtitle = text;
  }
  chart.x_label = "run time (s)";
  chart.y_label = "workers";
  chart.y_from_zero = true;
  chart.series = {workers};
  io::draw::render(chart).write_png((dir / "resources.png").string());
}

void report(const fs::path& dir) {
  const json results = read_json(dir / "surrogate.json");
  const std::vector<Marginal> marginals = marginals_of(dir, results);
  if (results.contains("reynolds")) {  // else it is another model's
    flow::ChannelCase c = flow::four_obstacles();
    c.cells_across = results.value("cells", c.cells_across);
    c.reynolds = results.value("reynolds", c.reynolds);
    flow::Channel channel(c);
    inverse::draw_channel(channel, marginals).write_png((dir / "channel.png").string());
  }
  inverse::draw_marginals(marginals).write_png((dir / "marginals.png").string());
  inverse::draw_corner(marginals).write_png((dir / "corner.png").string());
  inverse::draw_traces(marginals).write_png((dir / "traces.png").string());
  draw_error(dir, results);
  draw_resources(dir);
  std::printf(
      "the posterior after %d grid points (surrogate error %.4f), R-hat %.4f, %.0f effective samples:\n",
      results.value("grid_points", 0), results.value("surrogate_error", 0.0),
      results.value("worst_split_rhat", 0.0), results.value("least_bulk_ess", 0.0));
  for (const Marginal& m : marginals) {
    std::printf("  %s = %.3f, 90 %% between %.3f and %.3f", m.name.c_str(), m.mean, m.low, m.high);
    if (m.truth) std::printf("; true %.3f", *m.truth);
    std::printf("\n");
  }
  std::printf(
      "pictures in %s: channel.png (of the channel), marginals.png, corner.png, traces.png, error.png, "
      "resources.png\n",
      dir.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Makes pictures from the folder that empi-surrogate wrote."};
  std::string dir;
  app.add_option("DIR", dir, "folder with the results")->required()->check(CLI::ExistingDirectory);
  try {
    app.parse(argc, argv);
    report(dir);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "empi-surrogate-report: %s\n", error.what());
    return 2;
  }
  return 0;
}
