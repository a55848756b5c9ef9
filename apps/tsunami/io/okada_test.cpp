// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/okada.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "apps/io/test_files.hpp"
#include "apps/tsunami/io/analytic_ocean.hpp"
#include "apps/tsunami/io/dtopo.hpp"

namespace io::test {
namespace {

struct Table2 {
  OkadaFrame frame;
  OkadaResult expected;
};

// Okada 1985, table 2, cases 2 to 4 (Poisson's ratio 0.25, slip 1): four digits are printed.
TEST(Okada, ReproducesHisTable2) {
  const std::vector<Table2> cases = {
      {{2, 3, 4, 70, 3, 2, 1, 0}, {-8.689e-3, -4.298e-3, -2.747e-3}},
      {{2, 3, 4, 70, 3, 2, 0, 1}, {-4.682e-3, -3.527e-2, -3.564e-2}},
      {{0, 0, 4, 90, 3, 2, 1, 0}, {0, 5.253e-3, 0}},
      {{0, 0, 4, 90, 3, 2, 0, 1}, {0, 0, 0}},
      {{0, 0, 4, -90, 3, 2, 1, 0}, {0, -1.303e-3, 0}},
      {{0, 0, 4, -90, 3, 2, 0, 1}, {0, 0, 0}},
  };
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const auto u = okada_rectangle(cases[k].frame);
    const auto& e = cases[k].expected;
    EXPECT_NEAR(u.ux, e.ux, std::max(1e-12, std::abs(e.ux) * 2e-4)) << "row " << k;
    EXPECT_NEAR(u.uy, e.uy, std::max(1e-12, std::abs(e.uy) * 2e-4)) << "row " << k;
    EXPECT_NEAR(u.uz, e.uz, std::max(1e-12, std::abs(e.uz) * 2e-4)) << "row " << k;
  }
}

TEST(Okada, IsFiniteAndContinuousOnItsSpecialLines) {
  // Points over the fault's edges and corners, where terms of the formulae are singular one by one.
  for (const double dip : {0.0, 30.0, 89.999, 89.9999, 90.0}) {
    for (const double x : {0.0, 1.5, 3.0}) {
      for (const double y : {-2.0, 0.0, 2.0, 4 / std::tan(70 * M_PI / 180)}) {
        const OkadaFrame at{x, y, 4, dip, 3, 2, 0.7, -1.1};
        OkadaFrame near = at;
        near.x += 1e-7;
        near.y += 1e-7;
        const auto u = okada_rectangle(at), v = okada_rectangle(near);
        ASSERT_TRUE(std::isfinite(u.ux) && std::isfinite(u.uy) && std::isfinite(u.uz))
            << dip << " " << x << " " << y;
        EXPECT_NEAR(u.uz, v.uz, 2e-5) << dip << " " << x << " " << y;
        EXPECT_NEAR(u.uy, v.uy, 2e-5) << dip << " " << x << " " << y;
        EXPECT_NEAR(u.ux, v.ux, 2e-5) << dip << " " << x << " " << y;
      }
    }
  }
}

TEST(Okada, FaultThatReachesTheSurfaceIsRefused) {
  Fault fault{0, 0, 1e3, 0, 30, 90, 1, 1e5, 5e4, FaultReference::Centroid};
  EXPECT_THROW(okada(fault, 0, 0), std::invalid_argument);
  fault.reference = FaultReference::TopCenter;
  EXPECT_NO_THROW(okada(fault, 0, 0));
  fault.width = 0;
  EXPECT_THROW(okada(fault, 0, 0), std::invalid_argument);
}

TEST(Okada, ReferenceNames) {
  EXPECT_EQ(fault_reference("noaa sift"), FaultReference::NoaaSift);
  EXPECT_EQ(fault_reference("top center"), FaultReference::TopCenter);
  try {
    fault_reference("middle");
    FAIL() << "an unknown name was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(),
                ::testing::AllOf(::testing::HasSubstr("'middle'"), ::testing::HasSubstr("'centroid'")));
  }
}

// NOAA/PMEL SIFT unit sources (info_sz.dat: lon, lat, strike, dip, depth km; 100 km x 50 km, rake 90)
// with the slips of the inversion of the Tohoku earthquake of 2011.
std::vector<Fault> tohoku_2011() {
  const auto source = [](double lon, double lat, double depth_km, double strike, double dip, double slip) {
    return Fault{lon, lat, depth_km * 1e3, strike, dip, 90, slip, 100e3, 50e3, FaultReference::NoaaSift};
  };
  return {source(143.5273, 40.31248, 5, 185, 19, 4.66),       // kiszb24
          source(143.4246, 39.41759, 5, 185, 19, 12.23),      // kiszb25
          source(143.293, 38.52536, 5, 188, 19, 21.27),       // kiszb26
          source(142.7622, 38.58372, 21.28, 188, 21, 26.31),  // kisza26
          source(143.0357, 37.6534, 5, 198, 19, 4.98),        // kiszb27
          source(142.532, 37.78298, 21.28, 198, 21, 22.75)};  // kisza27
}

