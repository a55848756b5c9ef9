// empi-spe10-report DIR: turns what a run left (snapshots, production.csv, cells.csv) into pictures and, with
// --vtu, into files for ParaView. Afterwards and serial, so that no rank of the run has to draw.
#include <algorithm>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/io/draw/chart.hpp"
#include "apps/io/vtu.hpp"
#include "apps/spe10/report/pictures.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using namespace reservoir;

json read_json(const fs::path& path) {
  std::ifstream file(path);
  if (!file) return json::object();
  const json value = json::parse(file, nullptr, false);
  if (value.is_discarded()) throw std::runtime_error(path.string() + ": not JSON");
  return value;
}

// Columns of a comma separated file by the names in its first line.
std::map<std::string, std::vector<double>> read_columns(const fs::path& path) {
  std::map<std::string, std::vector<double>> result;
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

// Workers and prisms over wall-clock time.
void draw_resources(const fs::path& dir) {
  auto columns = read_columns(dir / "cells.csv");
  auto& clock = columns["wall_clock_s"];
  if (clock.empty()) return;
  const json summary = read_json(dir / "summary.json");
  std::vector<double> seconds;
  for (const double t : clock) seconds.push_back(t - clock.front());
  io::draw::Series cells{"prisms", seconds, columns["prisms"], io::draw::Style::Line};
  io::draw::Series ranks{"workers", seconds, columns["ranks"], io::draw::Style::Step, true};
  cells.fill = 0.15;
  io::draw::Chart chart;
  chart.title = "Resource profile";
  char text[160] = "";
  if (summary.contains("run_time_s") && summary["run_time_s"].is_number())
    std::snprintf(text, sizeof text, "%.0f s, %zu changes of size, %.2f s of pause in all",
                  summary.value("run_time_s", 0.0), summary.value("changes", json::array()).size(),
                  summary.value("pause_total_s", 0.0));
  chart.subtitle = text;
  chart.x_label = "run time (s)", chart.y_label = "prisms", chart.right_label = "workers";
  chart.y_from_zero = true;
  chart.series = {cells, ranks};
  io::draw::render(chart).write_png((dir / "resources.png").string());
}

void draw_production(const fs::path& dir, const json& wells) {
  auto columns = read_columns(dir / "production.csv");
  const auto& day = columns["day"];
  if (day.empty()) return;
  io::draw::Chart chart;
  chart.title = "Production";
  chart.subtitle = "oil of each producer, mean reservoir pressure";
  chart.x_label = "days", chart.y_label = "oil (STB/day)", chart.right_label = "pressure (psi)";
  chart.y_from_zero = true;
  double highest = 0;
  for (const json& well : wells) {
    if (well.value("injector", false)) continue;
    const std::string name = well.value("name", "");
    auto& oil = columns[name + "_oil_stb_day"];
    chart.series.push_back({name, day, oil, io::draw::Style::Line});
    // The first hours' rates would flatten all that follows.
    for (std::size_t k = 0; k < oil.size(); ++k)
      if (day[k] >= 0.02 * day.back()) highest = std::max(highest, oil[k]);
  }
  if (highest > 0) chart.y_range = {0, 1.1 * highest};
  chart.series.push_back({"mean pressure", day, columns["mean_pressure_psi"], io::draw::Style::Dashed, true});
  io::draw::render(chart).write_png((dir / "production.png").string());
}

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
      const double turn = (c.x[1] - c.x[0]) * (c.y[2] - c.y[0]) - (c.x[2] - c.x[0]) * (c.y[1] - c.y[0]);
      const int order[] = {0, turn > 0 ? 1 : 2, turn > 0 ? 2 : 1};
      const auto first = static_cast<std::int64_t>(points.size() / 3);
      for (std::size_t z = 0; z <= nz; ++z)
        for (const int v : order)
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

int report(const fs::path& dir, bool paraview, std::vector<int> layers) {
  const json results = read_json(dir / "spe10.json");
  PictureOptions options;
  for (const json& well : results.value("wells", json::array())) {
    const auto block = well.value("block", std::vector<int>{1, 1});
    options.wells.push_back({well.value("name", ""), (block.at(0) - 0.5) * 20, (block.at(1) - 0.5) * 10,
                             well.value("injector", false)});
    if (options.wells.back().injector) options.cut_y = options.wells.back().y;
  }
  if (fs::exists(dir / "cells.csv")) {
    draw_resources(dir);
    auto columns = read_columns(dir / "cells.csv");
    for (const double ranks : columns["ranks"])
      options.workers = std::max(options.workers, static_cast<int>(ranks));
  }
  if (fs::exists(dir / "production.csv")) draw_production(dir, results.value("wells", json::array()));
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(dir))
    if (entry.path().filename().string().starts_with("snapshot-") && entry.path().extension() == ".bin")
      files.push_back(entry.path());
  std::ranges::sort(files);
  io::PvdSeries series((dir / "spe10.pvd").string());
  for (const fs::path& file : files) {
    const Snapshot s = read_snapshot(file.string());
    const std::string number = file.stem().string().substr(9);
    options.layers.clear();
    for (const int layer : layers.empty() ? std::vector<int>{1, (s.nz + 1) / 2, s.nz} : layers)
      options.layers.push_back(std::clamp(layer, 1, s.nz) - 1);
    draw_layers(s, options).write_png((dir / ("water-" + number + ".png")).string());
    draw_cut(s, options).write_png((dir / ("cut-" + number + ".png")).string());
    if (paraview) write_paraview(s, dir, "spe10-" + number, series);
  }
  std::printf("pictures in %s: %zu of the water (water-*.png, cut-*.png), production.png, resources.png%s\n",
              dir.c_str(), files.size(), paraview ? "; ParaView: spe10.pvd" : "");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Makes pictures, charts and ParaView files from the folder that empi-spe10 wrote."};
  std::string dir;
  bool paraview = false;
  std::vector<int> layers;
  app.add_option("DIR", dir, "folder with the results")->required()->check(CLI::ExistingDirectory);
  app.add_flag("--vtu", paraview, "also write .vtu, .pvtu and .pvd for ParaView");
  app.add_option("--layer", layers, "layer to draw, 1 = top; default: top, middle, bottom")
      ->check(CLI::Range(1, 1000));
  try {
    app.parse(argc, argv);
    return report(dir, paraview, layers);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "empi-spe10-report: %s\n", error.what());
    return 2;
  }
}
