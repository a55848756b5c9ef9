// SPDX-License-Identifier: Apache-2.0
// Gauges, regions, borders and friction as options: what they mean, and one line for each that means nothing.
#include "apps/tsunami/app/parse.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "runtime/base/options.hpp"

namespace tsunami {
namespace {

using ::testing::HasSubstr;
using Kind = BorderOption::Kind;

// "WHERE: WHAT" of what `action` throws; "" if it throws nothing.
std::string refused(const std::function<void()>& action) {
  try {
    action();
  } catch (const empi::options::Refused& error) {
    return error.where + ": " + error.what();
  }
  return "";
}

TEST(Gauges, AreAtAPlaceInNumbers) {
  const auto of = [](const std::string& text) { return refused([&] { parse_gauge(text); }); };
  const GaugeOption gauge = parse_gauge("a:272:-17.5:dart.txt:0-3600");
  EXPECT_EQ(gauge.lon, 272);
  EXPECT_EQ(gauge.lat, -17.5);
  EXPECT_EQ(gauge.end, 3600);
  for (const char* bad : {"nan", "-nan", "inf", "-inf", "1e999", "", "far", "272E"}) {
    EXPECT_EQ(of("a:" + std::string(bad) + ":-10"),
              "--gauge: longitude '" + std::string(bad) + "' is no number");
    EXPECT_EQ(of("a:272:" + std::string(bad)), "--gauge: latitude '" + std::string(bad) + "' is no number");
  }
  for (const char* bad : {"nan-5", "0-nan", "0-inf", "5-0", "0-5s", "-20--10"})
    EXPECT_THAT(of("a:272:-10:dart.txt:" + std::string(bad)), HasSubstr("is no window BEGIN-END")) << bad;
}

TEST(Regions, AreInNumbers) {
  const auto of = [](const std::string& text) { return refused([&] { parse_region(text); }); };
  EXPECT_EQ(of("270:280:-20:-10:12:0-3600"), "");
  for (const char* bad : {"nan:280:-20:-10:12", "-inf:280:-20:-10:12", "270:280:-20:inf:12",
                          "270:280:-20:-10:nan", "270:280:-20:-10:12:0-inf", "270:280:-20:-10:12:nan-5"})
    EXPECT_THAT(of(bad), HasSubstr("is not WEST:EAST:SOUTH:NORTH:LEVEL[:FROM-UNTIL]")) << bad;
  for (const char* bad : {"-5", "31", "12.5", "1e300"})
    EXPECT_EQ(of("270:280:-20:-10:" + std::string(bad)),
              "--region: '270:280:-20:-10:" + std::string(bad) + "': its level is not from 0 to 30");
}

TEST(Borders, AreNamedBySideOrForAllOthers) {
  const auto open = parse_borders({}, false);
  for (const BorderOption& border : open) EXPECT_EQ(border.kind, Kind::Open);
  for (const BorderOption& border : parse_borders({}, true)) EXPECT_EQ(border.kind, Kind::Wall);
  const auto mixed = parse_borders({"west:wave:a:b.txt", "sponge:250", "north:open"}, false);
  EXPECT_EQ(mixed[0].kind, Kind::Wave);
  EXPECT_EQ(mixed[0].wave, "a:b.txt");
  EXPECT_EQ(mixed[1].kind, Kind::Sponge);
  EXPECT_EQ(mixed[1].sponge_km, 250);
  EXPECT_EQ(mixed[2].sponge_km, 250);
  EXPECT_EQ(mixed[3].kind, Kind::Open);
  EXPECT_EQ(mixed[3].sponge_km, 0);
  EXPECT_EQ(parse_borders({"east:open"}, true)[1].kind, Kind::Open);
  EXPECT_EQ(parse_borders({"east:open"}, true)[0].kind, Kind::Wall);
}

TEST(Borders, WhatMakesNoSenseIsRefusedInOneLine) {
  const auto of = [](const std::vector<std::string>& texts, bool walls = false) {
    return refused([&] { parse_borders(texts, walls); });
  };
  EXPECT_EQ(of({"west:wall", "west:sponge:100"}), "--border: the west is named twice");
  EXPECT_EQ(of({"wall", "open"}), "--border: 'open' is the second that names no side");
  EXPECT_EQ(of({"sponge:100"}, true),
            "--border: 'sponge:100' names no side, and --walls is for all: keep one");
  for (const char* bad : {"", "top", "top:wall", "west", "west:", "west:east:wall", "Wall"})
    EXPECT_THAT(of({bad}), HasSubstr("is not [west|east|south|north:]open, wall, sponge:KM or wave:FILE"))
        << bad;
  for (const char* bad : {"sponge", "sponge:", "sponge:wide", "sponge:0", "sponge:-5", "sponge:nan",
                          "sponge:inf", "east:sponge:5km"})
    EXPECT_EQ(of({bad}), "--border: '" + std::string(bad) + "' needs a width in km above 0: sponge:KM");
  EXPECT_THAT(of({"west:wave"}), HasSubstr("needs a file of seconds and metres"));
  EXPECT_THAT(of({"west:wave:"}), HasSubstr("needs a file of seconds and metres"));
  EXPECT_THAT(of({"south:wall:5"}), HasSubstr("says more than wall"));
}

TEST(Borders, SpongesFitTheDomainAndItsCells) {
  Options o;  // 60 degrees of the Chile case, finest cells of 37 km
  EXPECT_EQ(refused([&] { check(o); }), "");
  o.borders = parse_borders({"sponge:1000"}, false);
  EXPECT_EQ(refused([&] { check(o); }), "");
  o.borders = parse_borders({"west:sponge:1700", "east:sponge:1700"}, false);
  EXPECT_THAT(
      refused([&] { check(o); }),
      HasSubstr("--border: sponges of 3400 km in all from west to east leave nothing of the 3336 km"));
  o.borders = parse_borders({"south:sponge:3400", "north:sponge:3300"}, false);
  EXPECT_THAT(refused([&] { check(o); }), HasSubstr("sponges of 6700 km in all from south to north"));
  o.borders = parse_borders({"south:sponge:100"}, false);
  EXPECT_THAT(refused([&] { check(o); }),
              HasSubstr("a sponge of 100 km is narrower than four of the finest cells, 147 km"));
}

TEST(Levels, OfWavesAreBetweenThoseOfTheMesh) {
  Options o;
  for (const int level : {-1, 8, 15}) {
    o.refine_level = level;
    EXPECT_EQ(refused([&] { check(o); }), "");
  }
  for (const int level : {7, 16}) {
    o.refine_level = level;
    EXPECT_THAT(refused([&] { check(o); }), HasSubstr("--refine-level is not from --coarsest to --finest"));
  }
}

TEST(Levels, OfGaugesNeedOne) {
  Options o;
  o.gauge_level = 12;
  EXPECT_THAT(refused([&] { check(o); }), HasSubstr("--gauge-level without a --gauge"));
  o.gauges = {{.id = "g", .lon = -86, .lat = -18}};
  EXPECT_EQ(refused([&] { check(o); }), "");
}

TEST(Domain, IsNoLargerThanTheEarthAndTheMemory) {
  Options o;
  o.coarsest = o.finest = 30;
  EXPECT_THAT(refused([&] { check(o); }),
              HasSubstr("2.15e+09 cells at the start, of --coarsest 30 on 1 x 1 roots, "
                        "are more than 1e+09: take a coarser level"));
  o.coarsest = 20, o.roots_x = o.roots_y = 64;
  EXPECT_THAT(refused([&] { check(o); }), HasSubstr("8.59e+09 cells at the start"));
  o.coarsest = 15;
  EXPECT_EQ(refused([&] { check(o); }), "");
  o.west = -180, o.east = 180;
  EXPECT_EQ(refused([&] { check(o); }), "");
  o.east = 181;
  EXPECT_THAT(refused([&] { check(o); }), HasSubstr("the domain is wider than 360 degrees"));
}

TEST(Borders, AWaveIsASource) {
  Options o;
  o.topography = {"sea.nc"};
  EXPECT_THAT(refused([&] { check(o); }), HasSubstr("--topography without a source"));
  o.borders = parse_borders({"west:wave:w.txt"}, false);
  EXPECT_EQ(refused([&] { check(o); }), "");
}

TEST(Manning, IsANumberOrARasterWithOneForElsewhere) {
  EXPECT_EQ(parse_manning("0.03").n, 0.03);
  EXPECT_EQ(parse_manning("0.03").file, "");
  EXPECT_EQ(parse_manning("0").n, 0);
  const ManningOption raster = parse_manning("n.nc");
  EXPECT_EQ(raster.file, "n.nc");
  EXPECT_FALSE(raster.elsewhere);
  const ManningOption both = parse_manning("a:b.nc:.02");
  EXPECT_EQ(both.file, "a:b.nc");
  EXPECT_TRUE(both.elsewhere);
  EXPECT_EQ(both.n, 0.02);
  for (const char* bad : {"-0.01", "1.5", "nan", "inf", "n.nc:2", "n.nc:nan"})
    EXPECT_THAT(refused([&] { parse_manning(bad); }), HasSubstr("is no number from 0 to 1 s/m^(1/3)")) << bad;
  EXPECT_THAT(refused([&] { parse_manning(""); }), HasSubstr("is neither N nor FILE[:N]"));
  EXPECT_THAT(refused([&] { parse_manning(":0.03"); }), HasSubstr("is neither N nor FILE[:N]"));
}

}  // namespace
}  // namespace tsunami
