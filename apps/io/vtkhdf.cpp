// SPDX-License-Identifier: Apache-2.0
#include "apps/io/vtkhdf.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

#include "apps/io/file_error.hpp"
#include "runtime/base/hdf5.hpp"
#include "runtime/base/json_text.hpp"

namespace io {
namespace {

namespace fs = std::filesystem;
namespace hdf5 = empi::hdf5;
using hdf5::Handle;
using nlohmann::json;

// Anything that is not as it was written; read_vtkhdf() adds the file's name.
[[noreturn]] void damaged(const std::string& what) { throw std::runtime_error("it is damaged: " + what); }

Handle open_group(hid_t parent, const char* name) {
  return {H5Gopen2(parent, name, H5P_DEFAULT), H5Gclose, name};
}

std::vector<std::string> names_in(hid_t group) {
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5L_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->push_back(name);
    return 0;
  };
  hdf5::must(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names), "listing a group");
  return names;
}

// A dataset that is read in stretches of rows.
class Rows {
 public:
  Rows(hid_t group, const std::string& name, std::uintmax_t file_bytes)
      : name_(name),
        data_(H5Dopen2(group, name.c_str(), H5P_DEFAULT), H5Dclose, ("it has no " + name).c_str()),
        space_(H5Dget_space(data_), H5Sclose, "the shape of an array") {
    hsize_t sizes[2] = {0, 1};
    const int dimensions = H5Sget_simple_extent_ndims(space_);
    if (dimensions < 1 || dimensions > 2)
      damaged(name + " has " + std::to_string(dimensions) + " dimensions");
    H5Sget_simple_extent_dims(space_, sizes, nullptr);
    count_ = sizes[0], width_ = sizes[1];
    // Damage may claim any size: no memory is taken for what the file cannot hold.
    if (width_ == 0 || count_ > file_bytes / width_) damaged(name + " is larger than the file");
  }

  std::size_t count() const { return count_; }
  hid_t id() const { return data_; }

  bool whole_numbers() const {
    const Handle type(H5Dget_type(data_), H5Tclose, "the type of an array");
    return H5Tget_class(type) == H5T_INTEGER;
  }

  template <class T>
  std::vector<T> read(hid_t type, std::size_t first, std::size_t rows) const {
    if (first > count_ || rows > count_ - first) damaged(name_ + " ends before its last piece");
    std::vector<T> values(rows * width_);
    if (rows == 0) return values;
    const hsize_t start[] = {first, 0}, size[] = {rows, width_};
    const int dimensions = H5Sget_simple_extent_ndims(space_);
    const Handle memory(H5Screate_simple(dimensions, size, nullptr), H5Sclose, "a shape");
    hdf5::must(H5Sselect_hyperslab(space_, H5S_SELECT_SET, start, nullptr, size, nullptr), name_.c_str());
    hdf5::must(H5Dread(data_, type, memory, space_, H5P_DEFAULT, values.data()), name_.c_str());
    return values;
  }

 private:
  std::string name_;
  Handle data_, space_;
  std::size_t count_ = 0, width_ = 1;
};

GridHead read_head(hid_t root, std::uintmax_t file_bytes) {
  GridHead head;
  head.title = hdf5::get_text(root, "title");
  head.point_units = hdf5::get_text(Rows(root, "Points", file_bytes).id(), "units");
  const Handle group = open_group(root, "FieldData");
  for (const std::string& name : names_in(group)) {
    const Rows rows(group, name, file_bytes);
    if (rows.count() != 1) damaged("FieldData/" + name + " is not one number");
    const GridField field{name, hdf5::get_text(rows.id(), "units"),
                          rows.read<double>(H5T_NATIVE_DOUBLE, 0, 1).front()};
    if (name == "TimeValue")
      head.time = field.value, head.time_units = field.units;
    else
      head.fields.push_back(field);
  }
  return head;
}

// Pieces lie one after the other in each array.
class Pieces {
 public:
  Pieces(hid_t root, std::uintmax_t file_bytes)
      : points_(root, "Points", file_bytes),
        ids_(root, "Connectivity", file_bytes),
        cell_data_(open_group(root, "CellData")),
        names_(names_in(cell_data_)) {
    for (const std::string& name : names_) arrays_.emplace_back(cell_data_, name, file_bytes);
    const auto sizes = [&](const char* name) {
      const Rows rows(root, name, file_bytes);
      return rows.read<std::int64_t>(H5T_NATIVE_INT64, 0, rows.count());
    };
    points_of_ = sizes("NumberOfPoints"), cells_of_ = sizes("NumberOfCells"),
    ids_of_ = sizes("NumberOfConnectivityIds");
    if (points_of_.size() != cells_of_.size() || ids_of_.size() != cells_of_.size())
      damaged("its numbers of pieces differ");
  }

