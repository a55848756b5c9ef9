// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/solver/unknowns.hpp"

#include <algorithm>
#include <elastic_mpi/comm.hpp>
#include <limits>
#include <stdexcept>
#include <string>

#include "apps/mesh/mpi_check.hpp"

namespace spe10 {

Unknowns::Unknowns(const Columns& columns, const Borders& borders, int wells) {
  mark_edges(columns, borders);
  number(columns, wells);
  learn_of_others(columns);
}

std::int32_t Unknowns::beyond(const Columns& columns, std::size_t column, int k) const {
  const std::int32_t slot = columns.slot(column, k);
  const auto edge = static_cast<std::size_t>(slot / 2);
  if (edge_row[edge] != joined) return edge_row[edge];
  const mesh::Edges& edges = columns.mesh.edges();
  return block_row[static_cast<std::size_t>(slot % 2 == 0 ? edges.right[edge] : edges.left[edge])];
}

// All edges but those with a row, which are closed until they have one.
void Unknowns::mark_edges(const Columns& columns, const Borders& borders) {
  const mesh::Mesh& mesh = columns.mesh;
  const mesh::Edges& edges = mesh.edges();
  edge_row.assign(edges.size(), closed);
  for (const auto& b : mesh.boundary())
    if (borders[static_cast<std::size_t>(b.border)].open())
      edge_row[static_cast<std::size_t>(b.edge)] = known;
  std::vector<std::uint8_t> in_block(columns.own() + mesh.halo_cells());
  std::ranges::copy(columns.in_block, in_block.begin());
  std::vector<std::uint8_t> send;
  for (const std::int32_t cell : mesh.halo().cells())
    send.push_back(in_block[static_cast<std::size_t>(cell)]);
  std::ranges::copy(mesh.halo().exchange(send),
                    in_block.begin() + static_cast<std::ptrdiff_t>(columns.own()));
  const auto first_border = edges.size() - mesh.boundary().size();
  for (std::size_t i = 0; i < columns.own(); ++i)
    for (int k = 0; k < kHypotenuse; ++k) {
      const auto edge = static_cast<std::size_t>(columns.slot(i, k) / 2);
      if (edge < first_border && in_block[static_cast<std::size_t>(edges.left[edge])] != 0 &&
          in_block[static_cast<std::size_t>(edges.right[edge])] != 0)
        edge_row[edge] = joined;
    }
}

// For each column the edges it is the left cell of, then its inner horizontal faces.
void Unknowns::number(const Columns& columns, int wells) {
  const mesh::Mesh& mesh = columns.mesh;
  const std::int64_t nz = columns.frame.nz;
  const auto first_border = mesh.edges().size() - mesh.boundary().size();
  std::int64_t count = 0;
  std::vector<std::int64_t> edge_at(edge_row.size(), -1), vertical_at(columns.own(), -1);
  for (std::size_t i = 0; i < columns.own(); ++i) {
    for (int k = 0; k < 3; ++k) {
      const std::int32_t slot = columns.slot(i, k);
      const auto edge = static_cast<std::size_t>(slot / 2);
      if (slot % 2 != 0 || edge >= first_border || edge_row[edge] == joined) continue;
      edge_at[edge] = count;
      count += nz;
    }
    if (columns.in_block[i] != 0) continue;
    vertical_at[i] = count;
    count += nz - 1;
  }
  const int rank = elastic::rank_of(mesh.comm());
  const std::int64_t mine = count + (rank == 0 ? wells : 0);
  std::int64_t end = 0;
  elastic::check_mpi(MPI_Scan(&mine, &end, 1, MPI_INT64_T, MPI_SUM, mesh.comm()), "numbering the faces");
  elastic::check_mpi(MPI_Allreduce(&mine, &total, 1, MPI_INT64_T, MPI_SUM, mesh.comm()),
                     "numbering the faces");
  if (total > std::numeric_limits<std::int32_t>::max())
    throw std::runtime_error("pressure: " + std::to_string(total) +
                             " faces are more than hypre's 32-bit numbers can count: use a coarser mesh");
  first = static_cast<std::int32_t>(end - mine);
  own = static_cast<std::int32_t>(mine);
  first_well = static_cast<std::int32_t>(count);
  elastic::check_mpi(MPI_Bcast(&first_well, 1, MPI_INT32_T, 0, mesh.comm()), "numbering the wells");
  for (std::size_t e = 0; e < edge_row.size(); ++e)
    if (edge_at[e] >= 0) edge_row[e] = first + static_cast<std::int32_t>(edge_at[e]);
  for (const std::int64_t at : vertical_at)
    vertical_row.push_back(at < 0 ? closed : first + static_cast<std::int32_t>(at));
}

// Halo edges whose left cell is another rank's have their rows there; with these known, so are the blocks'.
void Unknowns::learn_of_others(const Columns& columns) {
  const mesh::Mesh& mesh = columns.mesh;
  const mesh::Edges& edges = mesh.edges();
  const std::size_t halo = mesh.halo_cells(), own_columns = columns.own();
  std::vector<std::uint64_t> send(halo);
  for (std::size_t slot = 0; slot < halo; ++slot)
    send[slot] = static_cast<std::uint64_t>(std::max(0, edge_row[edges.interior + slot]));
  auto received = mesh.halo().exchange(send);
  for (std::size_t slot = 0; slot < halo; ++slot) {
    std::int32_t& row = edge_row[edges.interior + slot];
    if (row != joined && static_cast<std::size_t>(edges.left[edges.interior + slot]) >= own_columns)
      row = static_cast<std::int32_t>(received[slot]);
  }
  block_row.assign(own_columns + halo, closed);
  for (std::size_t i = 0; i < own_columns; ++i)
    if (columns.in_block[i] != 0)
      block_row[i] = edge_row[static_cast<std::size_t>(columns.slot(i, kHypotenuse) / 2)];
  for (std::size_t slot = 0; slot < halo; ++slot)
    send[slot] = static_cast<std::uint64_t>(block_row[static_cast<std::size_t>(mesh.halo().cells()[slot])]);
  received = mesh.halo().exchange(send);
  for (std::size_t slot = 0; slot < halo; ++slot)
    block_row[own_columns + slot] = static_cast<std::int32_t>(received[slot]);
}

}  // namespace spe10
