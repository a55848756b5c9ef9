// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/faults.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "apps/io/test_files.hpp"
#include "apps/tsunami/io/dtopo.hpp"

namespace io::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string names = "lon,lat,depth_km,length_km,width_km,strike,dip,rake,slip_m,reference\n";

TEST(Faults, AreReadWithTheirReference) {
  const ScratchFolder folder;
  const auto faults =
      read_faults(folder.write("f.csv", "# remark\n" + names +
                                            "143.5, 40.3, 5, 100, 50, 185, 19, 90, 4.5, noaa sift\n\n"
                                            "-72.7,-35.8,35,450,100,16,14,104,15,top center\n"));
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].reference, FaultReference::NoaaSift);
  EXPECT_EQ(faults[0].length, 100e3);
  EXPECT_EQ(faults[0].depth, 5e3);
  EXPECT_EQ(faults[1].slip, 15);
  EXPECT_EQ(faults[1].strike, 16);
}

// A box of 358 degrees would be sampled at .9 degrees, and cut.
TEST(Faults, OnBothSidesOf180DegreesAreOneRupture) {
  const ScratchFolder folder;
  const auto faults =
      read_faults(folder.write("f.csv", names + "178.5,-20,5,100,50,0,19,90,4,top center\n"
                                                "-178.5,-20,5,100,50,0,19,90,4,top center\n"));
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[1].lon, 181.5);
  const Raster raster = uplift(faults);
  EXPECT_LT(raster.region().east - raster.region().west, 10);
  EXPECT_LE(raster.dx, 1. / 29);
}

TEST(Faults, BadFilesAreRefusedWithFileLineAndReason) {
  const ScratchFolder folder;
  const auto error = [&](const std::string& text) {
    return file_error_of([&] { read_faults(folder.write("f.csv", text)); });
  };
  EXPECT_THAT(error("lon,lat\n"), StartsWith("f.csv:1: expected a column 'depth_km'"));
  EXPECT_THAT(error("lon,lat,slip\n"), StartsWith("f.csv:1: expected a name of a column, found 'slip'"));
  EXPECT_THAT(error(names + "1,2,3\n"), StartsWith("f.csv:2: expected 10 values"));
  EXPECT_THAT(error(names + "1,2,3,100,50,185,19,nan,1,centroid\n"),
              StartsWith("f.csv:2: expected rake as a finite number, found 'nan'"));
  EXPECT_THAT(error(names + "1,2,3,100,50,185,19,90,1,middle\n"),
              HasSubstr("fault reference 'middle' is unknown"));
  EXPECT_THAT(error(names + "1,2,1,100,50,185,19,90,1,centroid\n"), HasSubstr("above the ground"));
  EXPECT_THAT(error(names + "1,95,9,100,50,185,19,90,1,top center\n"), HasSubstr("not on the earth"));
  EXPECT_THAT(error(names), HasSubstr("at least one subfault"));
  EXPECT_THAT(error(""), HasSubstr("an empty file"));
}

// The committed source of Tohoku 2011 is what GeoClaw computes from the same unit sources; its file has three
// decimals.
TEST(Faults, TohokuIsTheSeaFloorMotionOfItsFile) {
  const auto faults = read_faults(TOHOKU_FAULTS);
  ASSERT_EQ(faults.size(), 6u);
  EXPECT_NEAR(moment_magnitude(faults), 8.81, 0.01);
  const Raster all = uplift(faults);
  for (const double edge : {all.x0, all.region().east})
    for (int j = 0; j < all.ny; ++j) EXPECT_LT(std::abs(all.at(edge, all.y0 + j * all.dy)), 0.06);
  const auto path = data_file("tohoku2011/tohoku_sift_okada_2min.tt3");
  if (path.empty()) GTEST_SKIP() << "no data folder (scripts/fetch_data.sh)";
  const Raster file = read_dtopo(path).frames.back();
  double worst = 0;
  for (int j = 0; j < file.ny; ++j)
    for (int i = 0; i < file.nx; ++i)
      worst = std::max(
          worst, std::abs(okada(faults, file.x0 + i * file.dx, file.y0 + j * file.dy).up - file.node(i, j)));
  EXPECT_LE(worst, 0.5e-3 + 1e-6);
}

}  // namespace
}  // namespace io::test
