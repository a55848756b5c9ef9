// SPDX-License-Identifier: Apache-2.0
// Row-block arrays: `rows` x `columns` values, rows contiguous by rank; columns = 1 for a vector.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <elastic_mpi/sequence.hpp>
#include <span>
#include <vector>

namespace elastic {

/// A rank's rows [first, first + count).
struct RowRange {
  std::int64_t first;
  std::int64_t count;
};

/// The rows of `rank` when `rows` rows are shared equally by `ranks` ranks; the same split move_block makes
/// with equal capacities. Requires rows >= 0, 0 <= rank < ranks. Local.
RowRange equal_rows(std::int64_t rows, int ranks, int rank);

/// Moves a row-block array to new owners. mine: this rank's rows x columns values, row after row; columns > 0
/// and the same everywhere. row_weight: load of each of my rows, or empty = equal. capacity: as in
/// move_sequence. Collective on comm. Returns this rank's new rows. Throws Error as move_sequence does.
template <class T>
  requires std::is_trivially_copyable_v<T>
std::vector<T> move_block(MPI_Comm comm, std::span<const T> mine, std::int64_t columns, double capacity,
                          std::span<const double> row_weight = {}) {
  const auto width = static_cast<std::size_t>(columns);
  const auto rows = columns > 0 ? static_cast<std::int64_t>(mine.size() / width) : 0;
  const bool whole = columns > 0 && mine.size() % width == 0;
  // A rank with a broken row still takes part, so that every rank sees the error: its row size is unlike any.
  const SequencePlan plan(comm, rows, whole ? width * sizeof(T) : SequencePlan::bad_size, row_weight,
                          capacity);
  return plan.move(comm, mine, width);
}

}  // namespace elastic
