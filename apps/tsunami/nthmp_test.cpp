// SPDX-License-Identifier: Apache-2.0
// The laboratory experiments by which tsunami codes are judged (Synolakis, Bernard, Titov, Kanoglu, Gonzalez,
// NOAA TM OAR PMEL-135 (2007); the National Tsunami Hazard Mitigation Program's workshop of 2011): benchmark
// problems 4 and 7. On one rank; part of ./dev test long.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apps/io/packed_file.hpp"
#include "apps/io/test_files.hpp"
#include "apps/io/text_scanner.hpp"
#include "apps/tsunami/io/raster.hpp"
#include "apps/tsunami/io/wave.hpp"
#include "apps/tsunami/solver/solver.hpp"
#include "apps/tsunami/solver/test_tools.hpp"

namespace swe {
namespace {

constexpr double kG = 9.81;       // m / s^2
constexpr double kSmooth = 0.01;  // s / m^(1/3): glass, steel, plywood
constexpr double kNone = 1e9;     // nobody has measured there

// --- Benchmark problem 4: a solitary wave runs up a beach of 1:19.85 that begins in water of depth d = .3 m
// (Synolakis, J. Fluid Mech. 185 (1987) 523-545). Lengths over d, times over sqrt(d / g).
struct RunUp {
  double height;                                 // of the wave
  double run_up;                                 // highest level on the beach
  std::vector<double> places;                    // from the shore, towards the sea
  std::map<double, std::vector<double>> levels;  // of the water there, by time
};

class SimpleBeach {
 public:
  static constexpr double d = 0.3, slope = 1 / 19.85;
  explicit SimpleBeach(const RunUp& wanted) : wanted_(wanted) {
    const double gamma = std::sqrt(0.75 * wanted.height),
                 crest = 1 / slope + std::acosh(std::sqrt(20.0)) / gamma;
    const double west = -1.5 * wanted.run_up / slope - 1, east = crest + 5 / gamma;
    constexpr int squares = 180;
    const double root = (east - west) * d / squares;  // .4 d, and four cells of a tenth
    Parameters setup{.domain = {squares, 1},
                     .frame = {.west = west * d, .south = 0, .width = root, .height = root},
                     .coarsest = 4,
                     .finest = 4};
    setup.physics.order = 2;
    setup.physics.manning = kSmooth;
    setup.physics.dry_tolerance = 1e-5 * d;
    setup.borders[1] = BorderKind::Radiation;
    const auto wave = [=, height = wanted.height * d](double x) {
      const double c = std::cosh(gamma * (x / d - crest));
      return height / (c * c);
    };
    water_ = std::make_unique<Solver>(
        MPI_COMM_SELF, setup, [](double x, double) { return std::max(-d, -slope * x); },
        [&](double x, double) { return wave(x); });
    for (std::size_t i = 0; i < water_->cells(); ++i) {  // all of it runs to the shore
      Cell c = water_->cell(i);
      const auto [x, y] = water_->metric().centroid(water_->mesh().triangle(i));
      if (c.eta > c.b) c.hu = -std::sqrt(kG / d) * wave(x) * (c.eta - c.b);
      water_->set_cell(i, c);
    }
    for (const double x : wanted.places) water_->add_gauge(x * d, 0.53 * root);
  }

  // Returns the highest bed that was wet; tells how far profiles are from what was measured, over the largest
  // of that.
  double run(double until) {
    double highest = 0;
    const auto go_to = [&](double time) {
      const double end = time * std::sqrt(d / kG);
      while (water_->time() < end) {
        water_->step(end - water_->time());
        for (std::size_t i = 0; i < water_->cells() && water_->steps() % 16 == 0; ++i)
          if (const Cell c = water_->cell(i); c.eta - c.b > 1e-3 * wanted_.height * d)
            highest = std::max(highest, c.b / d);
      }
    };
    for (const auto& [time, levels] : wanted_.levels) {
      go_to(time);
      water_->sample_gauges();
      double squares = 0, most = 0;
      int count = 0;
      for (std::size_t k = 0; k < levels.size(); ++k) {
        if (levels[k] == kNone) continue;
        const double eta = water_->gauges()[k].samples.back().eta / d;
        squares += std::pow(eta - levels[k], 2), ++count;
        most = std::max(most, std::abs(levels[k]));
      }
      worst_ = std::max(worst_, std::sqrt(squares / count) / most);
      std::printf("t %g: rms %.3f of the largest level\n", time, std::sqrt(squares / count) / most);
    }
    go_to(until);
    std::printf("run-up %.4f, measured %.4f\n", highest, wanted_.run_up);
    testing::record("run_up", highest);
    return highest;
  }
  double worst_profile() const { return worst_; }

