// empi-spe10-report DIR: turns what a run left (snapshots, production.csv, cells.csv) into pictures and, with
// --vtu, into files for ParaView; with --compare its workers over time beside those of other runs. Afterwards
// and serial, so that no rank of the run has to draw.
#include <algorithm>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/io/report.hpp"
#include "apps/io/vtu.hpp"
#include "apps/spe10/report/charts.hpp"
#include "apps/spe10/report/pictures.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using namespace reservoir;

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
  const json results = io::read_json(dir / "spe10.json");
  PictureOptions options;
  for (const json& well : results.value("wells", json::array())) {
    const auto block = well.value("block", std::vector<int>{1, 1});
    options.wells.push_back({well.value("name", ""), (block.at(0) - 0.5) * 20, (block.at(1) - 0.5) * 10,
                             well.value("injector", false)});
    if (options.wells.back().injector) options.cut_y = options.wells.back().y;
  }
  options.workers = io::draw_resources(dir, "Resource profile", "prisms");
  draw_production(dir, results.value("wells", json::array()));
  const std::vector<fs::path> files = io::snapshots(dir);
  io::PvdSeries series((dir / "spe10.pvd").string());
  for (const fs::path& file : files) {
    const Snapshot s = read_snapshot(file.string());
    const std::string number = io::snapshot_number(file);
    options.layers.clear();
    for (const int layer : layers.empty() ? std::vector<int>{1, (s.nz + 1) / 2, s.nz} : layers)
      options.layers.push_back(std::clamp(layer, 1, s.nz) - 1);
    const auto same = std::ranges::unique(options.layers);  // of one or two layers
    options.layers.erase(same.begin(), same.end());
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
  std::vector<fs::path> others;
  app.add_option("DIR", dir, "folder with the results")->required()->check(CLI::ExistingDirectory);
  app.add_flag("--vtu", paraview, "also write .vtu, .pvtu and .pvd for ParaView");
  app.add_option("--layer", layers, "layer to draw, 1 = top; default: top, middle, bottom")
      ->check(CLI::Range(1, 1000));
  app.add_option("--compare", others, "other runs: DIR/profiles.png shows the workers of all of them")
      ->check(CLI::ExistingDirectory);
  try {
    app.parse(argc, argv);
    if (!others.empty()) {
      others.insert(others.begin(), dir);
      draw_profiles(others);
    }
    return report(dir, paraview, layers);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "empi-spe10-report: %s\n", error.what());
    return 2;
  }
}
