// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/topography.hpp"

#include <gmock/gmock.h>
#include <netcdf.h>

#include <cmath>
#include <functional>

#include "apps/io/test_files.hpp"
#include "apps/tsunami/io/analytic_ocean.hpp"
#include "apps/tsunami/io/test_etopo5.hpp"

namespace io::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const char* const small_grid =
    "3 ncols\n2 nrows\n-10.0 xll\n40.0 yll\n0.5 cellsize\n-9999 nodata_value\n"
    "1 2 3\n-4 5.5 6e1\n";

TEST(Raster, InterpolatesBilinearlyAndClampsOutside) {
  const Raster raster{3, 2, 10, 20, 1, 2, {0, 1, 2, 10, 11, 12}};
  EXPECT_DOUBLE_EQ(raster.at(10.5, 21), 5.5);
  EXPECT_DOUBLE_EQ(raster.at(12, 22), 12);
  EXPECT_DOUBLE_EQ(raster.at(0, 0), 0);
  EXPECT_DOUBLE_EQ(raster.at(99, 99), 12);
  EXPECT_DOUBLE_EQ(raster.at(11.25, 99), 11.25);
  EXPECT_TRUE(raster.contains(12, 22));
  EXPECT_FALSE(raster.contains(12.1, 22));
  EXPECT_FALSE(raster.contains(11, 19.9));
}

TEST(Topography, ReadsValueNameHeaderWithRowsFromTheNorth) {
  const ScratchFolder folder;
  const auto raster = read_topography(folder.write("a.asc", small_grid));
  ASSERT_EQ(raster->nx, 3);
  ASSERT_EQ(raster->ny, 2);
  EXPECT_DOUBLE_EQ(raster->at(-10, 40.5), 1);
  EXPECT_DOUBLE_EQ(raster->at(-9, 40), 60);
  EXPECT_DOUBLE_EQ(raster->at(-9.5, 40), 5.5);
}

TEST(Topography, ReadsEsriHeaderAndMovesCornersToMiddles) {
  const ScratchFolder folder;
  const auto raster = read_topography(folder.write(
      "a.asc",
      "NCOLS 2\r\nNROWS 2\r\nXLLCORNER 100\r\nYLLCORNER -5\r\nCELLSIZE 0.2\r\n1\r\n2\r\n3\r\n+4\r\n"));
  EXPECT_DOUBLE_EQ(raster->x0, 100.1);
  EXPECT_DOUBLE_EQ(raster->y0, -4.9);
  EXPECT_DOUBLE_EQ(raster->node(0, 0), 3);
  EXPECT_DOUBLE_EQ(raster->node(1, 0), 4);
  EXPECT_DOUBLE_EQ(raster->node(1, 1), 2);
}

TEST(Topography, AByteOrderMarkIsNoPartOfIt) {
  const ScratchFolder folder;
  EXPECT_DOUBLE_EQ(
      read_topography(folder.write("a.asc", std::string("\xEF\xBB\xBF") + small_grid))->at(-9, 40), 60);
}

TEST(Topography, ReadsTwoCellSizesAndFortranExponents) {
  const ScratchFolder folder;
  const auto raster = read_topography(
      folder.write("a.asc", "2 ncols\n2 nrows\n0 xlower\n0 ylower\n0.5 0.25 cellsize\n1.5D+02 2\n3 4\n"));
  EXPECT_DOUBLE_EQ(raster->dx, 0.5);
  EXPECT_DOUBLE_EQ(raster->dy, 0.25);
  EXPECT_DOUBLE_EQ(raster->node(0, 1), 150);
}

TEST(Topography, MissingNodesAreFilledOnlyOnRequest) {
  const ScratchFolder folder;
  const auto path =
      folder.write("a.asc", "ncols 2\nnrows 2\nxll 0\nyll 0\ncellsize 1\nnodata_value -9999\n1 2\n-9999 4\n");
  EXPECT_THAT(file_error_of([&] { read_topography(path); }),
              AllOf(StartsWith("a.asc:8: "), HasSubstr("row 2 of 2, column 1 of 2"), HasSubstr("nodata")));
  EXPECT_DOUBLE_EQ(read_topography(path, {std::nullopt, -100.0})->node(0, 0), -100);
}

struct BadFile {
  const char* name;
  std::string text;
  const char* message;  // "FILE:LINE: expected ..." and what was found
};

