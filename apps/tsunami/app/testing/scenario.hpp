// SPDX-License-Identifier: Apache-2.0
// What tests of scenarios share: a domain of ten degrees, 4000 m of water, and a motion in it.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apps/io/test_files.hpp"
#include "apps/tsunami/app/scenario.hpp"

namespace tsunami::test {

// Flat text rasters of 11 x 11 nodes, one degree (or `step`) apart.
inline std::string raster(double west, double south, double z, double step = 1) {
  std::string text = "11 ncols\n11 nrows\n" + std::to_string(west) + " xll\n" + std::to_string(south) +
                     " yll\n" + std::to_string(step) + " cellsize\n-9999 nodata_value\n";
  for (int k = 0; k < 121; ++k) text += std::to_string(z) + "\n";
  return text;
}

// A motion of 3 x 3 nodes around (west + 1, south + 1), at the given times.
inline std::string motion(double west, double south, const std::vector<double>& heights, double t0 = 0,
                          double dt = 300) {
  std::string text = "3 mx\n3 my\n" + std::to_string(heights.size()) + " mt\n" + std::to_string(west) +
                     " xlower\n" + std::to_string(south) + " ylower\n" + std::to_string(t0) +
                     " t0\n1 dx\n1 dy\n" + std::to_string(dt) + " dt\n";
  for (const double h : heights) text += "0 0 0\n0 " + std::to_string(h) + " 0\n0 0 0\n";
  return text;
}

class ScenarioTest : public ::testing::Test {
 protected:
  ScenarioTest() {
    o.west = 140, o.east = 150, o.south = 30, o.north = 40;
    o.topography = {folder.write("sea.asc", raster(140, 30, -4000))};
    o.dtopo = folder.write("source.tt3", motion(143, 33, {2}));
  }
  std::string refusal() {
    return io::test::file_error_of([&] { make_scenario(o); });
  }
  io::test::ScratchFolder folder;
  Options o;
};

}  // namespace tsunami::test
