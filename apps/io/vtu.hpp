// SPDX-License-Identifier: Apache-2.0
// Meshes for ParaView: the pieces of ranks (.vtu), the file that names them (.pvtu), and the series of a run
// over time (.pvd).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace io {

/// One value per cell: 64-bit or 32-bit floating point, or 32-bit integers (level, owner).
struct CellArray {
  std::string name;
  std::variant<std::span<const double>, std::span<const float>, std::span<const std::int32_t>> values;
};

/// Triangles, or prisms over triangles, of one rank. Points may be shared between cells or given per cell.
struct TriangleMesh {
  std::span<const double> points;           ///< x, y, z of each point (lon, lat, 0)
  std::span<const std::int64_t> triangles;  ///< `corners` point indices per cell, counter-clockwise
  std::vector<CellArray> cell_data;         ///< each with as many values as cells
  int corners = 3;                          ///< 6: prisms, the three points of one end, then of the other
};

/// ParaView's unstructured grid, arrays appended raw (little endian). A mesh without triangles is valid.
/// Serial: every rank writes its own piece. Throws FileError, or std::invalid_argument when sizes disagree.
void write_vtu(const std::string& path, const TriangleMesh& mesh);

enum class ArrayType { Float64, Float32, Int32 };

/// The file that names the pieces, written by one rank. `pieces` are relative to the .pvtu file's folder;
/// `arrays` are the names and types of the pieces' cell data, in their order.
void write_pvtu(const std::string& path, std::span<const std::string> pieces,
                std::span<const std::pair<std::string, ArrayType>> arrays);

/// The time series that ParaView opens: written anew with every added file, so that it can be watched.
class PvdSeries {
 public:
  explicit PvdSeries(std::string path) : path_(std::move(path)) {}
  /// `file` (.vtu or .pvtu) is relative to the .pvd file's folder; `time` in seconds. Throws FileError.
  void add(double time, const std::string& file);

 private:
  std::string path_;
  std::vector<std::pair<double, std::string>> entries_;
};

}  // namespace io
