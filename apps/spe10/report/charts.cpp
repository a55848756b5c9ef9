// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/report/charts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/io/draw/chart.hpp"
#include "apps/io/report.hpp"

namespace spe10 {
namespace {

namespace fs = std::filesystem;
using io::draw::Canvas;
using io::draw::Chart;
using io::draw::Style;
using nlohmann::json;

// Charts of the same width, one below the other.
Canvas stacked(const std::vector<Chart>& charts) {
  int height = 0;
  for (const Chart& chart : charts) height += chart.height;
  Canvas all(charts.front().width, height);
  int top = 0;
  for (const Chart& chart : charts) {
    all.put({0, static_cast<double>(top)}, render(chart));
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

// Adds a line, or its name to that of one that it would hide.
void add_line(Chart& chart, const std::string& name, const std::vector<double>& day,
              std::vector<double> values) {
  for (io::draw::Series& other : chart.series)
    if (other.y == values) {
      other.name += ", " + name;
      return;
    }
  chart.series.push_back({name, day, std::move(values), Style::Line});
}

// The first hours' rates would flatten all that follows.
double highest_later(const std::vector<double>& day, const std::vector<double>& values) {
  double highest = 0;
  for (std::size_t k = 0; k < values.size(); ++k)
    if (day[k] >= 0.02 * day.back()) highest = std::max(highest, values[k]);
  return highest;
}

}  // namespace

void draw_production(const fs::path& dir, const json& wells) {
  const io::Table table(dir / "production.csv");
  if (table.rows() == 0) return;
  const std::vector<double> day = table.numbers("day");
  Chart oil = panel("Oil production", "oil (STB/day)"), water = panel("Water production", "water (STB/day)"),
        pressure = panel("Pressure", "pressure (psi)");
  water.right_label = "water cut (%)";
  water.subtitle = "dashed: water cut";
  pressure.subtitle = "of wells at the top of the reservoir, of the field its mean over the pores";
  oil.y_from_zero = water.y_from_zero = true;
  double most_oil = 0, most_cut = 1;
  for (const json& well : wells) {
    const std::string name = well.value("name", "");
    add_line(pressure, name, day, table.numbers(name + "_bhp_psi"));
    if (well.value("injector", false)) continue;
    oil.series.push_back({name, day, table.numbers(name + "_oil_stb_day"), Style::Line});
    most_oil = std::max(most_oil, highest_later(day, oil.series.back().y));
    water.series.push_back({name, day, table.numbers(name + "_water_stb_day"), Style::Line});
  }
  const std::size_t producers = water.series.size();
  for (std::size_t k = 0; k < producers; ++k) {
    const std::string name = water.series[k].name;
    std::vector<double> percent = table.numbers(name + "_water_cut");
    for (double& value : percent) most_cut = std::max(most_cut, value *= 100);
    io::draw::Series cut{"", day, percent, Style::Dashed, true};
    cut.colour = io::draw::category(k);
    water.series.push_back(cut);
  }
  water.right_range = {0, 1.1 * most_cut};
  if (most_oil > 0) {
    oil.y_range = {0, 1.1 * most_oil};
    oil.subtitle = "the rates of the first hours are higher";
  }
  pressure.series.push_back({"field", day, table.numbers("mean_pressure_psi"), Style::Dashed});
  io::draw::write_both(stacked({oil, water, pressure}), (dir / "production.png").string());
}

}  // namespace spe10