  std::vector<GridPiece> read() {
    std::vector<GridPiece> pieces;
    for (std::size_t k = 0; k < cells_of_.size(); ++k) pieces.push_back(next(k));
    return pieces;
  }

 private:
  GridPiece next(std::size_t k) {
    const auto sized = [](std::int64_t size) {
      if (size < 0) damaged("a piece has a size below 0");
      return static_cast<std::size_t>(size);
    };
    const std::size_t points = sized(points_of_[k]), cells = sized(cells_of_[k]), ids = sized(ids_of_[k]);
    GridPiece piece;
    piece.corners = ids == 6 * cells ? 6 : 3;
    if (ids != static_cast<std::size_t>(piece.corners) * cells)
      damaged("cells are no triangles and no prisms");
    piece.points = points_.read<double>(H5T_NATIVE_DOUBLE, point_, points);
    piece.connectivity = ids_.read<std::int32_t>(H5T_NATIVE_INT32, id_, ids);
    for (const std::int32_t point : piece.connectivity)
      if (point < 0 || static_cast<std::size_t>(point) >= points)
        damaged("a cell names a point that is not there");
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      const Rows& rows = arrays_[a];
      GridArray array{
          names_[a], hdf5::get_text(rows.id(), "units"), hdf5::get_text(rows.id(), "long_name"), {}};
      if (rows.whole_numbers())
        array.values = rows.read<std::int32_t>(H5T_NATIVE_INT32, cell_, cells);
      else
        array.values = rows.read<float>(H5T_NATIVE_FLOAT, cell_, cells);
      piece.cell_data.push_back(std::move(array));
    }
    point_ += points, cell_ += cells, id_ += ids;
    return piece;
  }

  Rows points_, ids_;
  Handle cell_data_;
  std::vector<std::string> names_;
  std::vector<Rows> arrays_;
  std::vector<std::int64_t> points_of_, cells_of_, ids_of_;
  std::size_t point_ = 0, cell_ = 0, id_ = 0;  // rows that have been read
};

GridFile read_open(const std::string& path) {
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, hdf5::file_access()), H5Fclose,
                    "it is no HDF5 file, or truncated");
  if (H5Lexists(file, "VTKHDF", H5P_DEFAULT) <= 0) throw std::runtime_error("an HDF5 file without VTKHDF");
  const Handle root = open_group(file, "VTKHDF");
  if (const std::string type = hdf5::get_text(root, "Type"); type != "UnstructuredGrid")
    throw std::runtime_error("a VTKHDF file with " + type);
  const std::uintmax_t bytes = fs::file_size(path);
  return {path, read_head(root, bytes), Pieces(root, bytes).read()};
}

}  // namespace

double GridFile::field(const std::string& name) const {
  const auto found = std::ranges::find(head.fields, name, &GridField::name);
  if (found == head.fields.end())
    throw FileError(path, "", "a number FieldData/" + name, "none", "run the program again");
  return found->value;
}

template <class T>
const std::vector<T>& GridFile::values(const GridPiece& piece, const std::string& name) const {
  const auto found = std::ranges::find(piece.cell_data, name, &GridArray::name);
  const auto* values = found == piece.cell_data.end() ? nullptr : std::get_if<std::vector<T>>(&found->values);
  if (values == nullptr)
    throw FileError(path, "", "an array CellData/" + name, "none of its type", "run the program again");
  return *values;
}
template const std::vector<float>& GridFile::values(const GridPiece&, const std::string&) const;
template const std::vector<std::int32_t>& GridFile::values(const GridPiece&, const std::string&) const;

GridFile read_vtkhdf(const std::string& path) {
  if (!fs::exists(path)) throw FileError(path, "", "a snapshot", "no such file", "check the path");
  const hdf5::Silence silence;
  try {
    return read_open(path);
  } catch (const std::exception& error) {
    throw FileError(path, "", "a snapshot (VTKHDF)", error.what(), "run the program again");
  }
}

void add_to_series(const std::string& list, const std::string& file, double time) {
  json files = json::array();
  if (fs::exists(list)) {
    const std::vector<char> bytes = read_bytes(list);
    const json old = empi::json_text::try_parse({bytes.data(), bytes.size()});
    // One that somebody has damaged is begun anew: ParaView could not read it either.
    if (old.is_object())
      for (const json& entry : old.value("files", json::array()))
        if (entry.is_object() && entry.value("time", time) < time) files.push_back(entry);
  }
  files.push_back({{"name", file}, {"time", time}});
  write_text(list, empi::json_text::text({{"file-series-version", "1.0"}, {"files", files}}, 2) + "\n");
}

}  // namespace io
