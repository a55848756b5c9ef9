// SPDX-License-Identifier: Apache-2.0
// What is read is checked against the domain and against each other before the first step, and what a record
// does not cover does not end a run.
#include "apps/tsunami/app/scenario.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/io/test_files.hpp"
#include "apps/tsunami/app/results.hpp"
#include "apps/tsunami/app/testing/scenario.hpp"

namespace tsunami {
namespace {

using io::test::ScratchFolder;
using test::motion;
using test::raster;
using test::ScenarioTest;
using ::testing::AllOf;
using ::testing::HasSubstr;

double spacing_at(const swe::Function& f, double lon, double lat) {
  const auto* raster = f.target<swe::Interpolated>();
  return raster == nullptr ? 0 : raster->spacing(lon, lon, lat, lat);
}

TEST_F(ScenarioTest, TheTideStandsOverTheTopographysZero) {
  o.tide = 1.5;
  const Scenario s = make_scenario(o);
  EXPECT_EQ(s.bed.still(141, 34), -4001.5);
  EXPECT_EQ(s.surface(141, 34), 0) << "heights count from the water at rest";
}

TEST_F(ScenarioTest, RegionsAndGaugesAskForTheirLevels) {
  o.regions = {{142, 143, 32, 33, 12, 100, 200}};
  o.gauges = {{.id = "buoy", .lon = 145, .lat = 35}};
  o.gauge_level = 13, o.gauge_radius = 0.25;
  const auto regions = make_setup(o, {}).criterion.regions;
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].level, 12);
  EXPECT_EQ(regions[0].from, 100);
  EXPECT_EQ(regions[0].until, 200);
  EXPECT_EQ(regions[1].level, 13);
  EXPECT_EQ(regions[1].west, 144.75);
  EXPECT_EQ(regions[1].north, 35.25);
  EXPECT_NE(name_case(o, make_scenario(o)), name_case({}, make_scenario(o)));
}

// A checkpoint has what each gauge has seen.
TEST_F(ScenarioTest, GaugesAreOfTheCase) {
  o.gauges = {{.id = "a", .lon = 145, .lat = 35}, {.id = "b", .lon = 146, .lat = 35}};
  const std::string before = name_case(o, make_scenario(o));
  std::swap(o.gauges[0].id, o.gauges[1].id);
  EXPECT_NE(name_case(o, make_scenario(o)), before);
  o.gauges.pop_back();
  EXPECT_NE(name_case(o, make_scenario(o)), before);
}

// Under the same name a file may have been corrected: a checkpoint of before is of the other source.
TEST_F(ScenarioTest, WhatIsInTheFilesOfSourcesIsOfTheCase) {
  o.dtopo = folder.write("source.tt3", motion(143, 33, {2}));
  const std::string before = name_case(o, make_scenario(o));
  EXPECT_EQ(name_case(o, make_scenario(o)), before);
  folder.write("source.tt3", motion(143, 33, {3}));
  EXPECT_NE(name_case(o, make_scenario(o)), before);
  const std::string names =
      "lon,lat,depth_km,length_km,width_km,strike,dip,rake,slip_m,rupture_time_s,rise_time_s\n";
  o.dtopo.clear();
  o.faults = folder.write("f.csv", names + "144,34,9,40,20,185,19,90,4,10,30\n");
  const Scenario quick = make_scenario(o);
  EXPECT_EQ(quick.bed.motion.begin, 10);
  EXPECT_EQ(quick.bed.motion.end, 40);
  folder.write("f.csv", names + "144,34,9,40,20,185,19,90,4,10,60\n");
  EXPECT_NE(name_case(o, make_scenario(o)), name_case(o, quick));
}

// Else cells that stay would keep the bed of before, and new ones would get that of the corrected file.
TEST_F(ScenarioTest, WhatIsInTheFilesOfTheFloorIsOfTheCase) {
  const auto name = [&] { return name_case(o, make_scenario(o)); };
  const std::string flat = name();
  EXPECT_EQ(name(), flat);
  folder.write("sea.asc", raster(140, 30, -4001));
  const std::string deeper = name();
  EXPECT_NE(deeper, flat);
  o.manning.file = folder.write("n.asc", raster(140, 30, 0.03));
  const std::string rough = name();
  EXPECT_NE(rough, deeper);
  folder.write("n.asc", raster(140, 30, 0.04));
  EXPECT_NE(name(), rough);
}

