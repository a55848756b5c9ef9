// SPDX-License-Identifier: Apache-2.0
#include "apps/io/vtkhdf_layout.hpp"

#include <bit>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "runtime/base/hdf5.hpp"

namespace io {
namespace {

namespace hdf5 = empi::hdf5;
using hdf5::Handle;

static_assert(std::endian::native == std::endian::little, "pieces are written as they lie in memory");

constexpr unsigned char kVtkTriangle = 5, kVtkWedge = 13;
constexpr std::int64_t kVersion[] = {1, 0};

// In the order of GridColumns, the values of `cell_data` behind.
struct FixedColumn {
  const char* name;
  GridRow row;
  std::size_t row_bytes;
  hid_t (*type)();
};
constexpr FixedColumn kFixed[kFixedColumns] = {
    {"Points", GridRow::Point, 3 * sizeof(double), [] { return H5T_IEEE_F64LE; }},
    {"Connectivity", GridRow::Connectivity, sizeof(std::int32_t), [] { return H5T_STD_I32LE; }},
    {"Offsets", GridRow::Offset, sizeof(std::int32_t), [] { return H5T_STD_I32LE; }},
    {"Types", GridRow::Cell, 1, [] { return H5T_STD_U8LE; }}};

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

void check_piece(const GridPiece& piece) {
  const auto refuse = [](const std::string& why) {
    throw std::invalid_argument("a piece of a grid: " + why);
  };
  if (piece.corners != 3 && piece.corners != 6) refuse("cells have 3 or 6 corners");
  if (piece.points.size() % 3 != 0) refuse("a point has three coordinates");
  if (piece.connectivity.size() % static_cast<std::size_t>(piece.corners) != 0)
    refuse("a cell lacks corners");
  if (piece.connectivity.size() > std::size_t{std::numeric_limits<std::int32_t>::max()})
    refuse("more corners of cells than 32 bits can count");
  for (const std::int32_t point : piece.connectivity)
    if (point < 0 || static_cast<std::size_t>(point) >= piece.point_count())
      refuse("a cell names point " + std::to_string(point) + " of " + std::to_string(piece.point_count()));
  for (const GridArray& array : piece.cell_data)
    if (std::visit([](const auto& values) { return values.size(); }, array.values) != piece.cells())
      refuse(array.name + " has another number of values than there are cells");
}

void put_array(hid_t group, const char* name, hid_t type, const std::vector<hsize_t>& sizes,
               const void* values) {
  const Handle data = hdf5::placed_dataset(group, name, type, sizes);
  hdf5::must(H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), name);
}

void put_number(hid_t group, const char* name, const std::string& units, double value) {
  const Handle data = hdf5::placed_dataset(group, name, H5T_IEEE_F64LE, {1});
  hdf5::must(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value), name);
  hdf5::put_text(data, "units", units);
}

Handle make_group(hid_t parent, const char* name) {
  return {H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, name};
}

