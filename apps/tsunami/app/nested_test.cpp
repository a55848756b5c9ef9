// SPDX-License-Identifier: Apache-2.0
// A raster of one arc minute in one of five: inside of it the floor is the fine one's, outside the coarse
// one's, and where it ends there is no step but that by which the two data differ there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "apps/io/test_files.hpp"
#include "apps/tsunami/app/scenario.hpp"
#include "apps/tsunami/io/test_etopo5.hpp"
#include "apps/tsunami/io/topography.hpp"

namespace tsunami {
namespace {

using io::test::ScratchFolder;
using Floor = std::function<double(double lon, double lat)>;

constexpr double kMinute = 1.0 / 60;

// Topotype 2 of nx x ny points.
std::string text_of(const Floor& floor, double west, double south, int nx, int ny, double spacing) {
  std::string text = std::to_string(nx) + " ncols\n" + std::to_string(ny) + " nrows\n" +
                     std::to_string(west) + " xll\n" + std::to_string(south) + " yll\n" +
                     std::to_string(spacing) + " cellsize\n-9999 nodata_value\n";
  for (int j = ny - 1; j >= 0; --j)
    for (int i = 0; i < nx; ++i)
      text += std::to_string(floor(west + i * spacing, south + j * spacing)) + "\n";
  return text;
}

// What two rasters say at the fine one's border, and the floor on both sides of it.
struct Border {
  double furthest = 0;  // of the floor's step from the difference of the two, m
  double widest = 0, mean_square = 0;
};

class Nested : public ::testing::Test {
 protected:
  void expect_each_where_it_counts(const std::string& fine_file, const std::string& coarse_file) {
    Options o;
    o.west = 137, o.east = 150, o.south = 32, o.north = 43;
    o.topography = {fine_file, coarse_file};
    // Far from the fine raster, and nothing.
    o.dtopo = folder.write("source.tt3",
                           "2 mx\n2 my\n1 mt\n148.5 xlower\n32.5 ylower\n0 t0\n1 dx\n1 dy\n0 dt\n0 0\n0 0\n");
    const swe::Function floor = make_scenario(o).bed.still;
    const auto fine = io::read_topography(fine_file),
               coarse =
                   io::read_topography(coarse_file, {.region = io::Region{137, 150, 32, 43}, .fill = {}});
    const io::Region box = fine->region();
    for (int j = 0; j < fine->ny; ++j)
      for (int i = 0; i < fine->nx; ++i)
        ASSERT_NEAR(floor(fine->x0 + i * fine->dx, fine->y0 + j * fine->dy), fine->node(i, j), 1e-6);
    int outside = 0;
    for (double lat = 32.01; lat < 43; lat += 0.037)
      for (double lon = 137.01; lon < 150; lon += 0.041) {
        if (box.contains(lon, lat)) {
          ASSERT_EQ(floor(lon, lat), fine->at(lon, lat)) << lon << ", " << lat;
        } else {
          ASSERT_EQ(floor(lon, lat), coarse->at(lon, lat)) << lon << ", " << lat;
          ++outside;
        }
      }
    ASSERT_GT(outside, 10000);
    const auto* spacing = floor.target<swe::Interpolated>();
    ASSERT_NE(spacing, nullptr) << "each cell looks for its mean down to the finest level";
    const double lon = 0.5 * (box.west + box.east), lat = 0.5 * (box.south + box.north);
    EXPECT_NEAR(spacing->spacing(lon, lon, lat, lat), kMinute, 1e-6);
    EXPECT_NEAR(spacing->spacing(box.west - 1, box.west + 1, lat, lat), kMinute, 1e-6) << "over its border";
    EXPECT_NEAR(spacing->spacing(box.west - 1, box.west - 0.5, lat, lat), 5 * kMinute, 1e-4);

    // A millionth of a degree within and without, where the floor is as steep as it likes.
    int points = 0;
    const auto look = [&](double x, double y, double out_x, double out_y) {
      constexpr double step = 1e-6;
      const double in = floor(x - step * out_x, y - step * out_y),
                   out = floor(x + step * out_x, y + step * out_y), own = coarse->at(x, y) - fine->at(x, y);
      border.furthest = std::max(border.furthest, std::abs((out - in) - own));
      border.widest = std::max(border.widest, std::abs(out - in));
      border.mean_square += (out - in) * (out - in), ++points;
    };
    for (double s = 0.0005; s < 1; s += 0.001) {
      const double x = box.west + s * (box.east - box.west), y = box.south + s * (box.north - box.south);
      look(x, box.south, 0, -1), look(x, box.north, 0, 1);
      look(box.west, y, -1, 0), look(box.east, y, 1, 0);
    }
    border.mean_square /= points;
  }

  ScratchFolder folder;
  Border border;
};

// Hills as wide as six minutes, which a raster of five does not know: 40 m high.
TEST_F(Nested, AFineRasterCountsWhereItIs) {
  const auto wide = [](double lon, double lat) {
    return -4000 + 1500 * std::sin(0.8 * lon) * std::cos(0.6 * lat);
  };
  const auto hilly = [&](double lon, double lat) {
    return wide(lon, lat) + 40 * std::sin(63 * lon) * std::cos(63 * lat);
  };
  expect_each_where_it_counts(
      folder.write("fine.asc", text_of(hilly, 142.5, 35.5, 181, 121, kMinute)),
      folder.write("coarse.asc", text_of(wide, 136.96, 31.97, 158, 134, 5 * kMinute)));
  EXPECT_LE(border.furthest, 0.02);
  // The hills, and what the coarse one loses between its points: h^2 / 8 times the curvature.
  EXPECT_LE(border.widest, 40 + 2);
  EXPECT_GE(border.widest, 30) << "there is nothing to be seen";
}

// 139..147 E, 34..41 N of ETOPO1 in ETOPO5.
TEST_F(Nested, TheFileOfOneMinuteCountsWithinEtopo5) {
  const std::string fine = io::test::data_file("tohoku2011/etopo1min139E147E34N41N.asc"),
                    coarse = io::test::etopo5(folder);
  if (fine.empty() || coarse.empty()) GTEST_SKIP() << "no data folder (scripts/fetch_data.sh tohoku2011)";
  expect_each_where_it_counts(fine, coarse);
  RecordProperty("widest", std::to_string(border.widest));
  RecordProperty("rms", std::to_string(std::sqrt(border.mean_square)));
  EXPECT_LE(border.furthest, 1);
  EXPECT_LE(std::sqrt(border.mean_square), 300) << "rasters that are shifted against each other differ more";
}

}  // namespace
}  // namespace tsunami