TEST(Topography, BadTextIsRefusedWithFileLineAndReason) {
  const std::string head = "2 ncols\n2 nrows\n0 xll\n0 yll\n1 cellsize\n-1 nodata_value\n";
  const std::vector<BadFile> cases = {
      {"no_ncols", "2 nrows\n0 xll\n0 yll\n1 cellsize\n1 2 3 4\n",
       "no_ncols:5: expected a header line 'ncols'"},
      {"no_size", "2 ncols\n2 nrows\n0 xll\n0 yll\n1 2 3 4\n",
       "no_size:5: expected a header line 'cellsize'"},
      {"no_xll", "2 ncols\n2 nrows\n0 yll\n1 cellsize\n1 2\n3 4\n", "no_xll:5: expected a header line 'xll'"},
      {"twice", "3 ncols\n" + head + "1 2\n3 4\n",
       "twice:2: expected each header line once, found 'ncols' again"},
      {"header_only", head, "header_only:7: expected 2 x 2 values"},
      {"short", head + "1 2\n3333333\n",
       "short:9: expected the elevation of row 2 of 2, column 2 of 2, found the end"},
      {"long", head + "1 2\n3 4\n5\n", "long:9: expected the end of the file after 4 values"},
      {"word", head + "1 2\nx3 4\n",
       "word:8: expected the elevation of row 2 of 2, column 1 of 2 as a finite number, found 'x3'"},
      {"nan", head + "1 2\n3 NaN\n",
       "nan:8: expected the elevation of row 2 of 2, column 2 of 2 as a finite number, found 'NaN'"},
      {"inf", head + "inf 2\n3 4\n", "inf:7: expected"},
      {"half", head + "1 2\n3 4.5.6\n", "half:8: expected"},
      {"fraction", "2.5 ncols\n2 nrows\n0 xll\n0 yll\n1 cellsize\n1 2 3 4\n",
       "fraction:6: expected ncols as a whole number"},
      {"negative", "-2 ncols\n2 nrows\n0 xll\n0 yll\n1 cellsize\n1 2 3 4\n", "negative:6: expected ncols"},
      {"absurd", "999999 ncols\n999999 nrows\n0 xll\n0 yll\n1 cellsize\n1 2\n3 4\n",
       "absurd:6: expected 999999 x 999999 values"},
      {"huge", "1e30 ncols\n2 nrows\n0 xll\n0 yll\n1 cellsize\n1 2\n",
       "huge:6: expected ncols as a whole number"},
      {"zero_cell", "2 ncols\n2 nrows\n0 xll\n0 yll\n0 cellsize\n1 2\n3 4\n",
       "zero_cell:6: expected cellsize above 0"},
      {"name", "2 ncols\n2 nrows\n0 xll\n0 yll\n1 colour\n1 2\n3 4\n",
       "name:5: expected a header name, found 'colour'"},
      {"no_value", "ncols many\nnrows 2\n", "no_value:1: expected a number for 'ncols'"},
      {"prose", "Dear reader,\nthis is no grid.\n", "prose:1: expected a number for 'dear'"},
      {"blank", "\n\n\n", "blank:4: expected a header line 'ncols'"},
      {"empty", "", "empty: expected data, found an empty file"},
  };
  const ScratchFolder folder;
  for (const auto& bad : cases) {
    EXPECT_THAT(file_error_of([&] { read_topography(folder.write(bad.name, bad.text)); }),
                StartsWith(bad.message))
        << bad.name;
  }
}

TEST(Topography, DirectoriesMissingAndCompressedFilesAreNamed) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path("sub"));
  EXPECT_THAT(file_error_of([&] { read_topography(folder.path("sub")); }),
              StartsWith("sub: expected a file, found a directory"));
  EXPECT_THAT(file_error_of([&] { read_topography(folder.path("none")); }), HasSubstr("No such file"));
  EXPECT_THAT(file_error_of([] { read_topography("/dev/zero"); }),
              StartsWith("/dev/zero: expected a file or a pipe, found a device"));
  EXPECT_THAT(file_error_of([&] {
                read_topography(folder.write("b.xz", std::string_view("\xFD"
                                                                      "7zXZ\0\0\0",
                                                                      8)));
              }),
              AllOf(StartsWith("b.xz:byte 0: "), HasSubstr("xz -dk")));
  EXPECT_THAT(file_error_of([&] { read_topography(folder.write("b.bin", std::string_view("\1\0\2\0", 4))); }),
              AllOf(StartsWith("b.bin:byte 0: "), HasSubstr("b.txt")));
}

