// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/wave.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "apps/io/test_files.hpp"

namespace io::test {
namespace {

using ::testing::StartsWith;

TEST(Wave, IsTwoColumnsAndNothingElse) {
  const ScratchFolder folder;
  const auto wave = read_wave(folder.write(
      "w.txt", "# of a wave maker\ntime(s)     water surface(m)\n-1\t0.5\r\n\n0,1.5\n# crest\n2 -2.5E-1\n"));
  EXPECT_EQ(wave.t, (std::vector<double>{-1, 0, 2}));
  EXPECT_EQ(wave.v, (std::vector<double>{0.5, 1.5, -0.25}));
  EXPECT_DOUBLE_EQ(height_at(wave, -0.5), 1);
  EXPECT_DOUBLE_EQ(height_at(wave, 2), -0.25);
  EXPECT_EQ(height_at(wave, -1.001), 0) << "nothing comes before";
  EXPECT_EQ(height_at(wave, 2.001), 0) << "and after it";
  // As spreadsheets write it.
  EXPECT_EQ(read_wave(folder.write("b.csv", "\xEF\xBB\xBFtime,height\r\n0,1\r\n2,3\r\n")).t,
            (std::vector<double>{0, 2}));
}

TEST(Wave, BadFilesAreRefusedWithFileLineAndReason) {
  struct Bad {
    const char *name, *text, *message;
  };
  const ScratchFolder folder;
  for (const auto& [name, text, message] : {
           Bad{"unsorted", "0 0\n2 1\n1 2\n",
               "unsorted:3: expected a time after that of the sample before, 2 s, found '1'"},
           {"twice", "0 0\n# again\n0 1\n", "twice:3: expected a time after that of the sample before, 0 s"},
           {"nan", "0 0\n1 nan\n", "nan:2: expected a height in metres as a finite number, found 'nan'"},
           {"nan_first", "nan 0\n1 0\n", "nan_first:1: expected a time in seconds as a finite number"},
           {"missing", "0 0\n1 9999\n2 0\n",
            "missing:2: expected a height in metres from -1000 to 1000, found '9999'"},
           {"inf", "0 0\ninf 0\n", "inf:2: expected a time in seconds as a finite number, found 'inf'"},
           {"word", "0 0\n1 0.5x\n", "word:2: expected a height in metres as a finite number, found '0.5x'"},
           {"names_late", "0 0\ntime height\n1 0\n", "names_late:2: expected a time in seconds"},
           {"one", "0 0\n1\n", "one:2: expected two columns, seconds and metres, found '1'"},
           {"three", "0 0 0\n1 0 0\n", "three:1: expected two columns, seconds and metres, found '0 0 0'"},
           {"single", "0 1\n", "single:2: expected at least two samples"},
           {"remarks", "# t z\n", "remarks:2: expected at least two samples, seconds and metres, found 0"},
           {"past", "-20 1\n-10 2\n", "past:3: expected a last time above 0 s"},
           {"empty", "", "empty: expected data, found an empty file"},
       })
    EXPECT_THAT(file_error_of([&] { read_wave(folder.write(name, text)); }), StartsWith(message)) << name;
  EXPECT_THAT(file_error_of([&] { read_wave(folder.path("none")); }),
              StartsWith("none: expected a readable file"));
}

// The input wave of NTHMP's benchmark problem 7, Monai valley.
TEST(Wave, ReadsTheOneOfMonaiValley) {
  const auto path = data_file("nthmp/BP07-DmitryN-Monai_valley_beach/Benchmark_2_input.txt");
  if (path.empty()) GTEST_SKIP() << "no data folder with nthmp";
  const auto wave = read_wave(path);
  EXPECT_EQ(wave.t.size(), 451u);
  EXPECT_EQ(wave.t.back(), 22.5);
  EXPECT_NEAR(*std::ranges::max_element(wave.v), 0.0162, 0.0005);  // m, in a tank of the scale 1 : 400
  EXPECT_NEAR(*std::ranges::min_element(wave.v), -0.0115, 0.0005);
}

}  // namespace
}  // namespace io::test
