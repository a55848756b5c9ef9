// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/gauge.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "apps/io/test_files.hpp"

namespace io::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(TimeSeries, SortsAndInterpolates) {
  const auto series = make_series({30, 10, 20, 20}, {3, 1, 5, 7});
  EXPECT_EQ(series.t, (std::vector<double>{10, 20, 20, 30}));
  EXPECT_EQ(series.v, (std::vector<double>{1, 5, 7, 3}));
  EXPECT_DOUBLE_EQ(series.at(15), 3);
  EXPECT_DOUBLE_EQ(series.at(0), 1);
  EXPECT_DOUBLE_EQ(series.at(99), 3);
  EXPECT_DOUBLE_EQ(series.at(25), 5);
}

TEST(Gauge, ReadsTwoColumnsAndGeoclaw) {
  const ScratchFolder folder;
  const auto plain = read_gauge(folder.write("g.txt", "# remark\n20 0.5\n\n10 -0.25\n"));
  EXPECT_EQ(plain.t, (std::vector<double>{10, 20}));
  EXPECT_EQ(plain.v, (std::vector<double>{-0.25, 0.5}));
  const auto geoclaw = read_gauge(folder.write("c.txt",
                                               "# gauge_id= 1 location=( 1 2 ) num_var=  4\n"
                                               "# level, time, q[  1  2  3], eta, aux[]\n"
                                               "   01  0.0E+00  0.44E+04  0.0E+00  0.0E+00  0.125E+00\n"
                                               "   02  0.2E+01  0.44E+04 -0.2E-14  0.2E-14  0.250E+00\n"));
  EXPECT_EQ(geoclaw.t, (std::vector<double>{0, 2}));
  EXPECT_EQ(geoclaw.v, (std::vector<double>{0.125, 0.25}));
  const auto remarked = read_gauge(
      folder.write("r.txt", "\xEF\xBB\xBF# metadata: time in s, m above the sea level\n0 1\n60 2\n"));
  EXPECT_EQ(remarked.v, (std::vector<double>{1, 2}));
}

TEST(Gauge, ReadsDartText) {
  using namespace std::chrono;
  const ScratchFolder folder;
  const auto path = folder.write(
      "d.txt",
      "#YY  MM DD hh mm ss T   HEIGHT\n#yr  mo dy hr mn  s -        m\n"
      "2011 03 11 06 00 15 2 5822.5\n2011 03 11 05 46 23 1 5822.0\n2011 03 12 00 00 00 1 9999.000\n");
  const auto series = read_dart(path, sys_days(2011y / March / 11) + 5h + 46min + 23s);
  EXPECT_EQ(series.t, (std::vector<double>{0, 832}));
  EXPECT_EQ(series.v, (std::vector<double>{5822.0, 5822.5}));
  EXPECT_THAT(
      file_error_of([&] { read_dart(folder.write("e.txt", "2011 13 41 0 0 0 1 5.0\n"), sys_seconds()); }),
      StartsWith("e.txt:1: expected a date"));
  for (const char* bad : {"2011 257 11", "2e11 03 11", "2011 -3 11", "2011 3 1.5"})
    EXPECT_THAT(file_error_of([&] {
                  read_dart(folder.write("g.txt", std::string(bad) + " 0 0 0 1 5\n"), sys_seconds());
                }),
                StartsWith("g.txt:1: expected a date"))
        << bad;
  EXPECT_THAT(file_error_of([&] { read_dart(folder.write("f.txt", "#x\n2011 03 11 0 0\n"), sys_seconds()); }),
              StartsWith("f.txt:2: "));
}

TEST(Gauge, BadFilesAreRefusedWithFileLineAndReason) {
  const ScratchFolder folder;
  const auto error = [&](const char* name, const std::string& text) {
    return file_error_of([&] { read_gauge(folder.write(name, text)); });
  };
  EXPECT_THAT(error("three", "1 2\n1 2 3\n"), StartsWith("three:2: expected two columns"));
  EXPECT_THAT(error("word", "1 2\n3 high\n"),
              StartsWith("word:2: expected a height in metres as a finite number, found 'high'"));
  EXPECT_THAT(error("nan", "1 nan\n"), StartsWith("nan:1: "));
  EXPECT_THAT(error("missing", "1 0.5\n2 9999\n"),
              StartsWith("missing:2: expected a height of the tsunami from -1000 to 1000 m, found '9999'"));
  EXPECT_THAT(error("remarks", "# only\n"), HasSubstr("at least one sample"));
  EXPECT_THAT(error("empty", ""), HasSubstr("an empty file"));
}