// A nest is fine where it is asked for, and not at all the shores of an ocean.
TEST_F(ScenarioTest, ShoresAreAsFineAsWavesButForThoseOfANest) {
  o.coarsest = 8, o.finest = 20;
  const auto levels = [&] {
    const swe::Parameters setup = make_setup(o, {});
    return std::pair{setup.coast, setup.criterion.finest};
  };
  EXPECT_EQ(levels(), std::pair(20, 20));
  o.regions = {{142, 143, 32, 33, 17}};
  EXPECT_EQ(levels(), std::pair(20, 20)) << "the finest cells are no region's";
  o.regions[0].level = 20;
  EXPECT_EQ(levels(), std::pair(8, 20));
  o.refine_level = 14;
  EXPECT_EQ(levels(), std::pair(14, 14));
  const std::string before = name_case(o, {});
  o.coast = 10;
  EXPECT_EQ(levels(), std::pair(10, 14));
  EXPECT_NE(name_case(o, {}), before);
  o.coast = o.refine_level = -1, o.regions.clear();
  o.gauge_level = 20;
  EXPECT_EQ(levels(), std::pair(20, 20)) << "around no gauge";
  o.gauges = {{.id = "harbour", .lon = 145, .lat = 35}};
  EXPECT_EQ(levels(), std::pair(8, 20));
}

TEST_F(ScenarioTest, TheBufferFollowsFromTheStepsBetweenTwoAdaptions) {
  o.adapt_every = 10;
  EXPECT_EQ(make_setup(o, {}).criterion.buffer, 4);
  o.adapt_every = 1;
  EXPECT_EQ(make_setup(o, {}).criterion.buffer, 1);
  o.buffer = 2, o.refine_speed = 3;
  EXPECT_EQ(make_setup(o, {}).criterion.buffer, 2);
  EXPECT_EQ(make_setup(o, {}).criterion.refine_speed, 3);
  EXPECT_EQ(make_setup(o, {}).criterion.coarsen_speed, 1.5);
}

TEST_F(ScenarioTest, WhatFitsIsTaken) {
  const Scenario s = make_scenario(o);
  EXPECT_EQ(s.bed.still(144, 34), -3998);
  EXPECT_EQ(s.surface(144, 34), 2);
  EXPECT_EQ(s.surface(141, 34), 0);
  EXPECT_TRUE(s.gauges.empty()) << "Chile's buoy is not in this domain";
  EXPECT_THAT(s.description, AllOf(HasSubstr("sea.asc"), HasSubstr("source.tt3")));
}

TEST_F(ScenarioTest, FrictionAndRotationAreAsAskedFor) {
  EXPECT_EQ(make_setup(o, {}).physics.rotation, 0);
  o.coriolis = true, o.manning.n = 0.03;
  EXPECT_NEAR(make_setup(o, {}).physics.rotation, 7.2921e-5, 1e-9);
  EXPECT_EQ(make_setup(o, {}).physics.manning, 0.03);
}

TEST_F(ScenarioTest, AFileThatDoesNotCoverTheDomainIsRefused) {
  o.east = 151;
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("sea.asc: expected elevations that cover the domain, 140..151 E, 30..40 N"),
                    HasSubstr("found 140..150 E")));
  o.east = 150.4;  // half a spacing: the values stand for what is around them
  EXPECT_EQ(refusal(), "");
  o.west = -150, o.east = -140;
  EXPECT_THAT(refusal(), HasSubstr("sea.asc: expected elevations that lie in the domain"));
}

TEST_F(ScenarioTest, TheOtherConventionOfLongitudesIsUnderstood) {
  o.west = -220, o.east = -210;
  o.gauges = {{.id = "g", .lon = -215, .lat = 35}};
  const Scenario s = make_scenario(o);
  EXPECT_NEAR(s.bed.still(-216, 34), -3998, 1e-9);
}

