// SPDX-License-Identifier: Apache-2.0
// Promise: what is laid out and filled in place is a file by VTKHDF's specification, and is read back as it
// was; what is no such file is refused in one line.
#include "apps/io/vtkhdf.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "apps/io/report.hpp"
#include "apps/io/test_files.hpp"
#include "apps/io/vtkhdf_layout.hpp"
#include "runtime/base/hdf5.hpp"
#include "runtime/base/positioned.hpp"
#include "runtime/base/unique_fd.hpp"

namespace io::test {
namespace {

namespace hdf5 = empi::hdf5;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

GridHead head() { return {1234.5, "s", "a basin", "degree", {{"ranks", "1", 3}}}; }

// A square of two triangles, `x` to the east.
GridPiece square(float x) {
  return {{x, 0, 0, x + 1, 0, 0, x + 1, 1, 0, x, 1, 0},
          {0, 1, 2, 0, 2, 3},
          3,
          {{"eta", "m", "surface", std::vector<float>{x, -x}},
           {"level", "1", "of the mesh", std::vector<std::int32_t>{7, 8}}}};
}
GridPiece none() {
  return {{},
          {},
          3,
          {{"eta", "m", "surface", std::vector<float>{}},
           {"level", "1", "of the mesh", std::vector<std::int32_t>{}}}};
}

// As the ranks do it, one after the other.
void write(const std::string& path, const std::vector<GridPiece>& pieces) {
  std::vector<GridSize> sizes;
  for (const GridPiece& piece : pieces)
    sizes.push_back(
        {static_cast<std::int64_t>(piece.point_count()), static_cast<std::int64_t>(piece.cells())});
  const GridLayout layout = lay_out(head(), pieces.front(), sizes);
  const empi::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  for (const empi::Segment& segment : layout.rest.segments)
    EXPECT_TRUE(empi::write_fully(file.get(), segment.bytes, segment.offset));
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const GridColumns columns(pieces[p]);
    ASSERT_EQ(columns.all().size(), layout.columns.size());
    for (std::size_t c = 0; c < layout.columns.size(); ++c) {
      const GridColumn& column = columns.all()[c];
      const auto at = [&](std::size_t count) {
        return rows_before(column.row, pieces[p].corners, sizes, count) * column.row_bytes;
      };
      EXPECT_EQ(at(p + 1) - at(p), column.bytes.size()) << column.name;
      EXPECT_TRUE(empi::write_fully(file.get(), column.bytes, layout.columns[c] + at(p)));
    }
  }
}

// An array by the names of the specification, with HDF5 alone.
template <class T>
std::vector<T> array(const std::string& path, const char* name, hid_t type,
                     const std::vector<hsize_t>& shape) {
  const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "file");
  const hdf5::Handle data(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose, name);
  const hdf5::Handle space(H5Dget_space(data), H5Sclose, name);
  std::vector<hsize_t> found(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, found.data(), nullptr);
  EXPECT_EQ(found, shape) << name;
  std::size_t count = 1;
  for (const hsize_t size : shape) count *= size;
  std::vector<T> values(count);
  EXPECT_GE(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  return values;
}

TEST(Vtkhdf, IsAsTheSpecificationHasIt) {
  const ScratchFolder folder;
  const std::string path = folder.path("a.vtkhdf");
  write(path, {square(0), none(), square(5)});
  {
    const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "file");
    const hdf5::Handle root(H5Gopen2(file, "VTKHDF", H5P_DEFAULT), H5Gclose, "VTKHDF");
    EXPECT_EQ(hdf5::get_text(root, "Type"), "UnstructuredGrid");
    const hdf5::Handle attribute(H5Aopen(root, "Version", H5P_DEFAULT), H5Aclose, "Version");
    std::int64_t version[2] = {};
    H5Aread(attribute, H5T_NATIVE_INT64, version);
    EXPECT_THAT(version, ElementsAre(1, 0));
    const hdf5::Handle eta(H5Dopen2(root, "CellData/eta", H5P_DEFAULT), H5Dclose, "eta");
    EXPECT_EQ(hdf5::get_text(eta, "units"), "m");
  }
  const auto numbers = [&](const char* name, const std::vector<hsize_t>& shape) {
    return array<std::int64_t>(path, name, H5T_NATIVE_INT64, shape);
  };
  // The rank without cells is no piece.
  EXPECT_THAT(numbers("VTKHDF/NumberOfPoints", {2}), ElementsAre(4, 4));
  EXPECT_THAT(numbers("VTKHDF/NumberOfCells", {2}), ElementsAre(2, 2));
  EXPECT_THAT(numbers("VTKHDF/NumberOfConnectivityIds", {2}), ElementsAre(6, 6));
  // Each piece counts from 0, and has an offset more than cells.
  EXPECT_THAT(numbers("VTKHDF/Connectivity", {12}), ElementsAre(0, 1, 2, 0, 2, 3, 0, 1, 2, 0, 2, 3));
  EXPECT_THAT(numbers("VTKHDF/Offsets", {6}), ElementsAre(0, 3, 6, 0, 3, 6));
  EXPECT_THAT(numbers("VTKHDF/Types", {4}), ElementsAre(5, 5, 5, 5));
  EXPECT_THAT(numbers("VTKHDF/CellData/level", {4}), ElementsAre(7, 8, 7, 8));
  EXPECT_THAT(array<float>(path, "VTKHDF/CellData/eta", H5T_NATIVE_FLOAT, {4}), ElementsAre(0, 0, 5, -5));
  EXPECT_EQ(array<double>(path, "VTKHDF/Points", H5T_NATIVE_DOUBLE, {8, 3})[12], 5);
  EXPECT_THAT(array<double>(path, "VTKHDF/FieldData/TimeValue", H5T_NATIVE_DOUBLE, {1}), ElementsAre(1234.5));
}

