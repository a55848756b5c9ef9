// SPDX-License-Identifier: Apache-2.0
// empi-tsunami-report DIR: turns what a run left (snapshots, gauges, cells.csv) into pictures and a page that
// shows them and, with --vtu, into files for ParaView; with --compare its workers over time beside those of
// other runs. A process of its own, so that no rank of the run has
// to draw: afterwards or, with --follow, beside the job.

#include "apps/io/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/io/draw/chart.hpp"
#include "apps/io/report_program.hpp"
#include "apps/io/run_page.hpp"
#include "apps/io/vtu.hpp"
#include "apps/tsunami/app/ground.hpp"
#include "apps/tsunami/app/snapshot.hpp"
#include "apps/tsunami/app/task_times.hpp"
#include "apps/tsunami/io/gauge.hpp"
#include "apps/tsunami/io/mesh_picture.hpp"
#include "runtime/base/text.hpp"

namespace {

namespace fs = std::filesystem;
namespace options = empi::options;
using nlohmann::json;

std::string clock_text(double seconds) {
  char text[48];
  const int minutes = static_cast<int>(std::lround(seconds / 60));
  std::snprintf(text, sizeof text, "%d h %02d min after the earthquake", minutes / 60, minutes % 60);
  return text;
}

// To an SVG the wave alone: for papers, which show no workers.
void draw_snapshot(const tsunami::Snapshot& snapshot, const fs::path& path, const json& results,
                   const std::optional<io::Raster>& ground, double limit, int workers) {
  std::vector<io::PictureCell> cells(snapshot.cells.size());
  io::PictureOptions options;
  options.region = {1e9, -1e9, 1e9, -1e9};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const tsunami::SnapshotCell& from = snapshot.cells[i];
    for (int k = 0; k < 3; ++k) {
      cells[i].lon[k] = static_cast<float>(from.lon[k]);
      cells[i].lat[k] = static_cast<float>(from.lat[k]);
      options.region.west = std::min(options.region.west, from.lon[k]);
      options.region.east = std::max(options.region.east, from.lon[k]);
      options.region.south = std::min(options.region.south, from.lat[k]);
      options.region.north = std::max(options.region.north, from.lat[k]);
    }
    cells[i].h = from.eta - from.b;
    cells[i].b = from.b;
    cells[i].owner = from.owner;
  }
  char cells_text[96];
  std::snprintf(cells_text, sizeof cells_text, ": %zu cells on %d worker%s", cells.size(), snapshot.ranks,
                snapshot.ranks == 1 ? "" : "s");
  options.title = clock_text(snapshot.time) + cells_text;
  options.eta_limit = limit;
  options.max_workers = workers;
  if (ground) options.ground = &*ground;
  for (const json& gauge : results.value("gauges", json::array()))
    options.gauges.push_back({gauge.value("lon", 0.0), gauge.value("lat", 0.0), gauge.value("id", "")});
  if (path.extension() == ".svg") {
    options.title = clock_text(snapshot.time);
    options.mesh_panel = false;
    options.width = 640;
  }
  io::draw_wave_and_mesh(cells, options).write(path.string());
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
      for (int k = 0; k < 3; ++k) {
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
  if (table.rows() < 2) return;  // a job that has just begun
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
    seen.colour = io::draw::kGrey;
    for (std::size_t i = 0; i < record.t.size(); ++i)
      if (record.t[i] >= 0 && record.t[i] <= end) {
        seen.x.push_back(record.t[i] / 3600);
        seen.y.push_back(record.v[i]);
      }
    chart.series.push_back(seen);
    char text[200];
    if (const auto rms = gauge.find("rms_m"); rms != gauge.end() && rms->is_number()) {
      std::snprintf(text, sizeof text,
                    "rms %.4f m, correlation %.2f (from %.3g h to %.3g h); maximum %.3f m, observed %.3f m",
                    rms->get<double>(), gauge.value("correlation", 0.0),
                    gauge["window_s"][0].get<double>() / 3600, gauge["window_s"][1].get<double>() / 3600,
                    gauge.value("max_m", 0.0), gauge.value("max_observed_m", 0.0));
      chart.subtitle = text;
    }
    // The seismic wave at the start would hide the tsunami.
    double height = std::max({0.1, gauge.value("max_m", 0.0), gauge.value("max_observed_m", 0.0)});
    for (const double eta : table.numbers("eta_m")) height = std::max(height, std::abs(eta));
    chart.y_range = {-1.25 * height, 1.25 * height};
  }
  chart.series.push_back({"computed", hours(seconds), table.numbers("eta_m"), io::draw::Style::Line});
  io::draw::write_both(io::draw::render(chart), (dir / ("gauge-" + id + ".png")).string());
}