TEST_F(ScenarioTest, TheFirstTopographyThatCoversAPlaceCounts) {
  o.topography.insert(o.topography.begin(), folder.write("harbour.asc", raster(144, 34, -50, 0.1)));
  const Scenario s = make_scenario(o);
  EXPECT_EQ(s.bed.still(144.5, 34.5), -50 + 2 * 0.25);
  EXPECT_EQ(s.bed.still(145.5, 36), -4000);
  EXPECT_EQ(spacing_at(s.bed.still, 144.5, 34.5), 0.1);
  EXPECT_EQ(spacing_at(s.bed.still, 148, 34.5), 1) << "where only the sea's raster is";
  std::swap(o.topography[0], o.topography[1]);
  EXPECT_THAT(refusal(), HasSubstr("harbour.asc: expected elevations that cover the domain"));
  o.topography[0] = folder.write("far.asc", raster(100, 30, -50));
  std::swap(o.topography[1], o.topography[0]);
  o.topography = {o.topography[1], folder.path("sea.asc")};
  EXPECT_THAT(refusal(), HasSubstr("far.asc: expected elevations that lie in the domain"));
}

TEST_F(ScenarioTest, ASourceOutsideOfTheDomainIsRefused) {
  o.dtopo = folder.write("chile.tt3", motion(-74, -36, {2}));
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("chile.tt3: expected a source in the domain"), HasSubstr("-73 E, -35 N")));
}

TEST_F(ScenarioTest, ASourceInTimeMovesInTime) {
  o.dtopo = folder.write("slow.tt3", motion(143, 33, {0, 3}, 60, 300));
  const Scenario s = make_scenario(o);
  EXPECT_EQ(s.bed.still(144, 34), -4000);
  EXPECT_EQ(s.surface(144, 34), 0);
  ASSERT_TRUE(s.bed.motion.lift);
  EXPECT_EQ(s.bed.motion.begin, 60);
  EXPECT_EQ(s.bed.motion.end, 360);
  EXPECT_DOUBLE_EQ(s.bed.motion.lift(144, 34, 210), 1.5);
  EXPECT_EQ(spacing_at(s.bed.still, 144, 34), 1)
      << "or each step looks for its means down to the finest level";
  EXPECT_EQ(s.bed.motion.spacing, 1);
  // One time later than `at once`: a jump then.
  o.dtopo = folder.write("late.tt3", motion(143, 33, {3}, 120));
  const Scenario late = make_scenario(o);
  EXPECT_EQ(late.surface(144, 34), 0);
  EXPECT_EQ(late.bed.motion.begin, 120);
  EXPECT_EQ(late.bed.motion.end, 120);
  EXPECT_EQ(late.bed.motion.lift(144, 34, 120), 3);
}

TEST_F(ScenarioTest, KajiurasSurfaceIsThatOfAMotionThatIsOver) {
  const std::string as_the_floor = name_case(o, make_scenario(o));
  o.kajiura = true;
  o.dtopo = folder.write("source.tt3", motion(143, 33, {2}));
  const Scenario s = make_scenario(o);
  EXPECT_EQ(s.bed.still(144, 34), -3998) << "the floor is where it is";
  EXPECT_NEAR(s.surface(144, 34), 2, 1e-9) << "nodes a degree apart are wide beside 4 km";
  EXPECT_NE(name_case(o, s), as_the_floor);
  o.dtopo = folder.write("slow.tt3", motion(143, 33, {0, 2}));
  EXPECT_THAT(refusal(), AllOf(HasSubstr("a motion that is over at the start"), HasSubstr("300 s")));
}

TEST_F(ScenarioTest, AGaugeOnLandIsRefused) {
  o.gauges = {{.id = "hill", .lon = 145, .lat = 35}};
  o.topography.insert(o.topography.begin(), folder.write("island.asc", raster(144.5, 34.5, 12, 0.1)));
  EXPECT_THAT(refusal(),
              HasSubstr("gauge hill:145 E, 35 N: expected a place in the sea, found land of 12 m"));
}