TEST(Topography, ReadsRawInt16WithItsHeader) {
  const ScratchFolder folder;
  folder.write("e.txt", "nx 2\nny 2\nx0_lonE 120.5\ny0_lat -1\ndx_deg 0.5\ndy_deg 0.25\norder: y slow\n");
  const auto path = folder.write("e.bin", std::string_view("\x01\x00\xff\xff\x00\x80\xff\x7f", 8));
  const auto raster = read_topography(path);
  EXPECT_DOUBLE_EQ(raster->node(0, 0), 1);
  EXPECT_DOUBLE_EQ(raster->node(1, 0), -1);
  EXPECT_DOUBLE_EQ(raster->node(0, 1), -32768);
  EXPECT_DOUBLE_EQ(raster->node(1, 1), 32767);
  EXPECT_DOUBLE_EQ(raster->y0, -1);
  EXPECT_THAT(
      file_error_of([&] { read_topography(folder.write("e.bin", std::string_view("\1\0\2\0\3", 5))); }),
      StartsWith("e.bin:byte 5: expected 8 bytes"));
  folder.write("e.txt", "nx 2\nx0_lonE 120.5\ny0_lat -1\ndx_deg 0.5\ndy_deg 0.25\n");
  EXPECT_THAT(
      file_error_of([&] { read_topography(folder.write("e.bin", std::string_view("\1\0\2\0\3\0\4\0", 8))); }),
      AllOf(StartsWith("e.txt:"), HasSubstr("'ny NUMBER'")));
}

// Writes f(lon, lat) = 100 lon + lat on lon 10, 10.5, 11, 11.5 and lat -2, -1.5, -1.
struct GridFile {
  const char *lon_name = "lon", *lat_name = "lat", *z_name = "z";
  bool north_first = false, lon_first_dimension = false;
  nc_type type = NC_FLOAT;
  int format = NC_NETCDF4;
  std::function<void(int file, int variable)> define = {};
  std::function<void(std::vector<double>&)> change = {};
};

std::string write_netcdf(const ScratchFolder& folder, const GridFile& grid) {
  const auto path = folder.path("grid.nc");
  int file = 0, dimension[2] = {}, lon = 0, lat = 0, z = 0;
  const auto good = [](int status) { ASSERT_EQ(status, NC_NOERR) << nc_strerror(status); };
  good(nc_create(path.c_str(), NC_CLOBBER | grid.format, &file));
  const int lon_at = grid.lon_first_dimension ? 0 : 1;
  good(nc_def_dim(file, grid.lon_name, 4, &dimension[lon_at]));
  good(nc_def_dim(file, grid.lat_name, 3, &dimension[1 - lon_at]));
  good(nc_def_var(file, grid.lon_name, NC_DOUBLE, 1, &dimension[lon_at], &lon));
  good(nc_def_var(file, grid.lat_name, NC_FLOAT, 1, &dimension[1 - lon_at], &lat));
  good(nc_def_var(file, grid.z_name, grid.type, 2, dimension, &z));
  if (grid.define) grid.define(file, z);
  good(nc_enddef(file));
  std::vector<double> lons = {10, 10.5, 11, 11.5}, lats = {-2, -1.5, -1}, values(12);
  if (grid.north_first) std::reverse(lats.begin(), lats.end());
  for (std::size_t j = 0; j < 3; ++j) {
    for (std::size_t i = 0; i < 4; ++i) {
      values[grid.lon_first_dimension ? i * 3 + j : j * 4 + i] = 100 * lons[i] + lats[j];
    }
  }
  if (grid.change) grid.change(values);
  good(nc_put_var_double(file, lon, lons.data()));
  good(nc_put_var_double(file, lat, lats.data()));
  good(nc_put_var_double(file, z, values.data()));
  good(nc_close(file));
  return path;
}

