// SPDX-License-Identifier: Apache-2.0
// A tsunami at one time in one picture: the wave, and the mesh with the workers that compute it.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "apps/io/draw/canvas.hpp"
#include "apps/tsunami/io/raster.hpp"

namespace io {

/// One triangle of the mesh with its values; trivially copyable, to be gathered from all ranks.
struct PictureCell {
  float lon[3] = {}, lat[3] = {};  ///< vertices, degrees
  float h = 0;                     ///< water depth, m
  float b = 0;                     ///< floor, m above sea level
  int owner = 0;                   ///< index of the worker that computes it
  float eta() const { return h + b; }
};

struct PictureGauge {
  double lon = 0, lat = 0;
  std::string name;
};

struct PictureOptions {
  Region region;            ///< what is shown
  std::string title;        ///< for example "Chile 2010, 3 h 20 min after the earthquake"
  double eta_limit = 0.2;   ///< colours run from -eta_limit to +eta_limit, m
  double dry_depth = 0.01;  ///< cells with less water are shown as land, m
  std::vector<PictureGauge> gauges;
  const Raster* ground =
      nullptr;             ///< floor, m above sea level: shows the coast where cells are coarser; not owned
  bool mesh_panel = true;  ///< false: the wave alone
  int max_workers = 0;     ///< squares in the row of workers; at least the owners that occur
  int width = 1200, height = 700;
};

/// Left: the sea surface, diverging colours, land by its height; in cells much coarser than the ground's
/// nodes, land and sea are the ground's, and the coast is a line. Right: the mesh, filled and outlined in its
/// owner's colour, and one square per worker (grey: without cells). Lines of triangles below about one pixel
/// fade into the fill. Serial; a million cells take about a second.
draw::Canvas draw_wave_and_mesh(std::span<const PictureCell> cells, const PictureOptions& options);

}  // namespace io