TEST_F(ScenarioTest, AGaugeInASpongeIsRefused) {
  o.borders[1] = {.kind = BorderOption::Kind::Sponge, .sponge_km = 100};
  o.gauges = {{.id = "calm", .lon = 149.5, .lat = 35}};
  EXPECT_THAT(refusal(), HasSubstr("gauge calm:149.5 E, 35 N: expected a place out of the sponges"));
  o.gauges[0].lon = 148.5;  // 137 km from the border
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(make_setup(o, {}).borders[1].sponge, 100e3);
}

TEST_F(ScenarioTest, AWaveComesInThroughItsSide) {
  o.borders[2] = {.kind = BorderOption::Kind::Wave, .wave = folder.write("wave.txt", "0 0\n60 -3\n120 1\n")};
  o.borders[3].kind = BorderOption::Kind::Wall;
  const Scenario quake = make_scenario(o);
  EXPECT_EQ(quake.surface(144, 34), 2) << "both sources count";
  EXPECT_THAT(quake.description,
              AllOf(HasSubstr("source.tt3, the wave from the south"), HasSubstr("wave.txt")));
  o.dtopo = "";
  const Scenario s = make_scenario(o);
  EXPECT_EQ(s.surface(144, 34), 0) << "the wave is the source";
  EXPECT_EQ(s.bed.still(144, 34), -4000);
  const auto borders = make_setup(o, s).borders;
  EXPECT_EQ(borders[2].wave.surface(30), -1.5);
  EXPECT_EQ(borders[2].wave.height, 3);
  EXPECT_EQ(borders[2].wave.end, 120);
  EXPECT_EQ(borders[3].kind, swe::BorderKind::Wall);
  EXPECT_EQ(borders[0].kind, swe::BorderKind::Radiation);
  EXPECT_FALSE(borders[0].wave.surface);
  Options other = o;
  other.borders[3].kind = BorderOption::Kind::Open;
  EXPECT_NE(name_case(o, s), name_case(other, s));
  o.borders[2].wave = folder.write("bad.txt", "0 0\n60 1\n30 0\n");
  EXPECT_THAT(refusal(), HasSubstr("bad.txt:3: expected a time after"));
  o.borders[2].wave = "nowhere.txt";
  EXPECT_THAT(refusal(), HasSubstr("nowhere.txt: expected a file"));
}

TEST_F(ScenarioTest, ManningsNIsReadFromARaster) {
  o.manning.file = folder.write("n.asc", raster(140, 30, 0.06));
  const Scenario s = make_scenario(o);
  EXPECT_EQ(s.bed.manning(144, 34), 0.06);
  EXPECT_THAT(s.description, AllOf(HasSubstr("; Manning's n: "), HasSubstr("n.asc")));
  o.manning.file = folder.write("harbour.asc", raster(144, 34, 0.06, 0.1));
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("harbour.asc: expected Manning's n that covers the domain, 140..150 E"),
                    HasSubstr("--manning FILE:N")));
  o.manning.n = 0.02, o.manning.elsewhere = true;
  const Scenario mixed = make_scenario(o);
  EXPECT_EQ(mixed.bed.manning(144.5, 34.5), 0.06);
  EXPECT_EQ(mixed.bed.manning(146, 34.5), 0.02);
  EXPECT_THAT(mixed.description, HasSubstr("harbour.asc, 0.02 where it has none"));
  EXPECT_NE(name_case(o, mixed), name_case(o, s));
  o.manning.file = "nowhere.asc";
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("nowhere.asc: expected a file"), HasSubstr("--manning takes a number")));
}