TEST(TopographyNetcdf, ReadsEveryNameDirectionAndOrder) {
  const std::vector<GridFile> grids = {
      {},
      {"x", "y", "Band1", true},
      {"longitude", "latitude", "elevation", false, false, NC_DOUBLE, NC_64BIT_OFFSET},
      {"lon", "lat", "altitude", true, true, NC_FLOAT, NC_CLASSIC_MODEL},
      {"x", "y", "anything", false, true, NC_DOUBLE, NC_64BIT_DATA},
  };
  const ScratchFolder folder;
  for (const auto& grid : grids) {
    const auto raster = read_topography(write_netcdf(folder, grid));
    ASSERT_EQ(raster->nx, 4) << grid.z_name;
    ASSERT_EQ(raster->ny, 3) << grid.z_name;
    for (const auto& [lon, lat] : {std::pair{10.0, -2.0}, {11.5, -2.0}, {10.5, -1.0}, {10.7, -1.3}}) {
      EXPECT_NEAR(raster->at(lon, lat), 100 * lon + lat, 1e-4) << grid.z_name << " at " << lon << ", " << lat;
    }
  }
}

TEST(TopographyNetcdf, ReadsOnlyTheRegionThatIsAskedFor) {
  const ScratchFolder folder;
  for (const bool north_first : {false, true}) {
    const auto path = write_netcdf(folder, {.north_first = north_first});
    const auto raster = read_topography(path, {Region{10.6, 10.9, -1.4, -1.2}, std::nullopt});
    EXPECT_EQ(raster->nx, 2);
    EXPECT_EQ(raster->ny, 2);
    EXPECT_DOUBLE_EQ(raster->x0, 10.5);
    EXPECT_DOUBLE_EQ(raster->y0, -1.5);
    EXPECT_NEAR(raster->at(10.7, -1.3), 1068.7, 1e-4);
    EXPECT_THAT(file_error_of([&] { read_topography(path, {Region{20, 21, -2, -1}, std::nullopt}); }),
                HasSubstr("points between 20"));
  }
}

TEST(TopographyNetcdf, AppliesScaleAndFill) {
  const ScratchFolder folder;
  GridFile grid{.type = NC_DOUBLE};
  grid.define = [](int file, int z) {
    const double scale = 0.5, offset = 3, missing = -7777;
    nc_put_att_double(file, z, "scale_factor", NC_DOUBLE, 1, &scale);
    nc_put_att_double(file, z, "add_offset", NC_DOUBLE, 1, &offset);
    nc_put_att_double(file, z, "missing_value", NC_DOUBLE, 1, &missing);
  };
  EXPECT_NEAR(read_topography(write_netcdf(folder, grid))->at(10, -2), 0.5 * 998 + 3, 1e-9);
  grid.change = [](std::vector<double>& values) { values[5] = -7777; };
  const auto path = write_netcdf(folder, grid);
  EXPECT_THAT(file_error_of([&] { read_topography(path); }),
              AllOf(StartsWith("grid.nc:variable 'z': "), HasSubstr("lon 10.5"), HasSubstr("missing value")));
  EXPECT_DOUBLE_EQ(read_topography(path, {std::nullopt, 12.0})->node(1, 1), 12);
  grid.change = [](std::vector<double>& values) { values[5] = std::nan(""); };
  EXPECT_THAT(file_error_of([&] { read_topography(write_netcdf(folder, grid)); }),
              HasSubstr("missing value"));
}

// CF allows several missing values; of two scales none would be right.
TEST(TopographyNetcdf, AnAttributeMayHaveSeveralNumbers) {
  const ScratchFolder folder;
  GridFile grid{.type = NC_DOUBLE};
  grid.define = [](int file, int z) {
    const double missing[] = {-7777, -8888, -9999};
    nc_put_att_double(file, z, "missing_value", NC_DOUBLE, 3, missing);
  };
  EXPECT_DOUBLE_EQ(read_topography(write_netcdf(folder, grid))->at(10, -2), 998);
  grid.change = [](std::vector<double>& values) { values[5] = -8888; };
  EXPECT_THAT(file_error_of([&] { read_topography(write_netcdf(folder, grid)); }),
              HasSubstr("missing value"));
  grid.change = {};
  grid.define = [](int file, int z) {
    const double scales[] = {1, 2};
    nc_put_att_double(file, z, "scale_factor", NC_DOUBLE, 2, scales);
  };
  EXPECT_THAT(file_error_of([&] { read_topography(write_netcdf(folder, grid)); }),
              StartsWith("grid.nc:variable 'z': expected scale_factor as one finite number, found 2"));
}