 private:
  const RunUp& wanted_;
  std::unique_ptr<Solver> water_;
  double worst_ = 0;
};

// Lab_runup.txt, and profiles of Case0_0185: it does not break.
TEST(BenchmarkProblem4, ASmallWaveRunsUp) {
  const RunUp wanted{
      .height = .0185,
      .run_up = .0757,
      .places = {-.8, 0, 1, 2, 3, 4, 6, 8, 10, 14, 18},
      .levels = {{30, {kNone, 0, 0, .0010, .0035, .0073, .0159, .0220, .0212, .0107, .0062}},
                 {40, {kNone, .0059, .0184, .0260, .0281, .0287, .0235, .0141, .0087, .0036, .0022}},
                 {50, {.0551, .0465, .0359, .0292, .0218, .0167, .0086, .0059, .0044, .0020, .0023}},
                 {60, {.0505, .0404, .0245, .0178, .0127, .0105, .0063, .0057, .0076, .0029, .0021}},
                 {70, {kNone, kNone, -.0103, .0069, .0122, .0120, .0098, .0088, .0077, .0053, .0041}}}};
  SimpleBeach beach(wanted);
  EXPECT_NEAR(beach.run(70), wanted.run_up, .1 * wanted.run_up);
  EXPECT_LE(beach.worst_profile(), .2);
}

// It breaks on its way, as a bore does here.
TEST(BenchmarkProblem4, ABreakingWaveRunsUp) {
  const RunUp wanted{
      .height = .3,
      .run_up = .55,
      .places = {-5.5, -4, -2, 0, 1, 2, 3, 4, 6, 8, 10, 14},
      .levels = {{15, {kNone, kNone, kNone, kNone, 0, 0, 0, 0, .0023, .2685, .2262, .0346}},
                 {20, {kNone, kNone, kNone, kNone, 0, 0, .0892, .2679, .1575, .0819, .0318, .0091}},
                 {25, {kNone, kNone, .1575, .1882, .1720, .1591, .1401, .1108, .0494, .0149, .0080, .0037}},
                 {30, {.3041, .2469, .2103, .1695, .1226, .0899, .0708, .0459, .0092, .0085, .0020, kNone}}}};
  SimpleBeach beach(wanted);
  EXPECT_NEAR(beach.run(45), wanted.run_up, .1 * wanted.run_up);
}

// --- Benchmark problem 7: the tsunami of 1993 in Monai valley on Okushiri, at 1:400 (Matsuyama and Tanaka
// (2001)).

// Heights in metres, up, on 393 by 244 points .014 m apart; the file has depths, the points of one x after
// another.
io::Raster read_model(const std::string& path) {
  io::Raster model{.nx = 393, .ny = 244, .dx = .014, .dy = .014, .z = {}};
  model.z.resize(static_cast<std::size_t>(model.nx) * static_cast<std::size_t>(model.ny));
  const io::PackedFile file = io::read_packed(path, "scripts/fetch_data.sh nthmp gets it");
  io::TextScanner text(file.path, {file.bytes.data(), file.bytes.size()});
  text.next_line();  // what the columns are
  for (int i = 0; i < model.nx; ++i)
    for (int j = 0; j < model.ny; ++j)
      for (const char* what : {"x", "y", "depth"}) model.node(i, j) = -text.next_number([&] { return what; });
  return model;
}

TEST(BenchmarkProblem7, TheWaveInMonaiValley) {
  const std::string folder = "nthmp/BP07-DmitryN-Monai_valley_beach/";
  const std::string input = io::test::data_file(folder + "Benchmark_2_input.txt");
  if (input.empty()) GTEST_SKIP() << "needs " << folder << ": scripts/fetch_data.sh nthmp";
  const std::string bathymetry = std::filesystem::path(input).replace_filename("Benchmark_2_Bathymetry.txt");
  const io::Raster model = read_model(bathymetry);
  const io::TimeSeries wave = io::read_wave(input);

  Parameters setup{.domain = {8, 5},
                   .frame = {.west = 0, .south = 0, .width = 5.488 / 8, .height = 3.402 / 5},
                   .coarsest = 8,
                   .finest = 11};
  setup.physics.order = 2;
  setup.physics.manning = kSmooth;
  setup.physics.dry_tolerance = 1e-4;
  Border& sea = setup.borders[0];
  sea.kind = BorderKind::Radiation;
  sea.wave.surface = [&](double t) { return io::height_at(wave, t); };
  sea.wave.height = .03;
  sea.wave.end = 22.5;
  setup.criterion.regions = {{3.2, 5.488, 0.4, 2.9, 11}};
  Solver water(
      MPI_COMM_SELF, setup, [&](double x, double y) { return model.at(x, y); },
      [](double, double) { return 0.0; });
  // output_ch5-7-9.xls: the highest level until 25 s, and when.
  struct Gauge {
    double x, y, highest, time;
  };
  const std::array<Gauge, 3> gauges{
      {{4.521, 1.196, .0369, 18.35}, {4.521, 1.696, .0390, 17.05}, {4.521, 2.196, .0454, 16.85}}};
  for (const Gauge& gauge : gauges) water.add_gauge(gauge.x, gauge.y);
  double run_up = 0;  // in the valley
  while (water.time() < 22.5) {
    water.step(22.5 - water.time());
    for (std::size_t i = 0; i < water.cells() && water.steps() % 4 == 0; ++i)
      if (const Cell c = water.cell(i); c.b > run_up && c.eta - c.b > 1e-3) {
        const auto [x, y] = water.metric().centroid(water.mesh().triangle(i));
        if (x > 5 && std::abs(y - 1.88) < .1) run_up = c.b;
      }
  }
  for (std::size_t k = 0; k < gauges.size(); ++k) {
    const auto& samples = water.gauges()[k].samples;
    const auto highest = std::ranges::max_element(samples, {}, &GaugeSample::eta);
    std::printf("gauge %zu: %.4f m at %.2f s, measured %.4f at %.2f\n", 5 + 2 * k, highest->eta,
                highest->time, gauges[k].highest, gauges[k].time);
    testing::record("gauge" + std::to_string(5 + 2 * k), highest->eta);
    EXPECT_NEAR(highest->eta, gauges[k].highest, .1 * gauges[k].highest) << "gauge " << 5 + 2 * k;
    EXPECT_NEAR(highest->time, gauges[k].time, .5) << "gauge " << 5 + 2 * k;
  }
  // .0875 to .1 in six repetitions.
  std::printf("run-up in the valley %.4f m\n", run_up);
  testing::record("run_up", run_up);
  EXPECT_NEAR(run_up, .09, .1 * .09);
}

}  // namespace
}  // namespace swe
