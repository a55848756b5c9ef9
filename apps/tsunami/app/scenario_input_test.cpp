// SPDX-License-Identifier: Apache-2.0
// What would be computed for hours, and mean nothing, is refused or said before the first step; what is read,
// is read once.
#include <gmock/gmock.h>

#include "apps/io/test_files.hpp"
#include "apps/tsunami/app/scenario.hpp"
#include "apps/tsunami/app/testing/scenario.hpp"

namespace tsunami {
namespace {

using test::motion;
using test::raster;
using test::ScenarioTest;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ScenarioTest, TheFileOfASourceIsReadOnce) {
  const io::test::Pipe floor(motion(143, 33, {2}));
  o.dtopo = floor.path();
  EXPECT_EQ(refusal(), "");
  o.dtopo.clear();
  const io::test::Pipe faults(
      "lon,lat,depth_km,length_km,width_km,strike,dip,rake,slip_m\n144,34,9,40,20,185,19,90,4\n");
  o.faults = faults.path();
  EXPECT_EQ(refusal(), "");
  o.faults.clear();
  const io::test::Pipe wave("0 0\n60 1\n");
  o.borders[2] = {.kind = BorderOption::Kind::Wave, .wave = wave.path()};
  EXPECT_EQ(refusal(), "");
}

// What stands for `no value`, and is not said to, is no sea floor.
TEST_F(ScenarioTest, AnElevationThatIsNoneOnEarthIsRefused) {
  for (const double z : {-32768.0, -12001.0, 10001.0, 9.96920996838687e36}) {
    o.topography = {folder.write("sea.asc", raster(140, 30, z))};
    EXPECT_THAT(refusal(), HasSubstr("sea.asc:7: expected the elevation of row 1 of 11, column 1 of 11 from "
                                     "-12000 to 10000, found"))
        << z;
  }
  o.topography = {folder.write("sea.asc", raster(140, 30, -11900))};
  EXPECT_EQ(refusal(), "");
}

// Water at rest may be a check of a raster, or a mistake that takes hours.
TEST_F(ScenarioTest, ASourceThatMovesNothingIsSaid) {
  const auto remarks = [&] { return make_scenario(o).remarks; };
  const auto said = ElementsAre(HasSubstr(" moves the floor by 0 m everywhere: water at rest is computed"));
  o.dtopo = folder.write("still.tt3", motion(143, 33, {0}));
  EXPECT_THAT(remarks(), said);
  o.dtopo = folder.write("back.tt3", motion(143, 33, {1, 0}));
  EXPECT_TRUE(remarks().empty()) << "it ends where it began";
  o.dtopo.clear();
  o.faults = folder.write(
      "f.csv", "lon,lat,depth_km,length_km,width_km,strike,dip,rake,slip_m\n144,34,9,40,20,185,19,90,0\n");
  EXPECT_THAT(remarks(), said);
}

TEST_F(ScenarioTest, ADomainWithoutSeaIsRefused) {
  o.topography = {folder.write("depth.asc", raster(140, 30, 4000))};
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("depth.asc: expected sea in the domain, 140..150 E, 30..40 N, found land of "
                              "4000 m and more"),
                    HasSubstr("turn the sign")));
  o.topography.insert(o.topography.begin(), folder.write("bay.asc", raster(144, 34, -5, 0.1)));
  EXPECT_EQ(refusal(), "");
  o.tide = -6;
  EXPECT_THAT(refusal(), HasSubstr("expected sea in the domain"));
}

TEST_F(ScenarioTest, PlacesInMetresAreRefused) {
  o.topography = {folder.write("utm.asc", raster(0, 0, -4000, 1000))};
  EXPECT_THAT(refusal(),
              HasSubstr("utm.asc: expected latitudes from -90 to 90 degrees, found 0 to 10000; if these "
                        "are metres"));
  o.topography = {folder.write("sea.asc", raster(140, 30, -4000))};
  o.dtopo = folder.write("far.tt3", motion(143, 89.5, {2}));
  EXPECT_THAT(refusal(), HasSubstr("far.tt3: expected latitudes from -90 to 90 degrees, found 89.5 to 91.5"));
}

TEST_F(ScenarioTest, ARegionAfterTheEndOfTheRunIsSaid) {
  o.regions = {{142, 143, 32, 33, 12, 100, 200}};
  EXPECT_TRUE(make_scenario(o).remarks.empty());
  o.end = 100;
  EXPECT_THAT(make_scenario(o).remarks,
              ElementsAre("the --region of level 12 begins at 100 s, and the run ends at 100 s"));
}

TEST_F(ScenarioTest, AWaveThatFindsLandOnlyIsRefused) {
  o.dtopo.clear();
  o.topography.insert(o.topography.begin(), folder.write("coast.asc", raster(140, 29.5, 5, 0.1)));
  o.borders[2] = {.kind = BorderOption::Kind::Wave, .wave = folder.write("wave.txt", "0 0\n60 1\n")};
  EXPECT_EQ(refusal(), "") << "land on a tenth of the side";
  o.topography.insert(o.topography.begin(), folder.write("land.asc", raster(140, 29.5, 5)));
  EXPECT_THAT(refusal(), HasSubstr("wave.txt: expected sea in the south of the domain, found land of 5 m"));
}

// Whoever mistypes the folder's name would take the built-in ocean for Chile.
TEST_F(ScenarioTest, ADataFolderWithoutDataIsSaid) {
  Options chile;
  EXPECT_TRUE(make_scenario(chile).remarks.empty());
  chile.data = folder.path("nowhere");
  const Scenario s = make_scenario(chile);
  ASSERT_EQ(s.remarks.size(), 1u);
  EXPECT_THAT(s.remarks[0],
              AllOf(HasSubstr("nowhere, so the ocean is the built-in one"), HasSubstr("fetch_data.sh")));
  o.data = chile.data;
  EXPECT_TRUE(make_scenario(o).remarks.empty()) << "its topography is given";
}

}  // namespace
}  // namespace tsunami
