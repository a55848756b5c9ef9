#include "apps/spe10/report/charts.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "apps/io/draw/chart.hpp"

namespace reservoir {
namespace {

namespace fs = std::filesystem;
using io::draw::Canvas;
using io::draw::Chart;
using io::draw::Style;
using nlohmann::json;

using Table = std::map<std::string, std::vector<double>>;

// Charts of the same width, one below the other.
Canvas stacked(const std::vector<Chart>& charts) {
  int height = 0;
  for (const Chart& chart : charts) height += chart.height;
  Canvas all(charts.front().width, height);
  int top = 0;
  for (const Chart& chart : charts) {
    const Canvas one = render(chart);
    for (int y = 0; y < one.height(); ++y)
      for (int x = 0; x < one.width(); ++x) all.blend(x, top + y, one.pixel(x, y), 1);
    top += chart.height;
  }
  return all;
}

Chart panel(const std::string& title, const std::string& y_label) {
  Chart chart;
  chart.title = title;
  chart.x_label = "days", chart.y_label = y_label;
  chart.height = 420;
  return chart;
}

// The first hours' rates would flatten all that follows.
double highest_later(const std::vector<double>& day, const std::vector<double>& values) {
  double highest = 0;
  for (std::size_t k = 0; k < values.size(); ++k)
    if (day[k] >= 0.02 * day.back()) highest = std::max(highest, values[k]);
  return highest;
}

std::vector<double> since_start(const std::vector<double>& clock) {
  std::vector<double> seconds;
  for (const double t : clock) seconds.push_back(t - clock.front());
  return seconds;
}

double worker_hours(const std::vector<double>& seconds, const std::vector<double>& ranks) {
  double sum = 0;
  for (std::size_t k = 1; k < seconds.size(); ++k) sum += ranks[k - 1] * (seconds[k] - seconds[k - 1]);
  return sum / 3600;
}

}  // namespace

json read_json(const fs::path& path) {
  std::ifstream file(path);
  if (!file) return json::object();
  const json value = json::parse(file, nullptr, false);
  if (value.is_discarded()) throw std::runtime_error(path.string() + ": not JSON");
  return value;
}

Table read_columns(const fs::path& path) {
  Table result;
  std::ifstream file(path);
  std::string line, field;
  std::vector<std::string> names;
  std::getline(file, line);
  for (std::istringstream head(line); std::getline(head, field, ',');) names.push_back(field);
  for (int number = 2; std::getline(file, line); ++number) {
    std::istringstream fields(line);
    for (const auto& name : names) {
      if (!std::getline(fields, field, ','))
        throw std::runtime_error(path.string() + ":" + std::to_string(number) + ": " +
                                 std::to_string(names.size()) + " columns expected");
      result[name].push_back(std::strtod(field.c_str(), nullptr));
    }
  }
  return result;
}

void draw_resources(const fs::path& dir) {
  Table columns = read_columns(dir / "cells.csv");
  if (columns["wall_clock_s"].empty()) return;
  const json summary = read_json(dir / "summary.json");
  const std::vector<double> seconds = since_start(columns["wall_clock_s"]);
  io::draw::Series cells{"prisms", seconds, columns["prisms"], Style::Line};
  io::draw::Series ranks{"workers", seconds, columns["ranks"], Style::Step, true};
  ranks.fill = 0.15;
  Chart chart;
  chart.title = "Resource profile";
  char text[160] = "";
  if (summary.contains("run_time_s") && summary["run_time_s"].is_number())
    std::snprintf(text, sizeof text, "%.0f s, %zu changes of size, %.2f s of pause in all; %.3g worker hours",
                  summary.value("run_time_s", 0.0), summary.value("changes", json::array()).size(),
                  summary.value("pause_total_s", 0.0), worker_hours(seconds, columns["ranks"]));
  chart.subtitle = text;
  chart.x_label = "run time (s)", chart.y_label = "prisms", chart.right_label = "workers";
  chart.y_from_zero = true;
  chart.series = {ranks, cells};
  io::draw::render(chart).write_png((dir / "resources.png").string());
}

void draw_profiles(const std::vector<fs::path>& runs) {
  Chart chart;
  chart.title = "Resource profiles";
  chart.subtitle = "the areas are worker hours";
  chart.x_label = "run time (s)", chart.y_label = "workers";
  chart.y_from_zero = true;
  for (const fs::path& dir : runs) {
    Table columns = read_columns(dir / "cells.csv");
    if (columns["wall_clock_s"].empty()) throw std::runtime_error(dir.string() + ": no cells.csv of a run");
    const std::vector<double> seconds = since_start(columns["wall_clock_s"]);
    const fs::path name = dir.filename().empty() ? dir.parent_path().filename() : dir.filename();
    char text[160];
    std::snprintf(text, sizeof text, "%s: %.0f s, %.3g worker hours", name.c_str(), seconds.back(),
                  worker_hours(seconds, columns["ranks"]));
    io::draw::Series profile{text, seconds, columns["ranks"], Style::Step};
    profile.fill = 0.15;
    // Down to zero where the run ends.
    profile.x.push_back(seconds.back()), profile.y.push_back(0);
    chart.series.push_back(profile);
  }
  io::draw::render(chart).write_png((runs.front() / "profiles.png").string());
}

void draw_production(const fs::path& dir, const json& wells) {
  Table columns = read_columns(dir / "production.csv");
  const std::vector<double>& day = columns["day"];
  if (day.empty()) return;
  Chart oil = panel("Oil production", "oil (STB/day)"), water = panel("Water production", "water (STB/day)"),
        pressure = panel("Pressure", "pressure (psi)");
  water.right_label = "water cut (%)";
  water.subtitle = "dashed: water cut";
  pressure.subtitle = "of wells at the top of the reservoir, of the field its mean over the pores";
  oil.y_from_zero = water.y_from_zero = true;
  double most_oil = 0, most_cut = 1;
  for (const json& well : wells) {
    const std::string name = well.value("name", "");
    pressure.series.push_back({name, day, columns[name + "_bhp_psi"], Style::Line});
    if (well.value("injector", false)) continue;
    oil.series.push_back({name, day, columns[name + "_oil_stb_day"], Style::Line});
    most_oil = std::max(most_oil, highest_later(day, oil.series.back().y));
    water.series.push_back({name, day, columns[name + "_water_stb_day"], Style::Line});
  }
  const std::size_t producers = water.series.size();
  for (std::size_t k = 0; k < producers; ++k) {
    const std::string name = water.series[k].name;
    std::vector<double> percent = columns[name + "_water_cut"];
    for (double& value : percent) most_cut = std::max(most_cut, value *= 100);
    io::draw::Series cut{"", day, percent, Style::Dashed, true};
    cut.colour = io::draw::category(k);
    water.series.push_back(cut);
  }
  water.right_range = {0, 1.1 * most_cut};
  if (most_oil > 0) oil.y_range = {0, 1.1 * most_oil};
  pressure.series.push_back({"field", day, columns["mean_pressure_psi"], Style::Dashed});
  stacked({oil, water, pressure}).write_png((dir / "production.png").string());
}

}  // namespace reservoir
