// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/app/snapshot.hpp"

#include <algorithm>
#include <elastic_mpi/comm.hpp>

#include "apps/io/collective_try.hpp"
#include "apps/io/file_error.hpp"
#include "apps/io/vtkhdf_writer.hpp"
#include "apps/mesh/corners.hpp"

namespace spe10 {
namespace {

// The corners of the columns, once on each boundary of layers, top first; z is up.
void put_prisms(const Columns& columns, io::GridPiece& piece) {
  const Frame& frame = columns.frame;
  const mesh::Corners corners =
      mesh::corners(columns.mesh.domain(), columns.mesh.leaves().first(columns.own()));
  const auto boundaries = static_cast<std::int32_t>(columns.nz()) + 1;
  for (const mesh::Point p : corners.points)
    for (std::int32_t z = 0; z < boundaries; ++z)
      piece.points.insert(piece.points.end(),
                          {p.x * frame.unit_x, p.y * frame.unit_y, -(frame.top + z * frame.dz)});
  piece.corners = 6;
  for (std::size_t i = 0; i < columns.own(); ++i)
    for (std::int32_t z = 0; z + 1 < boundaries; ++z)
      for (const std::int32_t below : {0, 1})
        for (std::size_t v = 0; v < 3; ++v)
          piece.connectivity.push_back(corners.triangles[3 * i + v] * boundaries + z + below);
}

io::GridPiece own_columns(const Columns& c, int rank) {
  io::GridPiece piece;
  put_prisms(c, piece);
  std::vector<float> s, p, k;
  std::vector<std::int32_t> level;
  for (std::size_t i = 0; i < c.own(); ++i)
    for (std::size_t z = 0; z < c.nz(); ++z) {
      s.push_back(static_cast<float>(c.s[c.at(i, z)]));
      p.push_back(static_cast<float>(c.p[c.at(i, z)]));
      k.push_back(c.rock[c.at(i, z)].kxx);
      level.push_back(c.mesh.leaves()[i].level());
    }
  std::vector<std::int32_t> owner(level.size(), rank);
  piece.cell_data = {{"saturation", "1", "saturation of water", std::move(s)},
                     {"pressure", "psi", "pressure", std::move(p)},
                     {"permeability", "mD", "horizontal permeability", std::move(k)},
                     {"level", "1", "bisections of the mesh", std::move(level)},
                     {"owner", "1", "rank that has the column", std::move(owner)}};
  return piece;
}

}  // namespace

void write_snapshot(MPI_Comm world, Simulator& sim, const std::string& title, const std::string& folder,
                    const std::string& name) {
  const Columns& c = sim.columns();
  io::GridHead head{sim.clock().days, "day", title, "ft", {}};
  head.fields = {{"ranks", "1", static_cast<double>(elastic::size_of(world))},
                 {"layers", "1", static_cast<double>(c.nz())},
                 {"depth_of_top", "ft", c.frame.top},
                 {"layer_thickness", "ft", c.frame.dz}};
  io::write_vtkhdf(world, head, own_columns(c, elastic::rank_of(world)), folder + "/" + name);
  io::on_first_rank(world, [&] { io::add_to_series(folder + "/" + kSeriesFile, name, head.time); });
}

Snapshot read_snapshot(const std::string& path) {
  const io::GridFile file = io::read_vtkhdf(path);
  Snapshot result;
  result.days = file.head.time;
  result.ranks = static_cast<std::int32_t>(file.field("ranks"));
  result.nz = static_cast<std::int32_t>(file.field("layers"));
  result.top = static_cast<float>(file.field("depth_of_top"));
  result.dz = static_cast<float>(file.field("layer_thickness"));
  const auto nz = static_cast<std::size_t>(std::max(result.nz, 1));
  for (const io::GridPiece& piece : file.pieces) {
    if (piece.corners != 6 || result.nz < 1 || piece.cells() % nz != 0)
      throw io::FileError(path, "", "columns of prisms", "other cells", "is it a snapshot of empi-spe10?");
    const auto &owner = file.values<std::int32_t>(piece, "owner"),
               &level = file.values<std::int32_t>(piece, "level");
    for (std::size_t i = 0; i < piece.cells(); i += nz) {  // the uppermost prism of each column
      SnapshotColumn column{{}, {}, owner[i], level[i]};
      for (std::size_t v = 0; v < 3; ++v) {
        const double* point = &piece.points[3 * static_cast<std::size_t>(piece.connectivity[6 * i + v])];
        column.x[v] = static_cast<float>(point[0]), column.y[v] = static_cast<float>(point[1]);
      }
      result.columns.push_back(column);
    }
    const auto append = [&](std::vector<float>& to, const char* name) {
      const std::vector<float>& values = file.values<float>(piece, name);
      to.insert(to.end(), values.begin(), values.end());
    };
    append(result.s, "saturation"), append(result.p, "pressure"), append(result.k, "permeability");
  }
  return result;
}

}  // namespace spe10