TEST_F(ScenarioTest, ManningsNThatCannotBeIsRefused) {
  const std::string head = "2 ncols\n2 nrows\n140 xll\n30 yll\n10 cellsize\n-9999 nodata_value\n";
  const auto with = [&](const char* name, const std::string& values) {
    o.manning.file = folder.write(name, head + values);
    return refusal();
  };
  EXPECT_EQ(with("good", "0.02 0.03\n0 1\n"), "");
  EXPECT_THAT(
      with("below", "0.02 0.03\n-0.02 0.03\n"),
      HasSubstr("below:8: expected the Manning's n of row 2 of 2, column 1 of 2 from 0 to 1, found -0.02"));
  EXPECT_THAT(with("above", "0.02 33\n0.02 0.03\n"), HasSubstr("above:7: expected the Manning's n of row 1"));
  EXPECT_THAT(with("nan", "0.02 0.03\n0.02 nan\n"), HasSubstr("nan:8: expected the Manning's n of row 2"));
  EXPECT_THAT(with("hole", "0.02 -9999\n0.02 0.03\n"), HasSubstr("found the nodata value"));
  o.manning.n = 0.05, o.manning.elsewhere = true;
  EXPECT_EQ(with("filled", "0.02 -9999\n0.02 0.03\n"), "");
  EXPECT_EQ(make_scenario(o).bed.manning(150, 40), 0.05);
  o.manning.file = folder.write("far", raster(100, 30, 0.05));
  EXPECT_THAT(refusal(), HasSubstr("far: expected Manning's n that lies in the domain"));
}

TEST_F(ScenarioTest, ObservedRecordsAreReadBeforeTheFirstStep) {
  o.gauges = {{.id = "g", .lon = 145, .lat = 35, .observed = folder.path("missing.txt")}};
  EXPECT_THAT(refusal(), HasSubstr("missing.txt: expected a file"));
  o.gauges[0].observed = folder.write("bad.txt", "0 1\n60 nan\n");
  EXPECT_THAT(refusal(), HasSubstr("bad.txt:2: expected a height in metres"));
  o.gauges[0].observed = folder.write("twice.txt", "120 3\n60 1\n60 2\n0 0\n");
  const Scenario s = make_scenario(o);
  EXPECT_EQ(s.gauges[0].record.t, (std::vector<double>{0, 60, 120}));
  EXPECT_EQ(s.gauges[0].record.v[1], 1.5);
  EXPECT_THAT(s.gauges[0].remark, HasSubstr("1 samples that repeat a time were averaged"));
}

// Most likely its seconds count from another event.
TEST_F(ScenarioTest, ARecordThatHasNothingOfItsWindowOrOfTheRunIsRefused) {
  o.end = 7200;
  o.gauges = {
      {.id = "g", .lon = 145, .lat = 35, .observed = folder.write("other.txt", "90000 0\n99000 1\n")}};
  EXPECT_EQ(
      refusal(),
      "other.txt: expected samples from 0 s to 7200 s, the run, for gauge g, found times from 90000 s to "
      "99000 s; count them from the earthquake, or take a later --end, or the gauge without a record");
  o.gauges[0].begin = 1200, o.gauges[0].end = 14400;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("samples from 1200 s to 14400 s, the window of gauge g"),
                               HasSubstr("choose another window, --gauge ID:LON:LAT:FILE:BEGIN-END")));
  o.gauges[0].observed = folder.write("before.txt", "-900 0\n-60 1\n");
  o.gauges[0].begin = o.gauges[0].end = 0;
  EXPECT_THAT(refusal(), HasSubstr("found times from -900 s to -60 s"));
  o.gauges[0].observed = folder.write("gap.txt", "0 0\n60 1\n20000 0\n");
  o.gauges[0].begin = 1200, o.gauges[0].end = 14400;
  EXPECT_THAT(refusal(), HasSubstr("found times from 0 s to 20000 s and none of these"));
}

TEST_F(ScenarioTest, ARunThatIsTooShortForARecordSaysSo) {
  o.gauges = {{.id = "g",
               .lon = 145,
               .lat = 35,
               .observed = folder.write("record.txt", "0 0\n9000 1\n9600 1\n20000 0\n"),
               .begin = 9000,
               .end = 20000}};
  EXPECT_TRUE(make_scenario(o).remarks.empty());
  o.end = 9500;
  const Scenario s = make_scenario(o);
  ASSERT_EQ(s.remarks.size(), 1u);
  EXPECT_THAT(
      s.remarks[0],
      AllOf(HasSubstr("gauge g will not be judged"), HasSubstr("record.txt with times from 0 s to 20000 s"),
            HasSubstr("its window from 9000 s to 20000 s"), HasSubstr("the run until 9500 s")));
}

