// SPDX-License-Identifier: Apache-2.0
// Files of VTKHDF, version 1.0, with an unstructured grid: what ParaView 5.10 and later open
// (docs.vtk.org, "VTKHDF File Format"). Any reader of HDF5 shows them:
//
//   /VTKHDF                        attributes: Type, Version, title
//     /Points                      x, y, z; attribute units
//     /Connectivity /Offsets /Types    of cells, by the points of their own piece
//     /CellData/NAME               attributes: units, long_name
//     /FieldData/TimeValue, NAME   one number each; attribute units
//     /NumberOfPoints /NumberOfCells /NumberOfConnectivityIds    of each piece
//
// Here: what such a file holds, and reading it. vtkhdf_layout.hpp and vtkhdf_writer.hpp write it.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace io {

/// One number per cell.
struct GridArray {
  std::string name, units, meaning;  ///< units as UDUNITS spells them, "1" for none
  std::variant<std::vector<float>, std::vector<std::int32_t>> values;

  bool operator==(const GridArray&) const = default;
};

/// The cells of one rank: all triangles, or all prisms over triangles.
struct GridPiece {
  std::vector<double> points;              ///< x, y, z of each point: degrees as floats are metres off
  std::vector<std::int32_t> connectivity;  ///< `corners` points a cell, counted within the piece
  int corners = 3;                         ///< 6: prisms, the three points of one end, then of the other
  std::vector<GridArray> cell_data;        ///< each with as many values as cells

  std::size_t cells() const { return connectivity.size() / static_cast<std::size_t>(corners); }
  std::size_t point_count() const { return points.size() / 3; }
  bool operator==(const GridPiece&) const = default;
};

/// A number that is of the whole grid.
struct GridField {
  std::string name, units;
  double value = 0;

  bool operator==(const GridField&) const = default;
};

struct GridHead {
  double time = 0;                ///< in time_units
  std::string time_units, title;  ///< title: of the run
  std::string point_units;        ///< of x, y and z
  std::vector<GridField> fields;  ///< beside the time

  bool operator==(const GridHead&) const = default;
};

struct GridFile {
  std::string path;
  GridHead head;
  std::vector<GridPiece> pieces;  ///< in the order of the ranks; those without cells are left out

  /// A number of head.fields, and the values of a piece's array of T, by name. Throw FileError, with the
  /// path, when there is none.
  double field(const std::string& name) const;
  template <class T>
  const std::vector<T>& values(const GridPiece& piece, const std::string& name) const;
};

/// A file that write_vtkhdf() wrote. Throws FileError with file and reason, also for a damaged one.
GridFile read_vtkhdf(const std::string& path);

/// Adds `file` to the list that ParaView opens as a series in time (a .series file, JSON). What the list has
/// of this time and later is dropped: a run that goes on from a checkpoint tells it again. Names are relative
/// to the list's folder; `time` as in the file. Throws FileError.
void add_to_series(const std::string& list, const std::string& file, double time);

}  // namespace io
