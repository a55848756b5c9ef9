// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/mesh_picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>

#include "apps/io/draw/ticks.hpp"
#include "apps/io/draw/triangle_panel.hpp"

namespace io {
namespace {

using draw::Align;
using draw::Box;
using draw::Canvas;
using draw::Colour;
using draw::kFaintInk;
using draw::kInk;
using draw::Point;
using draw::TrianglePanel;

// Shows the region.
TrianglePanel make_panel(const Box& box, const Region& region) {
  return {box, region.west, region.east, region.south, region.north};
}

std::string degrees(double value, const char* positive, const char* negative) {
  char text[32];
  std::snprintf(text, sizeof text, "%g°%s", std::abs(value),
                value > 0   ? positive
                : value < 0 ? negative
                            : "");
  return text;
}

// A multiple of 1, 2, 5, 10, 15, 20, 30 ... degrees.
std::vector<double> degree_ticks(double low, double high, int wanted) {
  if (high - low < 2 * wanted) return draw::nice_ticks(low, high, wanted);
  double step = 180;
  for (const double s : {2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0}) {
    if ((high - low) / s <= wanted + 0.5) {
      step = s;
      break;
    }
  }
  std::vector<double> ticks;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9; ++k) ticks.push_back(k * step);
  return ticks;
}

constexpr draw::Pen kGraticule{kInk, 0.6, 0.25, 0};

void draw_axes(Canvas& canvas, const TrianglePanel& panel, const Region& region) {
  const Box& box = panel.box();
  canvas.frame(box, {kFaintInk, 1.2, 1, 0});
  for (const double lon : degree_ticks(region.west, region.east, 5)) {
    const Point at = panel.place(lon, region.south);
    const double shown = lon > 180 ? lon - 360 : lon;
    canvas.line({at.x, box.top}, {at.x, box.bottom}, kGraticule);
    canvas.line({at.x, box.bottom}, {at.x, box.bottom + 5}, {kFaintInk, 1, 1, 0});
    canvas.text({at.x, box.bottom + 20}, degrees(shown, "E", "W"),
                {.size = 13, .colour = kInk, .align = Align::Centre});
  }
  for (const double lat : degree_ticks(region.south, region.north, 6)) {
    const Point at = panel.place(region.west, lat);
    canvas.line({box.left, at.y}, {box.right, at.y}, kGraticule);
    canvas.line({box.left - 5, at.y}, {box.left, at.y}, {kFaintInk, 1, 1, 0});
    canvas.text({box.left - 9, at.y + 4.5}, degrees(lat, "N", "S"),
                {.size = 13, .colour = kInk, .align = Align::Right});
  }
}

void draw_gauges(Canvas& canvas, const TrianglePanel& panel, const PictureOptions& options) {
  for (const auto& gauge : options.gauges) {
    if (!options.region.contains(gauge.lon, gauge.lat)) continue;
    const Point at = panel.place(gauge.lon, gauge.lat);
    canvas.disc(at, 5.5, draw::kWhite);
    canvas.disc(at, 4.2, kInk);
    canvas.disc(at, 2.2, {0.98, 0.8, 0.2});
    canvas.text({at.x + 10, at.y + 4.5}, gauge.name,
                {.size = 13, .colour = kInk, .bold = true, .halo = true});
  }
}

void draw_colour_bar(Canvas& canvas, const Box& box, double limit) {
  for (int x = static_cast<int>(box.left); x < static_cast<int>(box.right); ++x) {
    const double value = 2 * (x + 0.5 - box.left) / box.width() - 1;
    canvas.fill({static_cast<double>(x), box.top, x + 1.0, box.bottom}, draw::diverging(value));
  }
  canvas.frame(box, {kFaintInk, 1, 1, 0});
  const auto ticks = draw::nice_ticks(-limit, limit, 5);
  const auto labels = draw::tick_labels(ticks);
  for (std::size_t k = 0; k < ticks.size(); ++k) {
    const double x = box.left + (ticks[k] / limit + 1) / 2 * box.width();
    canvas.line({x, box.bottom}, {x, box.bottom + 4}, {kFaintInk, 1, 1, 0});
    canvas.text({x, box.bottom + 17}, labels[k], {.size = 12.5, .colour = kInk, .align = Align::Centre});
  }
}

// Whether the ground knows better than a cell where the coast is in it.
bool much_coarser(const PictureCell& cell, const Raster& ground) {
  const auto [south, north] = std::minmax({cell.lat[0], cell.lat[1], cell.lat[2]});
  return north - south > 3 * ground.dy;
}

void paint_wave(TrianglePanel& panel, std::span<const PictureCell> cells, const PictureOptions& options) {
  for (const auto& cell : cells) {
    const bool dry = cell.h < options.dry_depth;
    if (options.ground != nullptr && much_coarser(cell, *options.ground)) {
      const Colour sea = draw::diverging(dry ? 0 : cell.eta() / options.eta_limit);
      panel.triangle(cell.lon, cell.lat, [&](double, double lon, double lat) {
        const double height = options.ground->at(lon, lat);
        return height > 0 ? draw::land(height) : sea;
      });
      continue;
    }
    const Colour colour = dry ? draw::land(cell.b) : draw::diverging(cell.eta() / options.eta_limit);
    panel.triangle(cell.lon, cell.lat, [&](double) { return colour; });
  }
}

// The ground's line of height 0, by marching squares.
void draw_coast(Canvas& canvas, const TrianglePanel& panel, const Raster& ground) {
  constexpr Point kUp{std::numeric_limits<double>::quiet_NaN(), 0};
  std::vector<Point> coast;
  for (int j = 0; j + 1 < ground.ny; ++j)
    for (int i = 0; i + 1 < ground.nx; ++i) {
      const int di[] = {0, 1, 1, 0}, dj[] = {0, 0, 1, 1};
      Point ends[4];
      int found = 0;
      for (int k = 0; k < 4; ++k) {
        const int m = (k + 1) % 4;
        const double a = ground.node(i + di[k], j + dj[k]), b = ground.node(i + di[m], j + dj[m]);
        if ((a > 0) == (b > 0)) continue;
        const double t = a / (a - b);
        ends[found++] = panel.place(ground.x0 + (i + di[k] + t * (di[m] - di[k])) * ground.dx,
                                    ground.y0 + (j + dj[k] + t * (dj[m] - dj[k])) * ground.dy);
      }
      for (int k = 0; k + 1 < found; k += 2) coast.insert(coast.end(), {ends[k], ends[k + 1], kUp});
    }
  canvas.set_clip(panel.box());
  canvas.polyline(coast, {kInk, 1.1, 0.75, 0});
  canvas.clear_clip();
}

void paint_mesh(TrianglePanel& panel, std::span<const PictureCell> cells, const PictureOptions& options) {
  for (const auto& cell : cells) {
    const bool dry = cell.h < options.dry_depth;
    panel.owned_triangle(cell.lon, cell.lat, cell.owner, dry ? Colour{0.80, 0.79, 0.76} : draw::kWhite,
                         dry ? 0.40 : 0.52);
  }
}

}  // namespace

