// empi-tsunami-report DIR: turns what a run left (snapshots, gauges, cells.csv) into pictures and, with
// --vtu, into files for ParaView. Afterwards and serial, so that no rank of the run has to draw.
#include "apps/io/report.hpp"

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/io/draw/chart.hpp"
#include "apps/io/vtu.hpp"
#include "apps/tsunami/app/snapshot.hpp"
#include "apps/tsunami/io/gauge.hpp"
#include "apps/tsunami/io/mesh_picture.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string clock_text(double seconds) {
  char text[48];
  const int minutes = static_cast<int>(seconds / 60 + 0.5);
  std::snprintf(text, sizeof text, "%d h %02d min after the earthquake", minutes / 60, minutes % 60);
  return text;
}

void draw_snapshot(const tsunami::Snapshot& snapshot, const fs::path& path, const json& results, double limit,
                   int workers) {
  std::vector<io::PictureCell> cells(snapshot.cells.size());
  io::PictureOptions options;
  options.region = {1e9, -1e9, 1e9, -1e9};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const tsunami::SnapshotCell& from = snapshot.cells[i];
    for (int k = 0; k < 3; ++k) {
      cells[i].lon[k] = from.lon[k];
      cells[i].lat[k] = from.lat[k];
      options.region.west = std::min(options.region.west, static_cast<double>(from.lon[k]));
      options.region.east = std::max(options.region.east, static_cast<double>(from.lon[k]));
      options.region.south = std::min(options.region.south, static_cast<double>(from.lat[k]));
      options.region.north = std::max(options.region.north, static_cast<double>(from.lat[k]));
    }
    cells[i].h = from.eta - from.b;
    cells[i].b = from.b;
    cells[i].owner = from.owner;
  }
  char cells_text[96];
  std::snprintf(cells_text, sizeof cells_text, ": %zu cells on %d workers", cells.size(), snapshot.ranks);
  options.title = clock_text(snapshot.time) + cells_text;
  options.eta_limit = limit;
  options.max_workers = workers;
  for (const json& gauge : results.value("gauges", json::array()))
    options.gauges.push_back({gauge.value("lon", 0.0), gauge.value("lat", 0.0), gauge.value("id", "")});
  io::draw_wave_and_mesh(cells, options).write_png(path.string());
}

void write_paraview(const tsunami::Snapshot& snapshot, const fs::path& dir, const std::string& stem,
                    io::PvdSeries& series) {
  const std::vector<std::pair<std::string, io::ArrayType>> arrays = {
      {"eta", io::ArrayType::Float32}, {"h", io::ArrayType::Float32}, {"hu", io::ArrayType::Float32},
      {"hv", io::ArrayType::Float32},  {"b", io::ArrayType::Float32}, {"level", io::ArrayType::Int32},
      {"owner", io::ArrayType::Int32}};
  std::map<int, std::vector<const tsunami::SnapshotCell*>> by_owner;
  for (const auto& cell : snapshot.cells) by_owner[cell.owner].push_back(&cell);
  std::vector<std::string> pieces;
  for (const auto& [owner, cells] : by_owner) {
    std::vector<double> points;
    std::vector<std::int64_t> triangles;
    std::vector<float> eta, h, hu, hv, b;
    std::vector<std::int32_t> level, owners(cells.size(), owner);
    for (const auto* cell : cells) {
      const double turn = (cell->lon[1] - cell->lon[0]) * (cell->lat[2] - cell->lat[0]) -
                          (cell->lon[2] - cell->lon[0]) * (cell->lat[1] - cell->lat[0]);
      const int order[] = {0, turn > 0 ? 1 : 2, turn > 0 ? 2 : 1};
      for (const int k : order) {
        triangles.push_back(static_cast<std::int64_t>(points.size() / 3));
        points.insert(points.end(), {cell->lon[k], cell->lat[k], 0.0});
      }
      eta.push_back(cell->eta), h.push_back(cell->eta - cell->b), hu.push_back(cell->hu),
          hv.push_back(cell->hv);
      b.push_back(cell->b), level.push_back(cell->level);
    }
    pieces.push_back(stem + "-" + std::to_string(owner) + ".vtu");
    io::write_vtu((dir / pieces.back()).string(), {points,
                                                   triangles,
                                                   {{"eta", std::span<const float>(eta)},
                                                    {"h", std::span<const float>(h)},
                                                    {"hu", std::span<const float>(hu)},
                                                    {"hv", std::span<const float>(hv)},
                                                    {"b", std::span<const float>(b)},
                                                    {"level", std::span<const std::int32_t>(level)},
                                                    {"owner", std::span<const std::int32_t>(owners)}}});
  }
  io::write_pvtu((dir / (stem + ".pvtu")).string(), pieces, arrays);
  series.add(snapshot.time, stem + ".pvtu");
}