TEST(Vtkhdf, IsReadAsItWasWritten) {
  const ScratchFolder folder;
  write(folder.path("a.vtkhdf"), {square(0), none(), square(5)});
  const GridFile file = read_vtkhdf(folder.path("a.vtkhdf"));
  EXPECT_EQ(file.head, head());
  ASSERT_EQ(file.pieces.size(), 2u);
  EXPECT_EQ(file.pieces[0], square(0));
  EXPECT_EQ(file.pieces[1], square(5));
  EXPECT_EQ(file.field("ranks"), 3);
  EXPECT_THAT(file_error_of([&] { file.field("layers"); }),
              HasSubstr("a.vtkhdf: expected a number FieldData/layers"));
  EXPECT_THAT(file.values<float>(file.pieces[1], "eta"), ElementsAre(5, -5));
  EXPECT_THAT(file_error_of([&] { file.values<float>(file.pieces[1], "level"); }),
              HasSubstr("a.vtkhdf: expected an array CellData/level"));
}

TEST(Vtkhdf, PrismsAreWedges) {
  const ScratchFolder folder;
  const GridPiece prism{{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, -1, 1, 0, -1, 0, 1, -1},
                        {0, 1, 2, 3, 4, 5},
                        6,
                        {{"saturation", "1", "of water", std::vector<float>{.25F}}}};
  write(folder.path("a.vtkhdf"), {prism});
  EXPECT_THAT(array<int>(folder.path("a.vtkhdf"), "VTKHDF/Types", H5T_NATIVE_INT, {1}), ElementsAre(13));
  EXPECT_EQ(read_vtkhdf(folder.path("a.vtkhdf")).pieces.at(0), prism);
}

TEST(Vtkhdf, AGridWithoutCellsIsAFile) {
  const ScratchFolder folder;
  write(folder.path("a.vtkhdf"), {none(), none()});
  EXPECT_TRUE(read_vtkhdf(folder.path("a.vtkhdf")).pieces.empty());
}

