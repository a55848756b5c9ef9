// SPDX-License-Identifier: Apache-2.0
#include "elastic_mpi/blocks.hpp"

#include <vector>

#include "elastic_mpi/cuts.hpp"

namespace elastic {

RowRange equal_rows(std::int64_t rows, int ranks, int rank) {
  const std::vector<double> capacity(static_cast<std::size_t>(ranks), 1.0);
  const auto offsets = cuts(rows, {}, capacity);
  const auto r = static_cast<std::size_t>(rank);
  return {offsets[r], offsets[r + 1] - offsets[r]};
}

}  // namespace elastic
