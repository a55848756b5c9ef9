// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/app/snapshot.hpp"

#include <elastic_mpi/comm.hpp>

#include "apps/io/collective_try.hpp"
#include "apps/io/vtkhdf_writer.hpp"
#include "apps/mesh/corners.hpp"

namespace tsunami {
namespace {

template <class Stored>
io::GridPiece own_cells(const swe::BasicSolver<Stored>& solver, int rank) {
  io::GridPiece piece;
  mesh::Corners corners = mesh::corners(solver.mesh().domain(), solver.mesh().leaves());
  for (const mesh::Point p : corners.points)
    piece.points.insert(piece.points.end(), {solver.metric().x(p.x), solver.metric().y(p.y), 0});
  piece.connectivity = std::move(corners.triangles);

  const std::size_t count = solver.cells();
  const auto values = [&](auto value) {
    std::vector<float> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<float>(value(solver.cell(i)));
    return all;
  };
  std::vector<std::int32_t> level(count);
  for (std::size_t i = 0; i < count; ++i) level[i] = solver.mesh().leaves()[i].level();
  piece.cell_data = {
      {"eta", "m", "height of the water surface", values([](const swe::Cell& c) { return c.eta; })},
      {"h", "m", "depth of the water", values([](const swe::Cell& c) { return c.eta - c.b; })},
      {"hu", "m2 s-1", "depth times velocity to the east", values([](const swe::Cell& c) { return c.hu; })},
      {"hv", "m2 s-1", "depth times velocity to the north", values([](const swe::Cell& c) { return c.hv; })},
      {"b", "m", "height of the ground", values([](const swe::Cell& c) { return c.b; })},
      {"level", "1", "bisections of the mesh", std::move(level)},
      {"owner", "1", "rank that has the cell", std::vector<std::int32_t>(count, rank)}};
  return piece;
}

}  // namespace

template <class Stored>
void write_snapshot(MPI_Comm world, const swe::BasicSolver<Stored>& solver, const std::string& title,
                    const std::string& folder, const std::string& name) {
  io::GridHead head{solver.time(), "s", title, "degree", {}};
  head.fields.push_back({"ranks", "1", static_cast<double>(elastic::size_of(world))});
  io::write_vtkhdf(world, head, own_cells(solver, elastic::rank_of(world)), folder + "/" + name);
  io::on_first_rank(world, [&] { io::add_to_series(folder + "/" + kSeriesFile, name, head.time); });
}
template void write_snapshot(MPI_Comm, const swe::Solver&, const std::string&, const std::string&,
                             const std::string&);
template void write_snapshot(MPI_Comm, const swe::SingleSolver&, const std::string&, const std::string&,
                             const std::string&);

Snapshot read_snapshot(const std::string& path) {
  const io::GridFile file = io::read_vtkhdf(path);
  Snapshot snapshot{file.head.time, static_cast<std::int32_t>(file.field("ranks")), {}};
  for (const io::GridPiece& piece : file.pieces) {
    if (piece.corners != 3)
      throw io::FileError(path, "", "triangles", "prisms", "is it a snapshot of empi-tsunami?");
    const auto real = [&](const char* name) { return file.values<float>(piece, name).data(); };
    const auto whole = [&](const char* name) { return file.values<std::int32_t>(piece, name).data(); };
    const float *eta = real("eta"), *hu = real("hu"), *hv = real("hv"), *b = real("b");
    const std::int32_t *owner = whole("owner"), *level = whole("level");
    for (std::size_t i = 0; i < piece.cells(); ++i) {
      SnapshotCell cell{{}, {}, eta[i], hu[i], hv[i], b[i], owner[i], level[i]};
      for (std::size_t k = 0; k < 3; ++k) {
        const double* point = &piece.points[3 * static_cast<std::size_t>(piece.connectivity[3 * i + k])];
        cell.lon[k] = point[0], cell.lat[k] = point[1];
      }
      snapshot.cells.push_back(cell);
    }
  }
  return snapshot;
}

}  // namespace tsunami
