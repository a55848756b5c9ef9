// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/app/snapshot.hpp"

#include <cstring>

#include "apps/io/collective_try.hpp"
#include "apps/io/file_error.hpp"
#include "apps/mesh/mpi_check.hpp"

namespace spe10 {
namespace {

struct Header {
  char magic[8] = {'E', 'M', 'P', 'I', 'S', 'P', 'E', '1'};
  double days = 0;
  std::int64_t columns = 0;
  std::int32_t ranks = 0, nz = 0;
  float top = 0, dz = 0;
};

// What every rank has, one after the other on rank 0.
template <class T>
std::vector<T> gather(MPI_Comm world, const std::vector<T>& mine) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  const int count = static_cast<int>(mine.size());
  std::vector<int> counts(static_cast<std::size_t>(rank == 0 ? ranks : 0)), starts(counts.size());
  elastic::check_mpi(MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, world), "counting columns");
  int all = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) starts[r] = all, all += counts[r];
  std::vector<T> result(static_cast<std::size_t>(all));
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(sizeof(T), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  const int code =
      MPI_Gatherv(mine.data(), count, type, result.data(), counts.data(), starts.data(), type, 0, world);
  MPI_Type_free(&type);
  elastic::check_mpi(code, "gathering a snapshot");
  return result;
}

}  // namespace

void write_snapshot(MPI_Comm world, Simulator& sim, const std::string& path) {
  Header header;
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &header.ranks);
  const Columns& c = sim.columns();
  std::vector<SnapshotColumn> columns(c.own());
  std::vector<float> s, p, k;
  mesh::LeafWalk walk(c.mesh.domain());
  for (std::size_t i = 0; i < c.own(); ++i) {
    const mesh::Leaf leaf = c.mesh.leaves()[i];
    const mesh::Triangle t = walk.triangle(leaf);
    const mesh::Point corners[] = {t.a, t.b, t.c};
    for (int v = 0; v < 3; ++v) {
      columns[i].x[v] = static_cast<float>(corners[v].x * c.frame.unit_x);
      columns[i].y[v] = static_cast<float>(corners[v].y * c.frame.unit_y);
    }
    columns[i].owner = rank, columns[i].level = leaf.level();
    for (std::size_t z = 0; z < c.nz(); ++z) {
      s.push_back(static_cast<float>(c.s[c.at(i, z)]));
      p.push_back(static_cast<float>(c.p[c.at(i, z)]));
      k.push_back(c.rock[c.at(i, z)].kxx);
    }
  }
  const auto all = gather(world, columns);
  const auto all_s = gather(world, s), all_p = gather(world, p), all_k = gather(world, k);
  header.days = sim.clock().days, header.nz = c.frame.nz;
  header.top = static_cast<float>(c.frame.top), header.dz = static_cast<float>(c.frame.dz);
  header.columns = static_cast<std::int64_t>(all.size());
  io::on_first_rank(world, [&] {
    std::vector<char> bytes(sizeof header + all.size() * sizeof all[0] + 3 * all_s.size() * sizeof(float));
    char* to = bytes.data();
    const auto put = [&to](const void* from, std::size_t size) {
      if (size > 0) std::memcpy(to, from, size);
      to += size;
    };
    put(&header, sizeof header), put(all.data(), all.size() * sizeof all[0]);
    for (const auto* values : {&all_s, &all_p, &all_k}) put(values->data(), values->size() * sizeof(float));
    io::write_bytes(path, bytes.data(), bytes.size());
  });
}

Snapshot read_snapshot(const std::string& path) {
  const auto bytes = io::read_bytes(path);
  Header header;
  const Header expected;
  if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  if (bytes.size() < sizeof header || std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0 ||
      header.columns < 0 || header.nz < 1)
    throw io::FileError::at_byte(path, 0, "a snapshot of this version of empi-spe10", "something else",
                                 "run it again");
  const auto columns = static_cast<std::size_t>(header.columns),
             prisms = columns * static_cast<std::size_t>(header.nz);
  const std::size_t wanted = sizeof header + columns * sizeof(SnapshotColumn) + 3 * prisms * sizeof(float);
  if (bytes.size() != wanted)
    throw io::FileError::at_byte(path, std::min(bytes.size(), wanted), std::to_string(wanted) + " bytes",
                                 std::to_string(bytes.size()), "run it again");
  Snapshot result{header.days, header.ranks, header.nz,
                  header.top,  header.dz,    std::vector<SnapshotColumn>(columns),
                  {},          {},           {}};
  const char* from = bytes.data() + sizeof header;
  const auto take = [&from](void* to, std::size_t size) {
    if (size > 0) std::memcpy(to, from, size);
    from += size;
  };
  take(result.columns.data(), columns * sizeof(SnapshotColumn));
  for (auto* values : {&result.s, &result.p, &result.k}) {
    values->resize(prisms);
    take(values->data(), prisms * sizeof(float));
  }
  return result;
}

}  // namespace spe10
