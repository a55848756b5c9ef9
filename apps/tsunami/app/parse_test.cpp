// SPDX-License-Identifier: Apache-2.0
// Borders and friction as options: what they mean, and one line for each that means nothing.
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
