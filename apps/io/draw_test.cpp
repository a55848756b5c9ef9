// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <png.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "apps/io/draw/chart.hpp"
#include "apps/io/draw/ticks.hpp"
#include "apps/io/test_files.hpp"
#include "apps/io/test_pictures.hpp"

namespace io::test {
namespace {

using draw::Canvas;
using draw::Colour;
using ::testing::ElementsAre;

TEST(Canvas, LineCoversItsArea) {
  Canvas canvas(100, 100);
  canvas.line({10, 50}, {90, 50}, {draw::kBlack, 4, 1, 0});
  EXPECT_NEAR(darkness(canvas, {20, 0, 80, 100}), 60 * 4, 1e-3);
  Canvas slanted(100, 100);
  slanted.line({0, 20}, {100, 70}, {draw::kBlack, 3, 1, 0});
  EXPECT_NEAR(darkness(slanted, {20, 0, 80, 100}), 60 * 3 * std::hypot(1, 0.5), 4);
}

TEST(Canvas, StrokeIsNotDrawnTwiceWhereItMeetsItself) {
  Canvas canvas(60, 60);
  const draw::Point there_and_back[] = {{10, 30}, {50, 30}, {10, 30}};
  canvas.polyline(there_and_back, {draw::kBlack, 2, 0.5, 0});
  EXPECT_NEAR(canvas.pixel(30, 30).r, 0.5, 1 / 254.0);
}

TEST(Canvas, ClipsDashesAndSkipsWhatIsNotFinite) {
  Canvas canvas(100, 20);
  canvas.set_clip({0, 0, 50, 20});
  canvas.line({0, 10}, {100, 10}, {draw::kBlack, 2, 1, 0});
  EXPECT_GT(darkness(canvas, {0, 0, 50, 20}), 50);
  EXPECT_EQ(darkness(canvas, {50, 0, 100, 20}), 0);
  Canvas dashed(200, 20);
  dashed.line({0, 10}, {200, 10}, {draw::kBlack, 2, 1, 10});
  EXPECT_NEAR(darkness(dashed, {0, 0, 200, 20}), 200, 45);  // half of 400, and the round ends
  Canvas broken(100, 20);
  const draw::Point points[] = {{0, 10}, {40, 10}, {std::nan(""), 10}, {60, 10}, {100, 10}};
  broken.polyline(points, {draw::kBlack, 2, 1, 0});
  EXPECT_EQ(darkness(broken, {45, 0, 55, 20}), 0);
  EXPECT_GT(darkness(broken, {70, 0, 90, 20}), 30);
}

TEST(Canvas, EveryCharacterHasInkOfItsOwn) {
  std::vector<double> ink;
  for (char c = 33; c < 127; ++c) {
    Canvas canvas(60, 60);
    canvas.text({20, 40}, std::string(1, c), {.size = 30, .colour = draw::kBlack});
    const double dark = darkness(canvas, {0, 0, 60, 60});
    EXPECT_GT(dark, 5) << c;
    EXPECT_LT(dark, 600) << c;
    EXPECT_GT(draw::text_width(std::string(1, c)), 0) << c;
  }
  EXPECT_GT(draw::text_width("80°W"), draw::text_width("80W"));
  EXPECT_GT(draw::text_width("Tōhoku, Ω"), draw::text_width("T")) << "UTF-8";
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

// What is put into one keeps its lines.
TEST(Canvas, SvgHasLinesAndLettersAndNoPixels) {
  const ScratchFolder folder;
  Canvas canvas(120, 80), other(60, 40);
  other.line({0, 0}, {60, 40}, {draw::kRed, 2, 1, 0});
  other.text({5, 20}, "72 %");
  canvas.put({30, 20}, other);
  const auto path = folder.path("a.svg");
  canvas.write_svg(path);
  std::ifstream in(path);
  const std::string page((std::istreambuf_iterator<char>(in)), {});
  EXPECT_THAT(page, ::testing::HasSubstr("<svg"));
  EXPECT_THAT(page, ::testing::HasSubstr("stroke-width=\"2\""));
  EXPECT_THAT(page, ::testing::HasSubstr("glyph"));
  EXPECT_THAT(page, ::testing::Not(::testing::HasSubstr("<image")));
  EXPECT_THAT(file_error_of([&] { canvas.write_svg(folder.path("no/a.svg")); }),
              ::testing::HasSubstr("No such file"));
}

TEST(Canvas, PixelsMixAndArePutAsTheyAre) {
  draw::Pixels pixels(3, 2);
  pixels.blend(1, 1, draw::kBlack, 0.5);
  pixels.blend(1, 1, draw::kBlack, 0.5);
  pixels.blend(2, 0, {1, 0, 0});
  pixels.blend(7, 0, draw::kBlack);  // is in no picture
  Canvas canvas(10, 10);
  canvas.put({4, 5}, pixels);
  EXPECT_NEAR(canvas.pixel(5, 6).g, 0.25, 0.01);
  EXPECT_EQ(canvas.pixel(6, 5).g, 0);
  EXPECT_EQ(canvas.pixel(6, 5).r, 1);
  EXPECT_EQ(canvas.pixel(4, 5).g, 1) << "transparent";
}

TEST(Ticks, AreNice) {
  EXPECT_THAT(draw::nice_ticks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(draw::nice_ticks(-0.21, 0.24, 4), ElementsAre(-0.2, 0, 0.2));
  EXPECT_TRUE(draw::nice_ticks(1, 1, 5).empty());
  EXPECT_THAT(draw::log_tick_labels(draw::log_ticks(-2.2, -0.5, 6)),
              ElementsAre("0.01", "0.02", "0.05", "0.1", "0.2"));
  EXPECT_THAT(draw::log_tick_labels(draw::log_ticks(0, 6, 6)),
              ElementsAre("1", "10", "100", "1000", "10000", "100000", "1000000"));
  EXPECT_THAT(draw::tick_labels({-0.2, 0, 0.2}), ElementsAre("-0.2", "0.0", "0.2"));
  EXPECT_THAT(draw::tick_labels({0, 50000, 100000}), ElementsAre("0", "50 k", "100 k"));
  EXPECT_THAT(draw::tick_labels({0, 5e5, 2.5e6}), ElementsAre("0.0", "0.5 M", "2.5 M"));
  EXPECT_THAT(draw::tick_labels({0, 0.000001, 0.000002}), ElementsAre("0.000000", "0.000001", "0.000002"));
  EXPECT_THAT(draw::tick_labels(draw::nice_ticks(-4e-13, 9e-13, 3)), ElementsAre("0", "5e-13"));
  EXPECT_THAT(draw::tick_labels({-5e-13, 0, 5e-13, 1e-12}), ElementsAre("-5e-13", "0", "5e-13", "1e-12"));
  EXPECT_THAT(draw::tick_labels({1e-12}), ElementsAre("1e-12"));
  EXPECT_THAT(draw::tick_labels({0}), ElementsAre("0"));
  EXPECT_THAT(draw::tick_labels({0, 5e12, 1e13}), ElementsAre("0", "5e+12", "1e+13"));
  EXPECT_THAT(draw::tick_labels({2, 2.0000000002}), ElementsAre("2", "2.0000000002"));
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

}  // namespace
}  // namespace io::test