TEST(Okada, MagnitudeOfTohoku) { EXPECT_NEAR(moment_magnitude(tohoku_2011()), 8.81, 0.01); }

// Values at full precision by GeoClaw 5.x, dtopotools.SiftFault, commit 1af3d3e0, for the same sources.
TEST(Okada, AgreesWithGeoclawForTohoku) {
  const double points[][3] = {
      {142.0, 37.0, -0.377188263705},   {142.5, 38.0, -2.920702002069}, {142.8, 38.3, -0.527026286507},
      {143.1, 38.6, 4.272306252557},    {143.3, 37.9, 4.582486970459},  {143.9, 38.5, 3.317692595393},
      {144.5, 40.0, -0.117520723167},   {141.2, 36.1, -0.087690940432}, {143.0, 39.5, -0.826432218292},
      {142.37, 38.83, -1.946021460018}, {145.0, 41.0, -0.082101066517}, {141.5, 42.0, -0.031593328620},
  };
  const auto faults = tohoku_2011();
  for (const auto& [lon, lat, up] : points)
    EXPECT_NEAR(okada(faults, lon, lat).up, up, 1e-9) << lon << ", " << lat;
}

// The same by GeoClaw for the Maule earthquake, once per meaning of (lon, lat, depth); depth 50 km for the
// centroid, 60 km for the bottom centre.
TEST(Okada, AgreesWithGeoclawForEveryReference) {
  struct Case {
    FaultReference reference;
    double depth, west, east;
  };
  const Case cases[] = {{FaultReference::TopCenter, 35e3, 2.938758354988, -0.605520207469},
                        {FaultReference::Centroid, 50e3, 4.064427317392, -2.298574978945},
                        {FaultReference::BottomCenter, 60e3, -0.357567708218, -1.104146422577},
                        {FaultReference::NoaaSift, 35e3, -0.361530529472, -1.089049587349},
                        {FaultReference::TopUpstrikeCorner, 35e3, 2.089243794349, -0.158537717708}};
  for (const auto& c : cases) {
    Fault fault = maule_2010().front();
    fault.reference = c.reference;
    fault.depth = c.depth;
    EXPECT_NEAR(okada(fault, -73, -36).up, c.west, 1e-9);
    EXPECT_NEAR(okada(fault, -71.5, -35).up, c.east, 1e-9);
  }
}

// A file with values rounded to `digit`: the values before rounding must agree to 1e-6 m.
void expect_agreement(const Dtopo& dtopo, const std::vector<Fault>& faults, double digit) {
  const Raster& raster = dtopo.frames.back();
  double worst = 0;
  for (int j = 0; j < raster.ny; ++j) {
    for (int i = 0; i < raster.nx; ++i) {
      const double up = okada(faults, raster.x0 + i * raster.dx, raster.y0 + j * raster.dy).up;
      worst = std::max(worst, std::abs(up - raster.node(i, j)));
    }
  }
  EXPECT_LE(worst, digit / 2 + 1e-6);
}

TEST(Okada, AgreesWithTheTohokuFile) {
  const auto path = data_file("tohoku2011/tohoku_sift_okada_2min.tt3");
  if (path.empty()) GTEST_SKIP() << "no data folder; AgreesWithGeoclawForTohoku stands for it";
  const auto dtopo = read_dtopo(path);
  expect_agreement(dtopo, tohoku_2011(), 1e-3);  // three decimals
  const auto& z = dtopo.frames.back().z;
  EXPECT_NEAR(*std::max_element(z.begin(), z.end()), 10.355, 1e-9);
  EXPECT_NEAR(*std::min_element(z.begin(), z.end()), -3.450, 1e-9);
}

TEST(Okada, AgreesWithTheMauleFile) {
  const auto path = data_file("chile2010/dtopo_usgs100227.tt3");
  if (path.empty()) GTEST_SKIP() << "no data folder (scripts/fetch_data.sh)";
  // Written by an older GeoClaw: commit 1af3d3e0 differs from the file by the same 4.87e-6 m.
  expect_agreement(read_dtopo(path), maule_2010(), 1e-5);
}

}  // namespace
}  // namespace io::test
