// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/faults.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "apps/io/test_files.hpp"
#include "apps/tsunami/io/dtopo.hpp"
#include "runtime/base/testing/places.hpp"

namespace io::test {
namespace {

std::string tohoku_faults() { return empi::testing::of_checkout("apps/tsunami/tohoku2011-faults.csv"); }
std::string tohoku_rupture() { return empi::testing::of_checkout("apps/tsunami/tohoku2011-rupture.csv"); }

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
  EXPECT_EQ(
      read_faults(folder.write("b.csv", "\xEF\xBB\xBF" + names + "1,2,9,100,50,185,19,90,1,centroid\r\n"))
          .size(),
      1U);
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

// Two that slip one after the other, the second one while the first one still does.
TEST(Faults, SlipInTheirTime) {
  const ScratchFolder folder;
  const auto faults =
      read_faults(folder.write("f.csv",
                               "lon,lat,depth_km,length_km,width_km,strike,dip,rake,slip_m,rupture_time_s,"
                               "rise_time_s\n"
                               "143,38,10,100,50,190,19,90,10,0,60\n143,39,10,100,50,190,19,90,10,20,100\n"));
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[1].rupture_time, 20);
  EXPECT_EQ(faults[1].rise_time, 100);
  const Dtopo motion = rupture(faults);
  EXPECT_EQ(motion.times, (std::vector<double>{0, 20, 60, 120}));
  const Raster first = uplift(std::span(faults).first(1)), all = uplift(faults);
  const auto at = [&](double t, double lat) { return motion.at(143.3, lat, t); };
  for (const double lat : {37.9, 38.4, 39.}) {
    const double one = first.at(143.3, lat), both = all.at(143.3, lat);
    EXPECT_EQ(at(0, lat), 0);
    // To what the rasters of one and of both differ by: their nodes are not the same.
    EXPECT_NEAR(at(15, lat), one / 4, .02);
    EXPECT_NEAR(at(50, lat), one * 5 / 6 + (both - one) * .3, .02);
    EXPECT_NEAR(at(120, lat), both, 1e-12);
    EXPECT_NEAR(at(1e4, lat), both, 1e-12);
  }
}

TEST(Faults, WithoutTimesAllSlipAtOnce) {
  const std::vector<Fault> faults = read_faults(tohoku_faults());
  const Dtopo motion = rupture(faults);
  EXPECT_EQ(motion.times, std::vector<double>{0});
  EXPECT_EQ(motion.frames.front().z, uplift(faults).z);
}

// The other committed one is the same in time.
TEST(Faults, TohokuInTimeEndsAsTohokuAtOnce) {
  const std::vector<Fault> faults = read_faults(tohoku_rupture());
  const Dtopo motion = rupture(faults);
  EXPECT_EQ(motion.times.front(), 6);
  EXPECT_EQ(motion.times.back(), 157);
  EXPECT_EQ(motion.frames.front().z, std::vector<double>(motion.frames.front().z.size(), 0.0));
  const Raster all = uplift(read_faults(tohoku_faults()));
  ASSERT_EQ(motion.frames.back().z.size(), all.z.size());
  for (std::size_t k = 0; k < all.z.size(); ++k) ASSERT_NEAR(motion.frames.back().z[k], all.z[k], 1e-12);
}

TEST(Faults, ManyTimesAreSampledAtThirtyTwo) {
  std::vector<Fault> faults;
  for (int k = 0; k < 100; ++k) {
    Fault fault{143, 38, 10e3, 190, 19, 90, .1, 20e3, 20e3, FaultReference::TopCenter};
    fault.rupture_time = k, fault.rise_time = 1;
    faults.push_back(fault);
  }
  const Dtopo motion = rupture(faults);
  ASSERT_EQ(motion.times.size(), 32u);
  EXPECT_EQ(motion.times.back(), 100);
  const double all = motion.final_at(143.1, 38);
  EXPECT_NEAR(motion.at(143.1, 38, 50), all / 2, .01 * std::abs(all));
  EXPECT_NEAR(all, uplift(faults).at(143.1, 38), 1e-12);
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
  EXPECT_THAT(error(names + "1,95,9,100,50,185,19,90,1,top center\n"),
              StartsWith("f.csv:2: expected lat from -85 to 85, found '95'"));
  EXPECT_THAT(error(names + "1,2,9000,100,50,185,19,90,1,top center\n"),
              StartsWith("f.csv:2: expected depth_km from 0 to 800, found '9000'"));
  EXPECT_THAT(error(names + "1,2,9,100,50,185,-19,90,1,top center\n"),
              StartsWith("f.csv:2: expected dip from 0 to 90, found '-19'"));
  EXPECT_THAT(error(names + "1,2,9,100,50,185,19,90,-9999,top center\n"),
              StartsWith("f.csv:2: expected slip_m from -200 to 200, found '-9999'"));
  EXPECT_THAT(error("lon," + names + "1,1,2,9,100,50,185,19,90,1,top center\n"),
              StartsWith("f.csv:1: expected each column once, found 'lon' again"));
  const std::string timed =
      "lon,lat,depth_km,length_km,width_km,strike,dip,rake,slip_m,rupture_time_s,rise_time_s\n";
  EXPECT_THAT(error(timed + "1,2,9,100,50,185,19,90,1,-1,5\n"),
              StartsWith("f.csv:2: expected rupture_time_s from 0 to 1e+06, found '-1'"));
  EXPECT_THAT(error(timed + "1,2,9,100,50,185,19,90,1,0,soon\n"),
              StartsWith("f.csv:2: expected rise_time_s as a finite number, found 'soon'"));
  EXPECT_THAT(error(timed + "1,2,9,100,50,185,19,90,1,0,0\n1,3,9,100,50,185,19,90,1,7,0\n"),
              StartsWith("f.csv:3: expected rise_time_s above 0, since another subfault slips earlier"));
  EXPECT_THAT(error(names), HasSubstr("at least one subfault"));
  EXPECT_THAT(error(""), HasSubstr("an empty file"));
}

// The committed source of Tohoku 2011 is what GeoClaw computes from the same unit sources; its file has three
// decimals.
TEST(Faults, TohokuIsTheSeaFloorMotionOfItsFile) {
  const auto faults = read_faults(tohoku_faults());
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