void draw_gauge(const fs::path& dir, const json& gauge) {
  const std::string id = gauge.value("id", "");
  const io::Table table(dir / ("gauge-" + id + ".csv"));
  const std::vector<double> seconds = table.numbers("time_s");
  const auto hours = [](std::vector<double> seconds) {
    for (double& t : seconds) t /= 3600;
    return seconds;
  };
  io::draw::Chart chart;
  chart.title = "Tide gauge " + id;
  chart.x_label = "hours after the earthquake";
  chart.y_label = "sea surface (m)";
  const std::string observed = gauge.value("observed", "");
  const double end = seconds.empty() ? 0 : seconds.back();
  if (!observed.empty() && fs::exists(observed)) {
    const io::TimeSeries record = io::read_gauge(observed);
    io::draw::Series seen{"observed", {}, {}, io::draw::Style::Points};
    seen.colour = io::draw::grey;
    for (std::size_t i = 0; i < record.t.size(); ++i)
      if (record.t[i] >= 0 && record.t[i] <= end) {
        seen.x.push_back(record.t[i] / 3600);
        seen.y.push_back(record.v[i]);
      }
    chart.series.push_back(seen);
    char text[160];
    if (gauge["rms_m"].is_number()) {
      std::snprintf(text, sizeof text,
                    "rms %.4f m, correlation %.2f (from 2 h on); maximum %.3f m, observed %.3f m",
                    gauge.value("rms_m", 0.0), gauge.value("correlation", 0.0), gauge.value("max_m", 0.0),
                    gauge.value("max_observed_m", 0.0));
      chart.subtitle = text;
    }
    chart.y_range = {-0.3, 0.3};  // the seismic wave at the start would hide the tsunami
  }
  chart.series.push_back({"computed", hours(seconds), table.numbers("eta_m"), io::draw::Style::Line});
  io::draw::render(chart).write_png((dir / ("gauge-" + id + ".png")).string());
}

int report(const fs::path& dir, bool paraview, double limit) {
  const json results = io::read_json(dir / "tsunami.json");
  const std::vector<fs::path> files = io::snapshots(dir);
  // Figure 5.6 of the thesis.
  const int workers = io::draw_resources(dir, "Resource profile: the job follows its mesh", "cells");
  for (const json& gauge : results.value("gauges", json::array())) draw_gauge(dir, gauge);
  io::PvdSeries series((dir / "tsunami.pvd").string());
  for (const fs::path& file : files) {
    const tsunami::Snapshot snapshot = tsunami::read_snapshot(file.string());
    const std::string number = io::snapshot_number(file);
    draw_snapshot(snapshot, dir / ("wave-" + number + ".png"), results, limit, workers);
    if (paraview) write_paraview(snapshot, dir, "tsunami-" + number, series);
  }
  std::printf("pictures in %s: %zu of the wave (wave-*.png), gauge-*.png, resources.png%s\n", dir.c_str(),
              files.size(), paraview ? "; ParaView: tsunami.pvd" : "");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Makes pictures, charts and ParaView files from the folder that empi-tsunami wrote."};
  std::string dir;
  bool paraview = false;
  double limit = 0.2;
  app.add_option("DIR", dir, "folder with the results")->required()->check(CLI::ExistingDirectory);
  app.add_flag("--vtu", paraview, "also write .vtu, .pvtu and .pvd for ParaView");
  app.add_option("--limit", limit, "sea surface at the ends of the colours, m")->check(CLI::PositiveNumber);
  try {
    app.parse(argc, argv);
    return report(dir, paraview, limit);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "empi-tsunami-report: %s\n", error.what());
    return 2;
  }
}