TEST_F(ScenarioTest, AWaveOrAMotionAfterTheEndOfTheRunIsRefused) {
  o.end = 3600;
  o.dtopo = folder.write("late.tt3", motion(143, 33, {0, 2}, 3600));
  EXPECT_THAT(
      refusal(),
      HasSubstr("late.tt3: expected a motion that begins before the run ends, at 3600 s, found times from "
                "3600 s to 3900 s; count them from the start of the run, or take a later --end"));
  o.dtopo = folder.write("jump.tt3", motion(143, 33, {2}, 4000));
  EXPECT_THAT(refusal(), HasSubstr("jump.tt3: expected a motion that begins before the run ends"));
  o.end = 0.5;  // one time of at most 1 s is `at once`
  o.dtopo = folder.write("once.tt3", motion(143, 33, {2}, 1));
  EXPECT_EQ(refusal(), "");
  o.end = 3600;
  o.borders[2] = {.kind = BorderOption::Kind::Wave, .wave = folder.write("wave.txt", "5000 0\n6000 1\n")};
  EXPECT_THAT(
      refusal(),
      HasSubstr("wave.txt: expected a wave that begins before the run ends, at 3600 s, found times from "
                "5000 s to 6000 s"));
  o.end = 5001;
  EXPECT_EQ(refusal(), "");
}

TEST_F(ScenarioTest, FilesAreLookedForInTheDataFolderToo) {
  folder.write("other.tt3", motion(143, 33, {1}));
  o.data = std::filesystem::path(folder.path("x")).parent_path();
  o.dtopo = "other.tt3";
  EXPECT_EQ(make_scenario(o).surface(144, 34), 1);
  o.dtopo = "nowhere.tt3";
  EXPECT_THAT(refusal(), HasSubstr("fetch_data.sh"));
}

nlohmann::json judged(const ScratchFolder& folder, const GaugeOption& option, double record_end,
                      double run_end) {
  Scenario s;
  Gauge gauge{option, {}, ""};
  gauge.observed = "record.txt";
  swe::GaugeSeries computed{0, 0, {}};
  for (double t = 0; t <= record_end; t += 60)
    gauge.record.t.push_back(t), gauge.record.v.push_back(std::sin(t / 600));
  for (double t = 0; t <= run_end; t += 20)
    computed.samples.push_back({t, std::sin(t / 600) + 0.1, 0, 0, 0, 0});
  s.gauges = {gauge};
  write_results(std::filesystem::path(folder.path("x")).parent_path(), {}, s, {computed});
  std::ifstream file(folder.path("tsunami.json"));
  return nlohmann::json::parse(file)["gauges"][0];
}

// Four hours of record and six of run, and the other way round; a record that has nothing of its window.
TEST(Results, AGaugeIsJudgedWhereItsWindowItsRecordAndTheRunOverlap) {
  const ScratchFolder folder;
  const auto ends_early = judged(folder, {.id = "g", .begin = 1200, .end = 20000}, 14400, 21600);
  EXPECT_EQ(ends_early["window_s"], (std::vector<double>{1200, 14400}));
  EXPECT_NEAR(ends_early["rms_m"].get<double>(), 0.1, 1e-3);
  EXPECT_EQ(ends_early["samples"], 221);
  EXPECT_EQ(judged(folder, {.id = "g"}, 21600, 7200)["window_s"], (std::vector<double>{0, 7200}));
  const auto nothing = judged(folder, {.id = "g", .begin = 9000, .end = 20000}, 9300, 21600);
  EXPECT_TRUE(nothing["rms_m"].is_null());
  EXPECT_THAT(nothing["not_judged"].get<std::string>(), HasSubstr("ten minutes"));
}

}  // namespace
}  // namespace tsunami