TEST(GaugeComparison, KnownSeries) {
  std::vector<double> t, o, c;
  for (int k = 0; k <= 1000; ++k) {
    t.push_back(k);
    o.push_back(std::sin(k * 0.01));
    c.push_back(0.5 * std::sin(k * 0.01) + 0.1);
  }
  const auto observed = make_series(t, o), computed = make_series(t, c);
  const auto same = compare_gauge(observed, observed, {0, 1000});
  EXPECT_NEAR(same.rms, 0, 1e-15);
  EXPECT_NEAR(same.correlation, 1, 1e-12);
  const auto result = compare_gauge(observed, computed, {0, 1000});
  EXPECT_NEAR(result.correlation, 1, 1e-12);
  EXPECT_NEAR(result.max_observed, 1, 1e-4);
  EXPECT_DOUBLE_EQ(result.time_max_observed, 157);
  EXPECT_NEAR(result.max_computed, 0.6, 1e-4);
  double sum = 0;
  for (int k = 200; k <= 900; ++k) sum += std::pow(c[k] - o[k], 2);
  const auto part = compare_gauge(observed, computed, {200, 900});
  EXPECT_EQ(part.samples, 701);
  EXPECT_NEAR(part.rms, std::sqrt(sum / 701), 1e-12);
  const auto zero = compare_gauge(observed, make_series({0, 1000}, {0, 0}), {0, 1000});
  EXPECT_DOUBLE_EQ(zero.correlation, 0);
  EXPECT_DOUBLE_EQ(zero.rms, zero.rms_observed);
}

TEST(GaugeComparison, RecordsMustCoverTheWindow) {
  const auto observed = make_series({0, 8000, 9000, 40000}, {0, 1, 0, 1}),
             early = make_series({0, 20000}, {0, 1});
  try {
    compare_gauge(observed, early);
    FAIL() << "a record of 20000 s was accepted for the window up to 32135 s";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), ::testing::AllOf(HasSubstr("computed record covers 0"), HasSubstr("32135")));
  }
  EXPECT_NO_THROW(compare_gauge(observed, make_series({0, 32100}, {0, 1})));
}

TEST(TimeSeries, RepeatedTimesAreCountedAndAveraged) {
  const auto series = make_series({30, 10, 20, 20.0000001, 20}, {3, 1, 5, 6, 7});
  EXPECT_EQ(repeats(series), 2);
  const auto once = averaged(series);
  EXPECT_EQ(once.t, (std::vector<double>{10, 20, 30}));
  EXPECT_EQ(once.v, (std::vector<double>{1, 6, 3}));
  EXPECT_EQ(repeats(once), 0);
}

TEST(GaugeComparison, FindsTheShift) {
  std::vector<double> t, o, c;
  for (int k = 0; k <= 1000; ++k) {
    t.push_back(10 * k);
    o.push_back(std::sin(k * 0.01));
    c.push_back(std::sin((k + 4.5) * 0.01));  // 45 s too early
  }
  const auto shift = best_shift(make_series(t, o), make_series(t, c), {1000, 9000});
  EXPECT_DOUBLE_EQ(shift.seconds, 45);
  EXPECT_LT(shift.rms, 1e-5);
}

// GeoClaw's records of the Tohoku tsunami have the figures that ours are measured by.
TEST(GaugeComparison, GeoclawAtTheTohokuBuoys) {
  struct Buoy {
    const char* id;
    double rms, correlation, shift, shifted;
  };
  for (const Buoy& b : {Buoy{"21413", .0767, .841, 45, .0731}, Buoy{"21418", .2236, .573, 105, .1671}}) {
    const auto observed = data_file(std::string("tohoku2011/dart_") + b.id + "_notide.txt"),
               computed = data_file(std::string("tohoku2011/geoclaw_reference/gauge") + b.id + ".txt");
    if (observed.empty() || computed.empty()) GTEST_SKIP() << "no data folder (scripts/fetch_data.sh)";
    const GaugeWindow window{1200, 14400};
    const auto record = averaged(read_gauge(observed)), by_geoclaw = read_gauge(computed);
    const auto result = compare_gauge(record, by_geoclaw, window);
    EXPECT_EQ(result.samples, 220) << b.id;
    EXPECT_NEAR(result.rms, b.rms, 1e-4) << b.id;
    EXPECT_NEAR(result.correlation, b.correlation, 1e-3) << b.id;
    const auto shift = best_shift(record, by_geoclaw, window);
    EXPECT_NEAR(std::abs(shift.seconds), b.shift, 10) << b.id;
    EXPECT_NEAR(shift.rms, b.shifted, 2e-4) << b.id;
  }
}

// The metric itself: GeoClaw's record of DART 32412 has the published figures.
TEST(GaugeComparison, GeoclawAtDart32412) {
  const auto observed = data_file("chile2010/32412_notide.txt");
  const auto computed = data_file("chile2010/geoclaw_reference/gauge32412.txt");
  if (observed.empty() || computed.empty()) GTEST_SKIP() << "no data folder (scripts/fetch_data.sh)";
  const auto result = compare_gauge(read_gauge(observed), read_gauge(computed));
  EXPECT_EQ(result.samples, 432);
  EXPECT_NEAR(result.rms, 0.0334, 0.0001);
  EXPECT_NEAR(result.correlation, 0.792, 0.001);
  EXPECT_NEAR(result.rms_observed, 0.054, 0.001);
  EXPECT_NEAR(result.max_computed, 0.178, 0.001);
  EXPECT_NEAR(result.time_max_computed, 11984, 1);
  EXPECT_NEAR(result.max_observed, 0.235, 0.001);
  EXPECT_NEAR(result.time_max_observed, 11760, 1);
}

}  // namespace
}  // namespace io::test
