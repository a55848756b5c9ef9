// SPDX-License-Identifier: Apache-2.0
// Damaged text files: a reader gives a raster or a FileError, whatever the bytes are.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "apps/io/test_files.hpp"
#include "apps/tsunami/io/dtopo.hpp"
#include "apps/tsunami/io/gauge.hpp"
#include "apps/tsunami/io/topography.hpp"
#include "apps/tsunami/io/wave.hpp"

namespace io::test {
namespace {

struct Format {
  std::string good;
  std::function<void(const std::string&)> read;
};

std::vector<Format> formats() {
  const auto topography = [](const std::string& path) {
    const auto raster = read_topography(path);
    ASSERT_EQ(raster->z.size(), static_cast<std::size_t>(raster->nx) * raster->ny);
    ASSERT_TRUE(std::isfinite(raster->at(0.3, 0.4)));
  };
  const auto dtopo = [](const std::string& path) {
    ASSERT_TRUE(std::isfinite(read_dtopo(path).at(0.3, 0.4, 5)));
  };
  const auto gauge = [](const std::string& path) { ASSERT_TRUE(std::isfinite(read_gauge(path).at(5))); };
  const auto wave = [](const std::string& path) {
    ASSERT_TRUE(std::isfinite(height_at(read_wave(path), 5)));
  };
  const auto dart = [](const std::string& path) {
    ASSERT_TRUE(std::isfinite(read_dart(path, std::chrono::sys_seconds()).at(5)));
  };
  return {
      {"2 ncols\n2 nrows\n0 xll\n0 yll\n1 cellsize\n-9999 nodata_value\n1 2\n3 4\n", topography},
      {"2 mx\n2 my\n2 mt\n0 xlower\n0 ylower\n0 t0\n1 dx\n1 dy\n9 dt\n1 2\n3 4\n5 6\n7 8\n", dtopo},
      {"# level, time, q[  1  2  3], eta, aux[]\n 01 0.0 4.0 0.0 0.0 1.5\n 01 9.0 4.0 0.0 0.0 2.5\n", gauge},
      {"time height\n0.0 1.5\n9.0 -2.5e-1\n", wave},
      {"2011 03 15 00 00 00 1 5825.095\n2011 03 14 23 45 00 1 5825.106\n", dart}};
}

TEST(DamagedFiles, CutAnywhere) {
  const ScratchFolder folder;
  int read = 0, refused = 0;
  for (const auto& format : formats()) {
    for (std::size_t size = 0; size <= format.good.size(); ++size) {
      const auto error = file_error_of([&] { format.read(folder.write("f", format.good.substr(0, size))); });
      (error.empty() ? read : refused)++;
    }
  }
  EXPECT_GE(read, 5);  // at least the whole files
  EXPECT_GT(refused, 100);
}

TEST(DamagedFiles, BytesChangedAtRandom) {
  const ScratchFolder folder;
  std::mt19937 random(20100227);
  const std::string alphabet = "0123456789.-+eEdDnax \n\t#\xff\x01";
  int read = 0, refused = 0;
  for (const auto& format : formats()) {
    for (int trial = 0; trial < 400; ++trial) {
      std::string text = format.good;
      for (int change = 0; change < 1 + trial % 3; ++change) {
        text[random() % text.size()] = alphabet[random() % alphabet.size()];
      }
      const auto error = file_error_of([&] { format.read(folder.write("f", text)); });
      (error.empty() ? read : refused)++;
      EXPECT_TRUE(error.empty() || error.find("expected") != std::string::npos) << error;
    }
  }
  EXPECT_GT(read, 20);
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace io::test
