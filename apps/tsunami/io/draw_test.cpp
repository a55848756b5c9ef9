#include <gmock/gmock.h>
#include <png.h>

#include <cmath>

#include "apps/tsunami/io/analytic_ocean.hpp"
#include "apps/tsunami/io/draw/chart.hpp"
#include "apps/tsunami/io/draw/ticks.hpp"
#include "apps/tsunami/io/gauge.hpp"
#include "apps/tsunami/io/mesh_picture.hpp"
#include "apps/tsunami/io/test_files.hpp"

namespace io::test {
namespace {

using draw::Canvas;
using draw::Colour;
using ::testing::ElementsAre;

double darkness(const Canvas& canvas, const draw::Box& box) {
  double sum = 0;
  for (int y = static_cast<int>(box.top); y < static_cast<int>(box.bottom); ++y) {
    for (int x = static_cast<int>(box.left); x < static_cast<int>(box.right); ++x)
      sum += 1 - canvas.pixel(x, y).g;
  }
  return sum;
}

// Pictures are kept in TSUNAMI_IO_PICTURES, if set, for a look with one's own eyes.
void keep(const Canvas& canvas, const std::string& name) {
  if (const char* folder = std::getenv("TSUNAMI_IO_PICTURES"))
    canvas.write_png(std::string(folder) + "/" + name);
}

TEST(Canvas, LineCoversItsArea) {
  Canvas canvas(100, 100);
  canvas.line({10, 50}, {90, 50}, {draw::black, 4, 1, 0});
  EXPECT_NEAR(darkness(canvas, {20, 0, 80, 100}), 60 * 4, 1e-3);
  Canvas slanted(100, 100);
  slanted.line({0, 20}, {100, 70}, {draw::black, 3, 1, 0});
  EXPECT_NEAR(darkness(slanted, {20, 0, 80, 100}), 60 * 3 * std::hypot(1, 0.5), 4);
}

TEST(Canvas, StrokeIsNotDrawnTwiceWhereItMeetsItself) {
  Canvas canvas(60, 60);
  const draw::Point there_and_back[] = {{10, 30}, {50, 30}, {10, 30}};
  canvas.polyline(there_and_back, {draw::black, 2, 0.5, 0});
  EXPECT_NEAR(canvas.pixel(30, 30).r, 0.5, 1e-9);
}

TEST(Canvas, ClipsDashesAndSkipsWhatIsNotFinite) {
  Canvas canvas(100, 20);
  canvas.set_clip({0, 0, 50, 20});
  canvas.line({0, 10}, {100, 10}, {draw::black, 2, 1, 0});
  EXPECT_GT(darkness(canvas, {0, 0, 50, 20}), 50);
  EXPECT_EQ(darkness(canvas, {50, 0, 100, 20}), 0);
  Canvas dashed(200, 20);
  dashed.line({0, 10}, {200, 10}, {draw::black, 2, 1, 10});
  EXPECT_NEAR(darkness(dashed, {0, 0, 200, 20}), 200, 45);  // half of 400, and the round ends
  Canvas broken(100, 20);
  const draw::Point points[] = {{0, 10}, {40, 10}, {std::nan(""), 10}, {60, 10}, {100, 10}};
  broken.polyline(points, {draw::black, 2, 1, 0});
  EXPECT_EQ(darkness(broken, {45, 0, 55, 20}), 0);
  EXPECT_GT(darkness(broken, {70, 0, 90, 20}), 30);
}

TEST(Canvas, EveryCharacterHasInkOfItsOwn) {
  std::vector<double> ink;
  for (char c = 33; c < 127; ++c) {
    Canvas canvas(60, 60);
    canvas.text({20, 40}, std::string(1, c), {.size = 30, .colour = draw::black});
    const double dark = darkness(canvas, {0, 0, 60, 60});
    EXPECT_GT(dark, 5) << c;
    EXPECT_LT(dark, 600) << c;
    EXPECT_GT(draw::text_width(std::string(1, c)), 0) << c;
  }
  EXPECT_LT(draw::text_width("80°W"), draw::text_width("80?W"));
  EXPECT_EQ(draw::text_width("80€W"), draw::text_width("80?W"));
}

TEST(Canvas, PngReadsBackAsDrawn) {
  const ScratchFolder folder;
  Canvas canvas(31, 17, {0.2, 0.4, 0.6});
  canvas.fill({3, 4, 5, 6}, {1, 0.5, 0});
  const auto path = folder.path("a.png");
  canvas.write_png(path);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0) << image.message;
  image.format = PNG_FORMAT_RGB;
  ASSERT_EQ(image.width, 31u);
  ASSERT_EQ(image.height, 17u);
  std::vector<unsigned char> bytes(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, bytes.data(), 0, nullptr), 0) << image.message;
  const auto pixel = [&](int x, int y) {
    return std::vector<int>(bytes.begin() + 3 * (31 * y + x), bytes.begin() + 3 * (31 * y + x) + 3);
  };
  EXPECT_THAT(pixel(0, 0), ElementsAre(51, 102, 153));
  EXPECT_THAT(pixel(4, 5), ElementsAre(255, 128, 0));
  EXPECT_THAT(file_error_of([&] { canvas.write_png(folder.path("no/a.png")); }),
              ::testing::HasSubstr("No such file"));
  EXPECT_THROW(Canvas(0, 5), std::invalid_argument);
}

