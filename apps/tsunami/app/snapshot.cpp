// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/app/snapshot.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "apps/io/collective_try.hpp"
#include "apps/mesh/mpi_check.hpp"

namespace tsunami {
namespace {

struct Header {
  char magic[8] = {'E', 'M', 'P', 'I', 'S', 'W', 'E', '1'};
  double time = 0;
  std::int64_t cells = 0;
  std::int32_t ranks = 0, cell_bytes = sizeof(SnapshotCell);
};

std::vector<SnapshotCell> own_cells(const swe::Solver& solver, int rank) {
  std::vector<SnapshotCell> cells(solver.cells());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const mesh::Triangle t = solver.mesh().triangle(i);
    const swe::Cell state = solver.cell(i);
    SnapshotCell& cell = cells[i];
    const mesh::Point corners[] = {t.a, t.b, t.c};
    for (int k = 0; k < 3; ++k) {
      cell.lon[k] = static_cast<float>(solver.metric().x(corners[k].x));
      cell.lat[k] = static_cast<float>(solver.metric().y(corners[k].y));
    }
    cell.eta = static_cast<float>(state.eta);
    cell.hu = static_cast<float>(state.hu);
    cell.hv = static_cast<float>(state.hv);
    cell.b = static_cast<float>(state.b);
    cell.owner = rank;
    cell.level = solver.mesh().leaves()[i].level();
  }
  return cells;
}

}  // namespace

void write_snapshot(MPI_Comm world, const swe::Solver& solver, const std::string& path) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  const std::vector<SnapshotCell> mine = own_cells(solver, rank);
  const int count = static_cast<int>(mine.size());
  std::vector<int> counts(static_cast<std::size_t>(rank == 0 ? ranks : 0)), starts(counts.size());
  elastic::check_mpi(MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, world), "counting cells");
  int total = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    starts[r] = total;
    total += counts[r];
  }
  std::vector<SnapshotCell> all(static_cast<std::size_t>(total));
  MPI_Datatype cell = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(sizeof(SnapshotCell), MPI_BYTE, &cell);
  MPI_Type_commit(&cell);
  const int result =
      MPI_Gatherv(mine.data(), count, cell, all.data(), counts.data(), starts.data(), cell, 0, world);
  MPI_Type_free(&cell);
  elastic::check_mpi(result, "gathering a snapshot");

  io::on_first_rank(world, [&] {
    Header header;
    header.time = solver.time();
    header.cells = total;
    header.ranks = ranks;
    std::vector<char> bytes(sizeof header + all.size() * sizeof all[0]);
    std::memcpy(bytes.data(), &header, sizeof header);
    if (!all.empty()) std::memcpy(bytes.data() + sizeof header, all.data(), all.size() * sizeof all[0]);
    io::write_bytes(path, bytes.data(), bytes.size());
  });
}

Snapshot read_snapshot(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Header header, expected;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) ||
      std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0 ||
      header.cell_bytes != expected.cell_bytes || header.cells < 0)
    throw std::runtime_error(path + ": not a snapshot of this version of empi-tsunami");
  const auto bytes = std::filesystem::file_size(path) - sizeof header;
  if (bytes != static_cast<std::uintmax_t>(header.cells) * sizeof(SnapshotCell))
    throw std::runtime_error(path + ": truncated: " + std::to_string(header.cells) + " cells announced");
  Snapshot snapshot{header.time, header.ranks,
                    std::vector<SnapshotCell>(static_cast<std::size_t>(header.cells))};
  file.read(reinterpret_cast<char*>(snapshot.cells.data()), static_cast<std::streamsize>(bytes));
  if (!file) throw std::runtime_error(path + ": cannot be read to its end");
  return snapshot;
}

}  // namespace tsunami