TEST(Vtkhdf, PiecesWhoseSizesDisagreeAreRefused) {
  GridPiece outside = square(0), short_array = square(0), odd = square(0);
  outside.connectivity[5] = 4;
  std::get<std::vector<float>>(short_array.cell_data[0].values).pop_back();
  odd.connectivity.pop_back();
  for (const GridPiece& piece : {outside, short_array, odd})
    EXPECT_THROW(GridColumns{piece}, std::invalid_argument);
}

TEST(Vtkhdf, WhatIsNoSuchFileIsRefusedInOneLine) {
  const ScratchFolder folder;
  EXPECT_THAT(file_error_of([&] { read_vtkhdf(folder.path("none.vtkhdf")); }), HasSubstr("no such file"));
  folder.write("text.vtkhdf", "x,y\n1,2\n");
  EXPECT_THAT(file_error_of([&] { read_vtkhdf(folder.path("text.vtkhdf")); }), HasSubstr("no HDF5 file"));
  write(folder.path("a.vtkhdf"), {square(0), square(5)});
  for (std::uintmax_t size = std::filesystem::file_size(folder.path("a.vtkhdf")); size > 100; size -= 97) {
    std::filesystem::resize_file(folder.path("a.vtkhdf"), size - 1);
    const std::string said = file_error_of([&] { read_vtkhdf(folder.path("a.vtkhdf")); });
    EXPECT_THAT(said, HasSubstr("a.vtkhdf: expected a snapshot")) << size;
    EXPECT_EQ(said.find('\n'), said.npos);
  }
}

// A byte that is wrong in a point of a cell, in a size, in a name: never more than one line.
TEST(Vtkhdf, DamageIsRefusedOrReadAsAnotherValue) {
  const ScratchFolder folder;
  write(folder.path("a.vtkhdf"), {square(0), square(5)});
  const std::vector<char> whole = read_bytes(folder.path("a.vtkhdf"));
  const empi::UniqueFd file(open(folder.path("a.vtkhdf").c_str(), O_WRONLY | O_CLOEXEC));
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    const char wrong = static_cast<char>(whole[at] ^ 0x5a);
    EXPECT_EQ(pwrite(file.get(), &wrong, 1, static_cast<off_t>(at)), 1);
    refused += file_error_of([&] { read_vtkhdf(folder.path("a.vtkhdf")); }).empty() ? 0 : 1;
    EXPECT_EQ(pwrite(file.get(), &whole[at], 1, static_cast<off_t>(at)), 1);
  }
  EXPECT_GT(refused, 10);
  EXPECT_EQ(read_vtkhdf(folder.path("a.vtkhdf")).pieces.size(), 2u);
}

TEST(VtkhdfSeries, TellsEachTimeOnce) {
  const ScratchFolder folder;
  const std::string list = folder.path("a.vtkhdf.series");
  add_to_series(list, "snapshot-0000.vtkhdf", 0);
  add_to_series(list, "snapshot-0001.vtkhdf", 3600);
  add_to_series(list, "snapshot-0002.vtkhdf", 7200.5);
  add_to_series(list, "snapshot-0001.vtkhdf", 3600);  // it goes on from a checkpoint of before
  const nlohmann::json read = read_json(list);
  EXPECT_EQ(read.at("file-series-version"), "1.0");
  EXPECT_EQ(read.at("files"), nlohmann::json::parse(R"([{"name": "snapshot-0000.vtkhdf", "time": 0.0},
                                                        {"name": "snapshot-0001.vtkhdf", "time": 3600.0}])"));
  folder.write("a.vtkhdf.series", "{");
  add_to_series(list, "snapshot-0002.vtkhdf", 7200.5);
  EXPECT_EQ(read_json(list).at("files").size(), 1u);
}

}  // namespace
}  // namespace io::test
