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
#include "apps/surrogate/report/marginals.hpp"
#include "apps/surrogate/report/page_text.hpp"
#include "apps/surrogate/report/pictures.hpp"
#include "runtime/base/text.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using surrogate::Marginal;
using surrogate::page_text;

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
  std::snprintf(text, sizeof text, "%d grid points, error %.4g at %d random points; boundary treatment: %s",
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

void draw_posterior(const fs::path& dir, const json& results) {
  const std::vector<Marginal> marginals = surrogate::read_marginals(dir, results);
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
  // Null: no finite number.
  const json& rhat = results.at("worst_split_rhat");
  std::printf("the posterior after %d grid points (surrogate error %.4g), %s, %.0f effective samples:\n",
              results.value("grid_points", 0), results.value("surrogate_error", 0.0),
              rhat.is_number() ? empi::format("R-hat %.4f", rhat.get<double>()).c_str()
                               : "of chains that are stuck, R-hat is no finite number",
              results.value("least_bulk_ess", 0.0));
  for (const Marginal& m : marginals) {
    std::printf("  %s = %s, 90 %% between %s and %s", m.name.c_str(), m.text(m.mean).c_str(),
                m.text(m.low).c_str(), m.text(m.high).c_str());
    if (m.truth) std::printf("; true %s", m.text(*m.truth).c_str());
    std::printf("\n");
  }
}

// There are samples at the end only; before, the surrogate's error and the workers.
// `known`: of the progress, from one call to the next.
void draw_progress(const fs::path& dir, io::Drawing& drawing, json& known) {
  const fs::path progress = dir / "progress.json", profile = dir / "profile.csv";
  drawing.once(progress, [&] {
    known = io::read_json(progress);
    draw_error(dir, known);
  });
  // Windows are measured when the program runs: it has then removed what an earlier run left here.
  if (!drawing.has(profile) || io::Table(profile).rows() == 0) return;
  drawing.once(profile, [&] { draw_resources(dir); });
  io::write_page(dir, page_text(known), true);
}

void report(const fs::path& dir) {
  const json results = io::read_json(dir / "surrogate.json");
  const json known = results.empty() ? io::read_json(dir / "progress.json") : results;
  draw_error(dir, known);
  draw_resources(dir);
  if (!results.empty()) draw_posterior(dir, results);
  io::write_page(dir, page_text(known), false);
  if (results.empty())
    throw io::FileError(dir / "surrogate.json", "", "the results of a run that has ended", "none",
                        "run empi-surrogate with --out " + dir.string());
}

}  // namespace

int main(int argc, char** argv) {
  return io::report_main({.name = "empi-surrogate-report",
                          .what = "Makes pictures from the folder that empi-surrogate wrote.",
                          .page = page_text(json::object()),
                          .draw =
                              [](const fs::path& dir, io::Drawing drawing, const auto& repeat) {
                                json known = json::object();
                                if (drawing.running())
                                  repeat([&] { draw_progress(dir, drawing, known); });
                                else
                                  report(dir);
                              }},
                         argc, argv);
}