TEST(TopographyNetcdf, OtherQuantitiesHaveTheirNamesAndBounds) {
  const ScratchFolder folder;
  const Quantity quantity{"Manning's n", {"manning", "n", "roughness", "Band1"}, 0, 1};
  GridFile grid{.z_name = "n", .type = NC_DOUBLE};
  grid.change = [](std::vector<double>& values) { std::ranges::fill(values, 0.025); };
  EXPECT_EQ(read_topography(write_netcdf(folder, grid), {.region = {}, .fill = {}, .quantity = quantity})
                ->at(10, -2),
            0.025);
  grid.change = [](std::vector<double>& values) { std::ranges::fill(values, 0.025), values[5] = 2.5; };
  EXPECT_THAT(file_error_of([&] {
                read_topography(write_netcdf(folder, grid), {.region = {}, .fill = {}, .quantity = quantity});
              }),
              AllOf(StartsWith("grid.nc:variable 'n': expected the Manning's n at lon 10.5"),
                    HasSubstr("from 0 to 1, found 2.5; correct the value")));
}

// The library reads zeros beyond the end of a file of the classic formats: a sea floor at sea level.
TEST(TopographyNetcdf, AFileThatIsCutOffIsRefused) {
  const ScratchFolder folder;
  for (const int format : {0, NC_64BIT_OFFSET, NC_64BIT_DATA})
    for (const nc_type type : {NC_FLOAT, NC_DOUBLE}) {
      GridFile grid{.type = type, .format = format};
      grid.define = [](int file, int z) {
        nc_put_att_text(file, z, "units", 5, "metre");
        nc_put_att_text(file, NC_GLOBAL, "title", 3, "sea");
      };
      const auto path = write_netcdf(folder, grid);
      EXPECT_EQ(read_topography(path)->nx, 4) << format;
      const auto whole = std::filesystem::file_size(path);
      for (const std::uintmax_t less : {4, 40}) {
        std::filesystem::resize_file(path, whole - less);
        EXPECT_THAT(file_error_of([&] { read_topography(path); }),
                    StartsWith("grid.nc:byte " + std::to_string(whole - less) + ": expected at least " +
                               std::to_string(whole) + " bytes as its header says"))
            << format;
      }
    }
}

TEST(TopographyNetcdf, BadFilesAreRefused) {
  const ScratchFolder folder;
  const auto path = write_netcdf(folder, {});
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_THAT(file_error_of([&] { read_topography(path); }), StartsWith("grid.nc"));
  EXPECT_THAT(file_error_of([&] { read_topography(folder.write("c.nc", "CDF\x01rubbish")); }),
              StartsWith("c.nc"));
  EXPECT_THAT(file_error_of([&] { read_topography(write_netcdf(folder, {.lon_name = "lat2"})); }),
              HasSubstr("one longitude and one latitude"));
}

TEST(Topography, ReadsTheChileBathymetry) {
  const auto path = data_file("chile2010/etopo10min120W60W60S0S.asc");
  if (path.empty()) GTEST_SKIP() << "no data folder (scripts/fetch_data.sh)";
  const auto raster = read_topography(path);
  EXPECT_EQ(raster->nx, 361);
  EXPECT_EQ(raster->ny, 361);
  EXPECT_DOUBLE_EQ(raster->node(0, 360), -4207);  // the file's first value: north-west corner
  EXPECT_NEAR(raster->region().east, -60, 1e-6);
  EXPECT_NEAR(raster->region().north, 0, 1e-6);
  // GeoClaw's depth at gauge 32412 (q[1] at rest) is 4427 m, a mean over its coarse cell.
  EXPECT_NEAR(raster->at(-86.392, -17.975), -4427, 100);
}

TEST(Topography, ReadsTheTohokuFiles) {
  const auto path = data_file("tohoku2011/etopo1min139E147E34N41N.asc");
  const auto surface = data_file("tohoku2011/saito2011_surf.nc");
  if (path.empty() || surface.empty()) GTEST_SKIP() << "no data folder (scripts/fetch_data.sh)";
  const auto raster = read_topography(path);
  EXPECT_EQ(raster->nx, 481);
  EXPECT_EQ(raster->ny, 421);
  EXPECT_LT(raster->at(144, 38), -5000);  // the Japan trench's side
  const auto wave = read_topography(surface);
  const auto [low, high] = std::minmax_element(wave->z.begin(), wave->z.end());
  EXPECT_GT(*high, 3);  // the uplift of the 2011 earthquake, metres
  EXPECT_LT(*high, 20);
  EXPECT_LT(*low, 0);
}