Canvas draw_wave_and_mesh(std::span<const PictureCell> cells, const PictureOptions& options) {
  Canvas canvas(options.width, options.height);
  canvas.name(options.title);
  std::vector<std::size_t> cells_of(static_cast<std::size_t>(std::max(options.max_workers, 0)));
  for (const auto& cell : cells) {
    const auto owner = static_cast<std::size_t>(std::max(cell.owner, 0));
    if (owner >= cells_of.size()) cells_of.resize(owner + 1);
    ++cells_of[owner];
  }
  const auto used = std::count_if(cells_of.begin(), cells_of.end(), [](std::size_t n) { return n > 0; });

  // Both panels keep the region's proportions at its middle latitude.
  const Region& region = options.region;
  const double stretch = std::cos((region.south + region.north) / 2 * std::numbers::pi / 180);
  const double aspect = (region.east - region.west) * stretch / (region.north - region.south);
  const int panels = options.mesh_panel ? 2 : 1;
  const double top = 92, bottom_margin = 88, left_margin = 62, right_margin = 24;
  const double cell_width = static_cast<double>(options.width) / panels;
  double height = options.height - top - bottom_margin, width = cell_width - left_margin - right_margin;
  if (width / height > aspect) {
    width = std::floor(height * aspect);
  } else {
    height = std::floor(width / aspect);
  }
  const auto box_of = [&](int panel) {
    const double left =
        std::floor(panel * cell_width + left_margin + (cell_width - left_margin - right_margin - width) / 2);
    return Box{left, top, left + std::floor(width), top + std::floor(height)};
  };

  TrianglePanel wave = make_panel(box_of(0), region);
  paint_wave(wave, cells, options);
  wave.copy_to(canvas);
  if (options.ground != nullptr) draw_coast(canvas, wave, *options.ground);
  draw_axes(canvas, wave, region);
  draw_gauges(canvas, wave, options);
  const Box left_box = wave.box();
  canvas.text({left_box.left, 40}, options.title, {.size = 22, .colour = kInk, .bold = true});
  canvas.text({left_box.left, top - 12}, "Sea surface elevation, m", {.size = 15, .colour = kFaintInk});
  const double below = left_box.bottom + 34;
  draw_colour_bar(canvas, {left_box.left, below, left_box.right, below + 12}, options.eta_limit);
  if (!options.mesh_panel) return canvas;

  TrianglePanel mesh = make_panel(box_of(1), region);
  paint_mesh(mesh, cells, options);
  mesh.copy_to(canvas);
  if (options.ground != nullptr) draw_coast(canvas, mesh, *options.ground);
  draw_axes(canvas, mesh, region);
  const Box right_box = mesh.box();
  canvas.text({right_box.left, top - 12},
              "Mesh by worker: " + draw::grouped(cells.size()) + " cells on " + std::to_string(used) +
                  (used == 1 ? " worker" : " workers"),
              {.size = 15, .colour = kFaintInk});
  draw::draw_workers(canvas, {right_box.left, below, right_box.right, below + 24}, cells_of);
  return canvas;
}

}  // namespace io
