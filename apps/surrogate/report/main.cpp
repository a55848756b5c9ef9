// empi-surrogate-report DIR: pictures of what empi-surrogate (and `empi run`) left in DIR.
#include <algorithm>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/io/draw/chart.hpp"
#include "apps/io/file_error.hpp"
#include "apps/io/report.hpp"
#include "apps/surrogate/report/pictures.hpp"

namespace {

namespace fs = std::filesystem;
using inverse::Marginal;
using nlohmann::json;

std::vector<Marginal> marginals_of(const fs::path& dir, const json& results) {
  std::vector<Marginal> marginals;
  for (const json& p : results.at("parameters")) {
    Marginal m{p.at("name"), {p.at("low"), p.at("high")}, p.at("mean"), p.at("q05"), p.at("q95"), {}, {}};
    if (p.contains("true")) m.truth = p["true"].get<double>();
    marginals.push_back(std::move(m));
  }
  const io::Table table(dir / "samples.csv");
  const std::vector<double> ensembles = table.numbers("ensemble");
  for (Marginal& m : marginals) {
    const std::vector<double> values = table.numbers(m.name);
    for (std::size_t row = 0; row < values.size(); ++row) {
      const auto ensemble = static_cast<std::size_t>(ensembles[row]);
      if (ensemble >= m.samples.size()) m.samples.resize(ensemble + 1);
      m.samples[ensemble].push_back(values[row]);
    }
  }
  return marginals;
}

void draw_error(const fs::path& dir, const json& results) {
  io::draw::Series line{"", {}, {}, io::draw::Style::Line}, points{"", {}, {}, io::draw::Style::Points};
  for (const json& build : results.at("builds")) {
    line.x.push_back(build.at("points").get<double>());
    line.y.push_back(std::max(1e-16, build.at("error").get<double>()));
  }
  points.x = line.x;
  points.y = line.y;
  points.colour = io::draw::category(0);
  io::draw::Chart chart;
  chart.title = "Error of the surrogate";
  char text[160];
  std::snprintf(text, sizeof text, "%d grid points, error %.4f at %d random points; boundary treatment: %s",
                results.value("grid_points", 0), results.value("surrogate_error", 0.0),
                results.value("reference_points", 0), results.value("boundary", "").c_str());
  chart.subtitle = text;
  chart.x_label = "grid points";
  chart.y_label = "error (thesis, 7.33)";
  chart.log_x = chart.log_y = true;
  chart.series = {line, points};
  io::draw::render(chart).write_png((dir / "error.png").string());
}

// Workers over the run time: of each window of measuring, or at the ends of the phases when the run was not
// one of `empi run`.
io::draw::Series workers_over_time(const fs::path& dir, const io::Table& phases, double begin) {
  io::draw::Series workers{"workers", {}, {}, io::draw::Style::Step};
  workers.fill = 0.15;
  const io::Table profile(dir / "profile.csv");
  if (profile.rows() == 0) {
    for (const double t : phases.numbers("begin_s")) workers.x.push_back(t - begin);
    workers.y = phases.numbers("workers");
    return workers;
  }
  // A rank that said nothing in one window is still there: within an epoch the number is its largest.
  const auto ranks = profile.numbers("ranks"), epochs = profile.numbers("epoch");
  std::map<double, double> most;
  for (std::size_t k = 0; k < ranks.size(); ++k) most[epochs[k]] = std::max(most[epochs[k]], ranks[k]);
  workers.x = profile.numbers("time_s");
  for (const double epoch : epochs) workers.y.push_back(most[epoch]);
  if (workers.x.front() > 0) {  // the first window is measured at its end
    workers.x.insert(workers.x.begin(), 0);
    workers.y.insert(workers.y.begin(), workers.y.front());
  }
  return workers;
}

// With the beginnings of the phases: figure 7.7 of the thesis.
void draw_resources(const fs::path& dir) {
  const io::Table phases(dir / "phases.csv");
  if (phases.rows() == 0) return;
  const auto begins = phases.numbers("begin_s"), ends = phases.numbers("end_s");
  const double begin = io::read_json(dir / "summary.json").value("start_time_s", begins.front());
  io::draw::Chart chart;
  io::draw::Series workers = workers_over_time(dir, phases, begin);
  workers.x.push_back(std::max(ends.back() - begin, workers.x.back()));
  workers.y.push_back(workers.y.back());
  std::string last;
  int builds = 0;
  for (std::size_t k = 0; k < phases.rows(); ++k) {
    std::string tag = phases.texts("stage")[k];
    if (tag == last && tag == "sampling") continue;
    last = tag;
    if (tag == "surrogate") tag = "build " + std::to_string(builds++);
    chart.markers.push_back({begins[k] - begin, tag, {0.82, 0.16, 0.14}});
  }
  chart.title = "Resource profile: workers come and go within the phases";
  chart.subtitle = io::run_text(dir);
  chart.x_label = "run time (s)";
  chart.y_label = "workers";
  chart.y_from_zero = true;
  chart.series = {workers};
  io::draw::render(chart).write_png((dir / "resources.png").string());
}

void report(const fs::path& dir) {
  const json results = io::read_json(dir / "surrogate.json");
  if (results.empty())
    throw io::FileError(dir / "surrogate.json", "", "the results of a run that has ended", "none",
                        "run empi-surrogate with --out " + dir.string());
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
