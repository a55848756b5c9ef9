// SPDX-License-Identifier: Apache-2.0
// empi-surrogate-report DIR: pictures of what empi-surrogate (and `empi run`) left in DIR, and a page that
// shows them. A process of its own: afterwards or, with --follow, beside the job.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/io/draw/chart.hpp"
#include "apps/io/file_error.hpp"
#include "apps/io/report.hpp"
#include "apps/io/report_program.hpp"
#include "apps/io/run_page.hpp"
#include "apps/surrogate/report/pictures.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using surrogate::Marginal;

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

// By the results or, while the job runs, by its progress: both hold the builds.
void draw_error(const fs::path& dir, const json& results) {
  const json builds = results.value("builds", json::array());
  if (builds.empty()) return;
  io::draw::Series line{"", {}, {}, io::draw::Style::Line}, points{"", {}, {}, io::draw::Style::Points};
  for (const json& build : builds) {
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
                static_cast<int>(line.x.back()), builds.back().at("error").get<double>(),
                results.value("reference_points", 0), results.value("boundary", "").c_str());
  chart.subtitle = text;
  chart.x_label = "grid points";
  chart.y_label = "error (thesis, 7.33)";
  chart.log_x = chart.log_y = true;
  chart.series = {line, points};
  io::draw::write_both(io::draw::render(chart), (dir / "error.png").string());
}

// Workers over the run time: of each window of measuring, or at the ends of the phases when the run was not
// one of `empi run`.
io::draw::Series workers_over_time(const fs::path& dir, const io::Table& phases, double begin) {
  io::draw::Series workers{"workers", {}, {}, io::draw::Style::Step};
  workers.fill = 0.15;
  const io::Table profile(dir / "profile.csv");
  if (profile.rows() == 0) {
    if (phases.rows() == 0) return workers;
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
  std::vector<double> begins, ends;  // none yet in the first phase of a running job
  if (phases.rows() > 0) begins = phases.numbers("begin_s"), ends = phases.numbers("end_s");
  const double begin =
      io::read_json(dir / "summary.json").value("start_time_s", begins.empty() ? 0 : begins.front());
  io::draw::Chart chart;
  io::draw::Series workers = workers_over_time(dir, phases, begin);
  if (workers.x.size() < 2) return;
  workers.x.push_back(ends.empty() ? workers.x.back() : std::max(ends.back() - begin, workers.x.back()));
  workers.y.push_back(workers.y.back());
  std::string last;
  int builds = 0;
  for (std::size_t k = 0; k < phases.rows(); ++k) {
    std::string tag = phases.texts("stage")[k];
    if (tag == last && tag == "sampling") continue;
    last = tag;
    if (tag == "surrogate") tag = "build " + std::to_string(builds++);
    chart.markers.push_back({begins[k] - begin, tag, io::draw::kRed});
  }
  chart.title = "Resource profile: workers come and go within the phases";
  chart.subtitle = io::run_text(dir);
  chart.x_label = "run time (s)";
  chart.y_label = "workers";
  chart.y_from_zero = true;
  chart.series = {workers};
  io::draw::write_both(io::draw::render(chart), (dir / "resources.png").string());
}

io::PageText page_text() {
  return {"Four obstacles in a fluid channel, found by workers that come and go",
          "Ten noisy sensors say how the water flows; the job finds out where the obstacles are. Each phase "
          "has as many workers as pay for its queue.",
          {{"resources", "Workers over the run time, with the beginnings of the phases"},
           {"channel", "The channel: the flow, and where the obstacles are by the posterior"},
           {"marginals", "Marginals of the posterior"},
           {"corner", "Pairs of parameters"},
           {"traces", "Traces of the coldest chains"},
           {"error", "Error of the surrogate over its grid points"}}};
}

void draw_posterior(const fs::path& dir, const json& results) {
  const std::vector<Marginal> marginals = marginals_of(dir, results);
  if (results.contains("reynolds")) {  // else it is another model's
    flow::ChannelCase c = flow::four_obstacles();
    c.cells_across = results.value("cells", c.cells_across);
    c.reynolds = results.value("reynolds", c.reynolds);
    flow::Channel channel(c);
    surrogate::draw_channel(channel, marginals).write_png((dir / "channel.png").string());
  }
  io::draw::write_both(surrogate::draw_marginals(marginals), (dir / "marginals.png").string());
  surrogate::draw_corner(marginals).write_png((dir / "corner.png").string());
  io::draw::write_both(surrogate::draw_traces(marginals), (dir / "traces.png").string());
  std::printf(
      "the posterior after %d grid points (surrogate error %.4f), R-hat %.4f, %.0f effective samples:\n",
      results.value("grid_points", 0), results.value("surrogate_error", 0.0),
      results.value("worst_split_rhat", 0.0), results.value("least_bulk_ess", 0.0));
  for (const Marginal& m : marginals) {
    std::printf("  %s = %.3f, 90 %% between %.3f and %.3f", m.name.c_str(), m.mean, m.low, m.high);
    if (m.truth) std::printf("; true %.3f", *m.truth);
    std::printf("\n");
  }
}

// There are samples at the end only; before, the surrogate's error and the workers.
void draw_progress(const fs::path& dir, io::Drawing& drawing) {
  const fs::path progress = dir / "progress.json", profile = dir / "profile.csv";
  drawing.once(progress, [&] { draw_error(dir, io::read_json(progress)); });
  // Windows are measured when the program runs: it has then removed what an earlier run left here.
  if (!drawing.has(profile) || io::Table(profile).rows() == 0) return;
  drawing.once(profile, [&] { draw_resources(dir); });
  io::write_page(dir, page_text(), true);
}

void report(const fs::path& dir) {
  const json results = io::read_json(dir / "surrogate.json");
  draw_error(dir, results.empty() ? io::read_json(dir / "progress.json") : results);
  draw_resources(dir);
  if (!results.empty()) draw_posterior(dir, results);
  io::write_page(dir, page_text(), false);
  if (results.empty())
    throw io::FileError(dir / "surrogate.json", "", "the results of a run that has ended", "none",
                        "run empi-surrogate with --out " + dir.string());
}

}  // namespace

int main(int argc, char** argv) {
  return io::report_main({.name = "empi-surrogate-report",
                          .what = "Makes pictures from the folder that empi-surrogate wrote.",
                          .page = page_text(),
                          .draw =
                              [](const fs::path& dir, io::Drawing drawing, const auto& repeat) {
                                if (drawing.running())
                                  repeat([&] { draw_progress(dir, drawing); });
                                else
                                  report(dir);
                              }},
                         argc, argv);
}
