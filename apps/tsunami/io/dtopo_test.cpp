// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/dtopo.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "apps/io/test_files.hpp"

namespace io::test {
namespace {

using ::testing::StartsWith;

const std::string head = "2 mx\n2 my\n3 mt\n10 xlower\n20 ylower\n100 t0\n0.5 dx\n0.5 dy\n10 dt\n";

TEST(Dtopo, IsLinearInTimeAndZeroBeforeAndOutside) {
  const ScratchFolder folder;
  const auto dtopo = read_dtopo(folder.write("d.tt3", head + "0 0\n0 0\n1 2\n3 4\n5 6\n7 9\n"));
  ASSERT_EQ(dtopo.times, (std::vector<double>{100, 110, 120}));
  EXPECT_DOUBLE_EQ(dtopo.at(10, 20, 99), 0);
  EXPECT_DOUBLE_EQ(dtopo.at(10, 20, 105), 1.5);  // south-west: first value of the last row
  EXPECT_DOUBLE_EQ(dtopo.at(10.5, 20.5, 115), 4);
  EXPECT_DOUBLE_EQ(dtopo.at(10.5, 20, 1e9), 9);
  EXPECT_DOUBLE_EQ(dtopo.at(11.5, 20, 1e9), 0);
  EXPECT_DOUBLE_EQ(dtopo.final_at(10.25, 20.25), 6.75);
  EXPECT_DOUBLE_EQ(dtopo.final_at(9, 20), 0);
}

TEST(Dtopo, AcceptsNamesFirstAndBareValues) {
  const ScratchFolder folder;
  const auto named = read_dtopo(folder.write(
      "n.tt3", "mx 2\nmy 2\nmt 1\nxlower 10\nylower 20\nt0 1\ndx 0.5\ndy 0.5\ndt 0\n1 2\n3 4\n"));
  const auto bare = read_dtopo(folder.write("b.tt3", "2\n2\n1\n10\n20\n1\n0.5\n0.5\n0\n1 2\n3 4\n"));
  EXPECT_DOUBLE_EQ(named.final_at(10, 20.5), 1);
  EXPECT_DOUBLE_EQ(bare.final_at(10.5, 20), 4);
  EXPECT_DOUBLE_EQ(bare.at(10, 20, 0.99), 0);
  EXPECT_DOUBLE_EQ(bare.at(10, 20, 1), 3);
}

TEST(Dtopo, BadFilesAreRefusedWithFileLineAndReason) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"order", "2 mx\n3 mt\n2 my\n", "order:2: expected a header line 'my'"},
      {"cut", "2 mx\n2 my\n", "cut:3: expected a header line 'mt' with its value, found the end of the file"},
      {"word", "two mx\n", "word:1: expected a header line 'mx'"},
      {"size", "2.5 mx\n2 my\n3 mt\n10 xlower\n20 ylower\n0 t0\n1 dx\n1 dy\n1 dt\n1 2\n",
       "size:1: expected mx as a whole"},
      {"dx", "2 mx\n2 my\n1 mt\n10 xlower\n20 ylower\n0 t0\n-1 dx\n1 dy\n1 dt\n1 2\n3 4\n",
       "dx:7: expected dx above 0"},
      {"dt", "2 mx\n2 my\n2 mt\n10 xlower\n20 ylower\n0 t0\n1 dx\n1 dy\n0 dt\n1 2\n3 4\n1 2\n3 4\n",
       "dt:9: expected dt above 0"},
      {"few", head + "1 2\n3 4\n", "few:9: expected 2 x 2 x 3 values"},
      {"short", head + "1 2\n3 4\n1 2\n3 4\n1111 2\n3\n",
       "short:16: expected the displacement of time 3 of 3, row 2 of 2, column 2"},
      {"nan", head + "1 2\n3 4\n1 nan\n3 4\n1 2\n3 4\n", "nan:12: expected the displacement of time 2"},
      {"none", head + "1 2\n3 4\n1 -9999\n3 4\n1 2\n3 4\n",
       "none:12: expected the displacement of time 2 of 3, row 1 of 2, column 2 of 2 from -2000 to 2000 m, "
       "found -9999"},
      {"long", head + "1 2\n3 4\n1 2\n3 4\n1 2\n3 4\n5\n", "long:16: expected the end of the file"},
      {"huge", "999999 mx\n999999 my\n999999 mt\n10 xlower\n20 ylower\n0 t0\n1 dx\n1 dy\n1 dt\n1\n",
       "huge:9: expected 999999 x"},
      {"empty", "", "empty: expected data, found an empty file"},
  };
  const ScratchFolder folder;
  for (const auto& [name, text, message] : cases) {
    EXPECT_THAT(file_error_of([&] { read_dtopo(folder.write(name, text)); }), StartsWith(message)) << name;
  }
}

TEST(Dtopo, ReadsTheMauleDisplacement) {
  const auto path = data_file("chile2010/dtopo_usgs100227.tt3");
  if (path.empty()) GTEST_SKIP() << "no data folder (scripts/fetch_data.sh)";
  const auto dtopo = read_dtopo(path);
  ASSERT_EQ(dtopo.frames.size(), 1u);
  EXPECT_EQ(dtopo.frames[0].nx, 100);
  EXPECT_DOUBLE_EQ(dtopo.times[0], 1);
  EXPECT_NEAR(dtopo.frames[0].region().east, -67, 1e-6);
  EXPECT_DOUBLE_EQ(dtopo.frames[0].node(0, 99), -1.283023e-03);  // the first value: north-west corner
}

}  // namespace
}  // namespace io::test