void put_head(hid_t root, const GridHead& head) {
  const hsize_t two = 2;
  const Handle space(H5Screate_simple(1, &two, nullptr), H5Sclose, "a shape");
  const Handle version(H5Acreate2(root, "Version", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                       "Version");
  hdf5::must(H5Awrite(version, H5T_NATIVE_INT64, kVersion), "Version");
  hdf5::put_text(root, "Type", "UnstructuredGrid");
  hdf5::put_text(root, "title", head.title);
  const Handle fields = make_group(root, "FieldData");
  put_number(fields, "TimeValue", head.time_units, head.time);
  for (const GridField& field : head.fields) put_number(fields, field.name.c_str(), field.units, field.value);
}

// Ranks without cells are no pieces: not all readers take empty ones.
void put_sizes(hid_t root, int corners, std::span<const GridSize> sizes) {
  std::vector<std::int64_t> points, cells, ids;
  for (const GridSize& size : sizes) {
    if (size.cells == 0) continue;
    points.push_back(size.points), cells.push_back(size.cells), ids.push_back(corners * size.cells);
  }
  const std::vector<hsize_t> count{points.size()};
  put_array(root, "NumberOfPoints", H5T_STD_I64LE, count, points.data());
  put_array(root, "NumberOfCells", H5T_STD_I64LE, count, cells.data());
  put_array(root, "NumberOfConnectivityIds", H5T_STD_I64LE, count, ids.data());
}

// Everything that is written by HDF5 itself; returns where each column begins.
std::vector<std::uint64_t> write_rest(const std::string& path, const GridHead& head, const GridPiece& like,
                                      std::span<const GridSize> sizes) {
  std::vector<std::uint64_t> columns;
  const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, hdf5::file_access()), H5Fclose,
                    "making a file");
  const Handle root = make_group(file, "VTKHDF");
  put_head(root, head);
  put_sizes(root, like.corners, sizes);
  const auto rows = [&](GridRow row) -> hsize_t {
    return rows_before(row, like.corners, sizes, sizes.size());
  };
  for (const FixedColumn& column : kFixed) {
    std::vector<hsize_t> shape{rows(column.row)};
    if (column.row == GridRow::Point) shape.push_back(3);
    const Handle data = hdf5::placed_dataset(root, column.name, column.type(), shape);
    if (column.row == GridRow::Point) hdf5::put_text(data, "units", head.point_units);
    columns.push_back(hdf5::offset_of(data));
  }
  const Handle group = make_group(root, "CellData");
  for (const GridArray& array : like.cell_data) {
    const bool whole = std::holds_alternative<std::vector<std::int32_t>>(array.values);
    const Handle data = hdf5::placed_dataset(group, array.name, whole ? H5T_STD_I32LE : H5T_IEEE_F32LE,
                                             {rows(GridRow::Cell)});
    hdf5::put_text(data, "units", array.units);
    hdf5::put_text(data, "long_name", array.meaning);
    columns.push_back(hdf5::offset_of(data));
  }
  return columns;
}

}  // namespace

GridColumns::GridColumns(const GridPiece& piece) {
  check_piece(piece);
  const std::size_t cells = piece.cells();
  if (cells > 0)
    for (std::size_t k = 0; k <= cells; ++k) offsets_.push_back(static_cast<std::int32_t>(k) * piece.corners);
  types_.assign(cells, piece.corners == 3 ? kVtkTriangle : kVtkWedge);
  const std::span<const std::byte> fixed[] = {
      cells > 0 ? bytes_of(piece.points) : std::span<const std::byte>(), bytes_of(piece.connectivity),
      bytes_of(offsets_), bytes_of(types_)};
  for (std::size_t k = 0; k < kFixedColumns; ++k)
    columns_.push_back({kFixed[k].name, kFixed[k].row, kFixed[k].row_bytes, fixed[k]});
  for (const GridArray& array : piece.cell_data)
    columns_.push_back({"CellData/" + array.name, GridRow::Cell, sizeof(float),
                        std::visit([](const auto& values) { return bytes_of(values); }, array.values)});
}

std::uint64_t rows_before(GridRow row, int corners, std::span<const GridSize> sizes, std::size_t pieces) {
  std::int64_t points = 0, cells = 0, parts = 0;
  for (const GridSize& size : sizes.first(pieces)) {
    if (size.cells == 0) continue;
    points += size.points, cells += size.cells, ++parts;
  }
  switch (row) {
    case GridRow::Point:
      return static_cast<std::uint64_t>(points);
    case GridRow::Connectivity:
      return static_cast<std::uint64_t>(corners * cells);
    case GridRow::Offset:
      return static_cast<std::uint64_t>(cells + parts);  // each piece has one more than cells
    case GridRow::Cell:
      return static_cast<std::uint64_t>(cells);
  }
  throw std::invalid_argument("GridRow has no such value");
}

GridLayout lay_out(const GridHead& head, const GridPiece& like, std::span<const GridSize> sizes) {
  const hdf5::Silence silence;
  const GridColumns of_piece(like);
  GridLayout layout;
  layout.rest = empi::lay_out_in_memory([&](const std::string& path) {
    layout.columns = write_rest(path, head, like, sizes);
    std::vector<empi::Hole> holes;
    for (std::size_t c = 0; c < layout.columns.size(); ++c) {
      const GridColumn& column = of_piece.all()[c];
      holes.push_back(
          {layout.columns[c], rows_before(column.row, like.corners, sizes, sizes.size()) * column.row_bytes});
    }
    return holes;
  });
  return layout;
}

}  // namespace io