// Table 5.3 of the thesis: mean of the ranks, per cent of all.
io::PageTable tasks_table(const json& results) {
  io::PageTable table{"Where the time went", {}};
  const json tasks = results.value("seconds_by_task", json::object());
  double all = 0;
  for (const auto& [task, seconds] : tasks.items()) all += seconds.get<double>();
  for (const std::string_view name : tsunami::kTaskNames)
    if (const auto found = tasks.find(name); found != tasks.end() && all > 0)
      table.rows.emplace_back(name, empi::format("%.1f %%", 100 * found->get<double>() / all));
  return table;
}

io::PageText page_text() {
  return {
      "A tsunami on a job that changes its size",
      "The mesh follows the wave: it grows while the wave spreads and shrinks when it has left, and the job "
      "takes and gives back workers by what it measures.",
      {{"resources", "Workers and cells over the run time"},
       {"wave", "Sea surface, and the mesh coloured by the worker that owns each cell"},
       {"gauge", "Sea surface at a tide gauge"},
       {"profiles", "Workers over the run time of several runs"}}};
}

constexpr char kMapFile[] = "map.svg";

// All that there is to draw in a folder, now.
class Report {
 public:
  Report(fs::path dir, double limit, io::Drawing drawing)
      : dir_(std::move(dir)), limit_(limit), drawing_(std::move(drawing)) {}

  void draw() {
    const fs::path description = dir_ / "tsunami.json";
    const json results = drawing_.has(description) ? io::read_json(description) : json::object();
    // Figure 5.6 (a) of the thesis; (b) is --compare.
    drawing_.once(dir_ / "cells.csv", [&] {
      workers_ = io::draw_resources(dir_, "Resource profile: the job follows its mesh", "cells");
    });
    const fs::path ground = dir_ / tsunami::kGroundFile;
    drawing_.once(ground, [&] { ground_ = tsunami::read_ground(ground); });
    for (const fs::path& file : io::snapshots(dir_))
      drawing_.once(file, [&] {
        const tsunami::Snapshot snapshot = tsunami::read_snapshot(file.string());
        draw_snapshot(snapshot, dir_ / ("wave-" + io::snapshot_number(file) + ".png"), results, ground_,
                      limit_, workers_);
        if (snapshot.cells.size() >= most_cells_) most_cells_ = snapshot.cells.size(), widest_ = file;
        if (drawing_.running()) show(results);  // each one as it comes
      });
    if (!drawing_.running() && !widest_.empty())
      draw_snapshot(tsunami::read_snapshot(widest_.string()), dir_ / kMapFile, results, ground_, limit_,
                    workers_);
    for (const json& gauge : results.value("gauges", json::array()))
      drawing_.once(dir_ / ("gauge-" + gauge.value("id", "") + ".csv"), [&] { draw_gauge(dir_, gauge); });
    show(results);
  }

 private:
  void show(const json& results) {
    if (drawing_.running() && !drawing_.has(dir_ / "progress.json")) return;
    io::PageText text = page_text();
    if (const std::string of = results.value("case", ""); !of.empty())
      text.about += " Of this run: " + of + ".";
    text.tables = {tasks_table(results)};
    io::write_page(dir_, text, drawing_.running());
  }

  const fs::path dir_;
  const double limit_;
  io::Drawing drawing_;
  std::optional<io::Raster> ground_;
  int workers_ = 1;
  // The mesh follows the wave: where it has most cells, there is most to see.
  fs::path widest_;
  std::size_t most_cells_ = 0;
};

void write_paraview(const fs::path& dir) {
  io::PvdSeries series((dir / "tsunami.pvd").string());
  for (const fs::path& file : io::snapshots(dir))
    write_paraview(tsunami::read_snapshot(file.string()), dir, "tsunami-" + io::snapshot_number(file),
                   series);
  std::printf("for ParaView: %s\n", (dir / "tsunami.pvd").c_str());
}

}  // namespace

int main(int argc, char** argv) {
  double limit = 0.2;
  return io::report_main(
      {.name = "empi-tsunami-report",
       .what = "Makes pictures, charts and ParaView files from the folder that empi-tsunami wrote.",
       .page = page_text(),
       .more =
           {
               {"--limit",
                &limit,
                "sea surface at the ends of the colours, m",
                {.check = options::positive()}},
           },
       .draw =
           [&](const fs::path& dir, io::Drawing drawing, const auto& repeat) {
             Report report(dir, limit, std::move(drawing));
             repeat([&] { report.draw(); });
           },
       .write_paraview = [](const fs::path& dir) { write_paraview(dir); },
       .compares = true},
      argc, argv);
}
