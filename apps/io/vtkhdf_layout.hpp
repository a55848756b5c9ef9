// SPDX-License-Identifier: Apache-2.0
// Laying out a file of VTKHDF before its pieces are there: one process has serial HDF5 make all the rest, in
// memory, and says where in the file each array begins; the pieces' bytes are then written in place by
// whoever has them, by pwrite (decision R21: no MPI-IO). Knows no MPI.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/io/vtkhdf.hpp"
#include "runtime/base/laid_out.hpp"

namespace io {

/// What is counted along the first dimension of an array.
enum class GridRow { Point, Connectivity, Offset, Cell };

/// One array of the file, as one piece has it.
struct GridColumn {
  std::string name;  ///< within /VTKHDF
  GridRow row;
  std::size_t row_bytes;
  std::span<const std::byte> bytes;
};

inline constexpr std::size_t kFixedColumns = 4;  ///< points and cells; those of GridPiece::cell_data follow

/// The arrays of a piece in the order of the file. They lie in the piece and here: keep both.
class GridColumns {
 public:
  /// Throws std::invalid_argument when the piece's sizes disagree, or a cell names a point that is not there.
  explicit GridColumns(const GridPiece& piece);
  GridColumns(const GridColumns&) = delete;
  GridColumns& operator=(const GridColumns&) = delete;

  const std::vector<GridColumn>& all() const { return columns_; }

 private:
  std::vector<std::int32_t> offsets_;
  std::vector<unsigned char> types_;
  std::vector<GridColumn> columns_;
};

struct GridSize {
  std::int64_t points = 0, cells = 0;
};

/// Rows that the first `pieces` of `sizes` have of such an array; all: of the file.
std::uint64_t rows_before(GridRow row, int corners, std::span<const GridSize> sizes, std::size_t pieces);

/// A file without its pieces.
struct GridLayout {
  std::vector<std::uint64_t>
      columns;         ///< where each of GridColumns::all() begins, in bytes from the file's first
  empi::LaidOut rest;  ///< all other bytes
};

/// `like`: a piece, for its kind of cells and its arrays' names; all pieces have the same. Throws
/// std::runtime_error with HDF5's reason.
GridLayout lay_out(const GridHead& head, const GridPiece& like, std::span<const GridSize> sizes);

}  // namespace io
