// SPDX-License-Identifier: Apache-2.0
// empi-spe10-report DIR: turns what a run left (snapshots, production.csv, cells.csv) into pictures and a
// page that shows them and, with --vtu, into files for ParaView; with --compare its workers over time beside
// those of other runs. A process of its own, so that no rank of the run has to draw: afterwards or, with
// --follow, beside the job.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/io/report.hpp"
#include "apps/io/report_program.hpp"
#include "apps/io/run_page.hpp"
#include "apps/io/vtu.hpp"
#include "apps/spe10/report/charts.hpp"
#include "apps/spe10/report/pictures.hpp"

namespace {

namespace fs = std::filesystem;
namespace options = empi::options;
using nlohmann::json;
using namespace spe10;

void write_paraview(const Snapshot& s, const fs::path& dir, const std::string& stem, io::PvdSeries& series) {
  const auto nz = static_cast<std::size_t>(s.nz);
  std::map<int, std::vector<std::size_t>> by_owner;
  for (std::size_t i = 0; i < s.columns.size(); ++i) by_owner[s.columns[i].owner].push_back(i);
  std::vector<std::string> pieces;
  for (const auto& [owner, mine] : by_owner) {
    std::vector<double> points;
    std::vector<std::int64_t> corners;
    std::vector<float> saturation, pressure, permeability;
    std::vector<std::int32_t> level, owners(mine.size() * nz, owner);
    for (const std::size_t i : mine) {
      const SnapshotColumn& c = s.columns[i];
      const auto first = static_cast<std::int64_t>(points.size() / 3);
      for (std::size_t z = 0; z <= nz; ++z)
        for (int v = 0; v < 3; ++v)
          points.insert(points.end(),
                        {c.x[v], c.y[v],
                         -(static_cast<double>(s.top) + static_cast<double>(z) * static_cast<double>(s.dz))});
      for (std::size_t z = 0; z < nz; ++z) {
        for (std::int64_t v = 0; v < 6; ++v) corners.push_back(first + 3 * static_cast<std::int64_t>(z) + v);
        saturation.push_back(s.s[i * nz + z]), pressure.push_back(s.p[i * nz + z]),
            permeability.push_back(s.k[i * nz + z]);
        level.push_back(c.level);
      }
    }
    pieces.push_back(stem + "-" + std::to_string(owner) + ".vtu");
    io::TriangleMesh mesh{points,
                          corners,
                          {{"saturation", std::span<const float>(saturation)},
                           {"pressure_psi", std::span<const float>(pressure)},
                           {"permeability_mD", std::span<const float>(permeability)},
                           {"level", std::span<const std::int32_t>(level)},
                           {"owner", std::span<const std::int32_t>(owners)}}};
    mesh.corners = 6;
    io::write_vtu((dir / pieces.back()).string(), mesh);
  }
  const std::vector<std::pair<std::string, io::ArrayType>> arrays = {
      {"saturation", io::ArrayType::Float32},
      {"pressure_psi", io::ArrayType::Float32},
      {"permeability_mD", io::ArrayType::Float32},
      {"level", io::ArrayType::Int32},
      {"owner", io::ArrayType::Int32}};
  io::write_pvtu((dir / (stem + ".pvtu")).string(), pieces, arrays);
  series.add(86400 * s.days, stem + ".pvtu");
}

io::PageText page_text() {
  return {"SPE10: an oil reservoir that finds the number of workers that suits it",
          "Water drives the oil to the producers. The job starts on all its workers and gives back those "
          "that do not "
          "pay for themselves, by what it measures.",
          {{"resources", "Workers and prisms over the run time"},
           {"production", "Oil, water and pressure of each well"},
           {"water", "Water saturation on layers, and the mesh coloured by the worker that owns each column"},
           {"cut", "A cut through the injector: water saturation and permeability"},
           {"profiles", "Workers over the run time of several runs"}}};
}

// All that there is to draw in a folder, now.
class Report {
 public:
  Report(fs::path dir, std::vector<int> layers, io::Drawing drawing)
      : dir_(std::move(dir)), layers_(std::move(layers)), drawing_(std::move(drawing)) {}

  void draw() {
    const fs::path description = dir_ / "spe10.json";
    const json results = drawing_.has(description) ? io::read_json(description) : json::object();
    const json wells = results.value("wells", json::array());
    mark(wells);
    const auto range = results.value("mobile_saturation", std::vector<double>{0.2, 0.8});
    options_.lowest_s = range.at(0), options_.highest_s = range.at(1);
    drawing_.once(dir_ / "cells.csv",
                  [&] { options_.workers = io::draw_resources(dir_, "Resource profile", "prisms"); });
    drawing_.once(dir_ / "production.csv", [&] { draw_production(dir_, wells); });
    for (const fs::path& file : io::snapshots(dir_)) drawing_.once(file, [&] { draw_water(file); });
    show();
  }

 private:
  void mark(const json& wells) {
    options_.wells.clear();
    for (const json& well : wells) {
      const auto at = well.value("at_ft", std::vector<double>{0, 0});
      options_.wells.push_back({well.value("name", ""), at.at(0), at.at(1), well.value("injector", false)});
      if (options_.wells.back().injector) options_.cut_y = options_.wells.back().y;
    }
  }

  void draw_water(const fs::path& file) {
    const Snapshot s = read_snapshot(file.string());
    const std::string number = io::snapshot_number(file);
    options_.layers.clear();
    for (const int layer : layers_.empty() ? std::vector<int>{1, (s.nz + 1) / 2, s.nz} : layers_)
      options_.layers.push_back(std::clamp(layer, 1, s.nz) - 1);
    const auto same = std::ranges::unique(options_.layers);  // of one or two layers
    options_.layers.erase(same.begin(), same.end());
    draw_layers(s, options_).write_png((dir_ / ("water-" + number + ".png")).string());
    draw_cut(s, options_).write_png((dir_ / ("cut-" + number + ".png")).string());
    if (drawing_.running()) show();  // each one as it comes
  }

  void show() {
    if (!drawing_.running() || drawing_.has(dir_ / "progress.json"))
      io::write_page(dir_, page_text(), drawing_.running());
  }

  const fs::path dir_;
  const std::vector<int> layers_;
  io::Drawing drawing_;
  PictureOptions options_;
};

void write_paraview(const fs::path& dir) {
  io::PvdSeries series((dir / "spe10.pvd").string());
  for (const fs::path& file : io::snapshots(dir))
    write_paraview(read_snapshot(file.string()), dir, "spe10-" + io::snapshot_number(file), series);
  std::printf("for ParaView: %s\n", (dir / "spe10.pvd").c_str());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> layers;
  return io::report_main(
      {.name = "empi-spe10-report",
       .what = "Makes pictures, charts and ParaView files from the folder that empi-spe10 wrote.",
       .page = page_text(),
       .more =
           {
               {"--layer",
                &layers,
                "layer to draw, 1 = top; default: top, middle, bottom",
                {.check = options::in_range(1, 1000)}},
           },
       .draw =
           [&](const fs::path& dir, io::Drawing drawing, const auto& repeat) {
             Report report(dir, layers, std::move(drawing));
             repeat([&] { report.draw(); });
           },
       .write_paraview = [](const fs::path& dir) { write_paraview(dir); },
       .compares = true},
      argc, argv);
}