// The part of it that is kept for tests has its very numbers, at its very places.
TEST(Topography, TheNorthernPacificIsEtopo5s) {
  const ScratchFolder folder;
  const auto whole = data_file("tohoku2011/etopo5.cdf"), kept = etopo5_part(folder);
  if (whole.empty() || kept.empty())
    GTEST_SKIP() << "no etopo5.cdf (scripts/fetch_data.sh tohoku2011), or no part of it beside";
  const auto part = read_topography(kept), all = read_topography(whole, {part->region(), std::nullopt});
  ASSERT_EQ(part->nx, 1560);
  ASSERT_EQ(part->ny, 781);
  const auto column = static_cast<int>(std::lround((part->x0 - all->x0) / all->dx)),
             row = static_cast<int>(std::lround((part->y0 - all->y0) / all->dy));
  ASSERT_GE(std::min(column, row), 0);
  ASSERT_LE(column + part->nx, all->nx);
  ASSERT_LE(row + part->ny, all->ny);
  // The file's longitudes are rounded: over 130 degrees they gain a fiftieth of a spacing.
  for (const int i : {0, part->nx - 1})
    EXPECT_NEAR(part->x0 + i * part->dx, all->x0 + (column + i) * all->dx, 0.05 * all->dx);
  for (const int j : {0, part->ny - 1})
    EXPECT_NEAR(part->y0 + j * part->dy, all->y0 + (row + j) * all->dy, 0.05 * all->dy);
  for (int j = 0; j < part->ny; ++j)
    for (int i = 0; i < part->nx; ++i)
      ASSERT_EQ(part->node(i, j), all->node(column + i, row + j)) << "column " << i << ", row " << j;
}

TEST(AnalyticOcean, HasAnOceanATrenchACoastAndMountains) {
  EXPECT_NEAR(analytic_ocean(-86.392, -17.975), -4350, 30);  // where gauge 32412 lies
  EXPECT_GT(analytic_ocean(-68, -30), 2000);
  const Raster ocean = analytic_ocean_raster();
  EXPECT_LT(*std::min_element(ocean.z.begin(), ocean.z.end()), -6000);
  EXPECT_NEAR(ocean.region().east, -60, 1e-9);
  // Continuous at the coasts of both oceans and across Cape Horn, where it changes sign.
  for (const double lat : {-5.0, -18.4, -35.0, -42.2, -46.6, -54.0, -55.9, -56.5}) {
    double previous = analytic_ocean(-80, lat);
    for (double lon = -80; lon < -60; lon += 0.001) {
      const double z = analytic_ocean(lon, lat);
      ASSERT_LT(std::abs(z - previous), 20) << lon << ' ' << lat;
      previous = z;
    }
  }
}

TEST(AnalyticOcean, HasTheOutlineOfSouthAmerica) {
  struct Known {
    const char* name;
    double lon, lat;
    bool land;
  };
  for (const Known& k : {Known{"Santiago", -70.65, -33.45, true},
                         {"La Paz", -68.15, -16.5, true},
                         {"Lima", -76.8, -12.0, true},
                         {"Manaus", -60.0, -3.1, true},
                         {"Buenos Aires province", -60.5, -36.0, true},
                         {"Neuquen", -68.1, -38.9, true},
                         {"Ushuaia's island", -67.8, -54.4, true},
                         {"Juan Fernandez basin", -78.0, -33.6, false},
                         {"off Arica", -71.5, -18.7, false},
                         {"Gulf of San Jorge", -66.0, -46.2, false},
                         {"Gulf of San Matias", -64.3, -41.6, false},
                         {"Drake Passage", -65.0, -58.0, false},
                         {"Patagonian shelf", -62.0, -48.0, false}})
    EXPECT_EQ(analytic_ocean(k.lon, k.lat) > 0, k.land) << k.name;
  EXPECT_GT(analytic_ocean(-62.0, -48.0), -500) << "the Atlantic shelf is wide";
  for (const auto coast : {pacific_coast(), atlantic_coast()})
    for (const Place& at : coast) EXPECT_NEAR(analytic_ocean(at.lon, at.lat), 0, 1) << at.lat;
}

}  // namespace
}  // namespace io::test
