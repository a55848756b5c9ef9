// SPDX-License-Identifier: Apache-2.0
// Promise: the report shows a posterior alike whatever the unit of its parameters is, and says of a run what
// was solved in it.
#include "apps/io/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/io/test_files.hpp"
#include "apps/surrogate/app/results.hpp"
#include "apps/surrogate/app/testing/oscillator.hpp"
#include "apps/surrogate/app/testing/run_through.hpp"
#include "apps/surrogate/report/marginals.hpp"
#include "apps/surrogate/report/page_text.hpp"

namespace surrogate {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// What the report draws of the oscillator in a unit that is 1 / scale of its own.
std::vector<Marginal> marginals_in_unit(double scale) {
  Problem problem = test::oscillator();
  for (std::size_t k = 0; k < 3; ++k) {
    problem.parameters[k].low *= scale;
    problem.parameters[k].high *= scale;
    problem.truth[k] *= scale;
  }
  problem.model = [model = problem.model, scale](std::span<const double> x, std::span<double> y) {
    const double own[] = {x[0] / scale, x[1] / scale, x[2] / scale};
    model(own, y);
  };
  Settings settings;
  settings.reference_points = 20;
  settings.most_points = 60;
  settings.ensembles = 2;
  settings.samples = 400;
  settings.sampler.burn_in = 400;
  Inversion inversion(std::move(problem), settings);
  test::run_through(inversion);
  const io::test::ScratchFolder folder;
  write_results(folder.path(""), "{}", inversion);
  return read_marginals(folder.path(""), io::read_json(folder.path("surrogate.json")));
}

// Both by a power of 2, so that no bit differs: about 1e-12, and 1e12.
TEST(Report, ShowsAPosteriorInAnyUnit) {
  const std::vector<Marginal> own = marginals_in_unit(1);
  for (const double scale : {0x1p-40, 0x1p40}) {
    const std::vector<Marginal> scaled = marginals_in_unit(scale);
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_EQ(histogram(scaled[k].pooled(), scaled[k].range, 96),
                histogram(own[k].pooled(), own[k].range, 96))
          << scale << " " << own[k].name;
    // Lines and areas; a label is as wide as its number.
    const io::draw::Canvas corner = draw_corner(own), other = draw_corner(scaled);
    int different = 0;
    for (int row = 0; row < 3; ++row)
      for (int column = 0; column <= row; ++column)
        for (int y = 2; y < 156; ++y)
          for (int x = 2; x < 156; ++x) {
            const int at_x = 80 + 170 * column + x, at_y = 104 + 170 * row + y;
            different += std::abs(corner.pixel(at_x, at_y).g - other.pixel(at_x, at_y).g) > 0.01;
          }
    EXPECT_EQ(different, 0) << scale;
  }
}

TEST(Report, SaysNumbersInAsManyDigitsAsTellThemApart) {
  EXPECT_EQ(value_text(2.5e-13, {2e-13, 3e-13}), "2.5e-13");
  EXPECT_EQ(value_text(1.234567, {1.2, 1.3}), "1.235");
  EXPECT_EQ(value_text(8.25, {8.2, 8.3}), "8.25");
  EXPECT_EQ(value_text(1000000.00025, {1000000, 1000000.002}), "1000000.00025");
  EXPECT_EQ(value_text(3, {3, 3}), "3");
  EXPECT_EQ(value_text(0, {0, 0}), "0");
}

TEST(Report, NamesWhatWasSolved) {
  EXPECT_THAT(page_text(json{{"case", "four obstacles"}, {"reynolds", 40}}).title,
              HasSubstr("Four obstacles"));
  for (const json& run : {json::object(), json{{"case", "wells.yaml"}}, json{{"case", 7}}}) {
    const io::PageText text = page_text(run);
    EXPECT_THAT(text.title + text.about, Not(HasSubstr("bstacles"))) << run;
    EXPECT_THAT(text.title + text.about, Not(HasSubstr("sensors"))) << run;
  }
  EXPECT_THAT(page_text(json{{"case", "wells.yaml"}}).title, HasSubstr("wells.yaml"));
}

}  // namespace
}  // namespace surrogate