TEST(Ticks, AreNice) {
  EXPECT_THAT(draw::nice_ticks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(draw::nice_ticks(-0.21, 0.24, 4), ElementsAre(-0.2, 0, 0.2));
  EXPECT_TRUE(draw::nice_ticks(1, 1, 5).empty());
  EXPECT_THAT(draw::tick_labels({-0.2, 0, 0.2}), ElementsAre("-0.2", "0.0", "0.2"));
  EXPECT_THAT(draw::tick_labels({0, 50000, 100000}), ElementsAre("0", "50 k", "100 k"));
  EXPECT_THAT(draw::tick_labels({0, 5e5, 2.5e6}), ElementsAre("0.0", "0.5 M", "2.5 M"));
  const auto range = draw::nice_range(0.3, 9.1, 5);
  EXPECT_DOUBLE_EQ(range.low, 0);
  EXPECT_DOUBLE_EQ(range.high, 10);
}

TEST(Chart, DrawsEachSeriesWhereItsValuesAre) {
  draw::Chart chart;
  chart.title = "Title";
  chart.x_range = {0, 10};
  chart.y_range = {0, 1};
  chart.series = {{"low", {0, 10}, {0.25, 0.25}, draw::Style::Line, false, Colour{1, 0, 0}, 3},
                  {"high", {0, 10}, {75, 75}, draw::Style::Line, true, Colour{0, 0, 1}, 3}};
  chart.right_range = {0, 100};
  const Canvas canvas = draw::render(chart);
  int red = -1, blue = -1;
  for (int y = 0; y < canvas.height(); ++y) {
    const Colour c = canvas.pixel(500, y);
    if (c.r > 0.95 && c.g < 0.05) red = y;
    if (c.b > 0.95 && c.r < 0.05) blue = y;
  }
  ASSERT_GT(red, 0);
  ASSERT_GT(blue, 0);
  EXPECT_LT(blue, red);  // three quarters up against one quarter up
  chart.series[0].y.pop_back();
  EXPECT_THROW(draw::render(chart), std::invalid_argument);
  EXPECT_NO_THROW(draw::render({}));  // an empty chart is a chart
}

TEST(Chart, GaugePicture) {
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

TEST(Chart, ResourceProfilePicture) {
  draw::Chart chart;
  chart.title = "Workers and mesh cells over time";
  chart.subtitle = "Chile 2010, elastic run, policy threshold";
  chart.x_label = "run time, s";
  chart.y_label = "ranks";
  chart.right_label = "cells";
  chart.y_from_zero = true;
  draw::Series ranks{"ranks", {0, 60, 120, 200, 300, 420, 500}, {1, 2, 4, 8, 5, 2, 2}, draw::Style::Step};
  ranks.fill = 0.15;
  draw::Series cells{"cells", {}, {}, draw::Style::Line, true};
  for (int k = 0; k <= 500; k += 5) {
    cells.x.push_back(k);
    cells.y.push_back(2e4 + 3e5 * std::exp(-std::pow((k - 240) / 120.0, 2)));
  }
  chart.series = {ranks, cells};
  chart.markers = {{60, "grow 1 to 2"}, {300, "shrink 8 to 5"}};
  keep(draw::render(chart), "profile.png");
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
  options.mesh_panel = false;
  options.width = 640;
  keep(draw_wave_and_mesh(cells, options), "wave.png");
  EXPECT_NO_THROW(draw_wave_and_mesh({}, options));
}

}  // namespace
}  // namespace io::test
