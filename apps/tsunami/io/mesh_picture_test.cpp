// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/mesh_picture.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "apps/io/draw/chart.hpp"
#include "apps/io/test_files.hpp"
#include "apps/io/test_pictures.hpp"
#include "apps/tsunami/io/analytic_ocean.hpp"
#include "apps/tsunami/io/gauge.hpp"

namespace io::test {
namespace {

using draw::Canvas;
using draw::Colour;

TEST(GaugePicture, ShowsObservedAndComputed) {
  TimeSeries observed, computed;
  const auto observed_path = data_file("chile2010/32412_notide.txt");
  const auto computed_path = data_file("chile2010/geoclaw_reference/gauge32412.txt");
  if (!observed_path.empty() && !computed_path.empty()) {
    observed = read_gauge(observed_path);
    computed = read_gauge(computed_path);
  } else {
    for (int k = 0; k < 600; ++k) {
      observed.t.push_back(k * 60);
      observed.v.push_back(0.2 * std::sin(k * 0.07) * std::exp(-k * 0.004));
    }
    computed = observed;
  }
  draw::Chart chart;
  chart.title = "Gauge 32412";
  chart.subtitle = "rms 0.033 m, correlation 0.79";
  chart.x_label = "time after the earthquake, h";
  chart.y_label = "sea surface elevation, m";
  chart.x_range = {0, 9};
  chart.y_range = {-0.3, 0.3};
  const auto hours = [](std::vector<double> t) {
    for (double& x : t) x /= 3600;
    return t;
  };
  chart.series = {
      {"observed", hours(observed.t), observed.v, draw::Style::Line, false, Colour{0.25, 0.27, 0.31}, 1.6},
      {"computed", hours(computed.t), computed.v}};
  chart.markers = {{2.0, "compared from here", {0.5, 0.5, 0.5}}};
  const Canvas canvas = draw::render(chart);
  EXPECT_GT(darkness(canvas, {100, 100, 1100, 600}), 1000);
  keep(canvas, "gauge.png");
}

// Newest-vertex bisection of two right triangles per 10 degrees, finer where a ring wave passes.
void bisect(std::vector<PictureCell>& cells, const PictureCell& cell, int depth) {
  const double x = (cell.lon[0] + cell.lon[1] + cell.lon[2]) / 3,
               y = (cell.lat[0] + cell.lat[1] + cell.lat[2]) / 3;
  const double distance = std::hypot(x + 73, y + 36) - 15;
  const int wanted = std::abs(distance) < 3 ? 11 : std::abs(distance) < 7 ? 7 : 4;
  if (depth < wanted) {
    PictureCell left = cell, right = cell;
    const float mx = (cell.lon[0] + cell.lon[2]) / 2, my = (cell.lat[0] + cell.lat[2]) / 2;
    left.lon[0] = cell.lon[0], left.lat[0] = cell.lat[0], left.lon[1] = mx, left.lat[1] = my;
    left.lon[2] = cell.lon[1], left.lat[2] = cell.lat[1];
    right.lon[0] = cell.lon[1], right.lat[0] = cell.lat[1], right.lon[1] = mx, right.lat[1] = my;
    right.lon[2] = cell.lon[2], right.lat[2] = cell.lat[2];
    bisect(cells, left, depth + 1);
    bisect(cells, right, depth + 1);
    return;
  }
  PictureCell leaf = cell;
  leaf.b = static_cast<float>(analytic_ocean(x, y));
  const double eta = 0.25 * std::cos(distance * 1.2) * std::exp(-distance * distance / 8);
  leaf.h = leaf.b < 0 ? static_cast<float>(eta - leaf.b) : 0;
  cells.push_back(leaf);
}

std::vector<PictureCell> ring_mesh() {
  std::vector<PictureCell> cells;
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      const auto x = static_cast<float>(-120 + 10 * i), y = static_cast<float>(-60 + 10 * j);
      bisect(cells, {{x, x, x + 10}, {y + 10, y, y}}, 0);
      bisect(cells, {{x + 10, x + 10, x}, {y, y + 10, y + 10}}, 0);
    }
  }
  for (std::size_t k = 0; k < cells.size(); ++k) cells[k].owner = static_cast<int>(5 * k / cells.size());
  return cells;
}

TEST(MeshPicture, ShowsWaveLandAndOwners) {
  PictureOptions options;
  options.region = chile_region();
  options.title = "Chile 2010, 2 h 10 min after the earthquake";
  options.gauges = {{-86.392, -17.975, "32412"}};
  options.max_workers = 8;
  const auto cells = ring_mesh();
  const Canvas canvas = draw_wave_and_mesh(cells, options);
  keep(canvas, "mesh.png");
  // No hole: inside the panels nothing has the colour of an empty panel.
  int empty = 0, red = 0, blue = 0;
  for (int y = 100; y < 600; ++y) {
    for (int x = 0; x < canvas.width(); ++x) {
      const Colour c = canvas.pixel(x, y);
      empty += std::abs(c.r - 0.93) < 1e-3 && std::abs(c.g - 0.94) < 1e-3 && std::abs(c.b - 0.95) < 1e-3;
      red += x < 600 && c.r > c.b + 0.3;
      blue += x < 600 && c.b > c.r + 0.3;
    }
  }
  EXPECT_EQ(empty, 0);
  EXPECT_GT(red, 1000);   // crests
  EXPECT_GT(blue, 1000);  // troughs
  // With the ground: of the coarse cells in the north only the part that is land has its colour.
  const auto land_pixels = [&](const Canvas& picture) {
    int count = 0;
    for (int y = 100; y < 200; ++y)
      for (int x = 300; x < 540; ++x) {
        const Colour c = picture.pixel(x, y);
        count += c.r > c.b + 0.05 && c.r < 0.87;
      }
    return count;
  };
  const Raster ground = analytic_ocean_raster();
  options.ground = &ground;
  const Canvas with_coast = draw_wave_and_mesh(cells, options);
  keep(with_coast, "coast.png");
  int expected = 0;
  for (int y = 100; y < 200; ++y)  // the left panel: 60 degrees on 450 x 520 pixels
    for (int x = 300; x < 540; ++x)
      expected += ground.at(-120 + (x - 94) * 60 / 450.0, -(y - 92) * 60 / 520.0) > 0;
  EXPECT_NEAR(land_pixels(with_coast), expected, 0.05 * expected);
  options.mesh_panel = false;
  options.width = 640;
  keep(draw_wave_and_mesh(cells, options), "wave.png");
  EXPECT_NO_THROW(draw_wave_and_mesh({}, options));
}

}  // namespace
}  // namespace io::test
