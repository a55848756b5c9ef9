#include <algorithm>

#include "apps/mesh/mesh.hpp"
#include "apps/mesh/mpi_check.hpp"

namespace mesh {
namespace {

bool any_rank(bool mine, MPI_Comm comm) {
  int value = mine ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_LOR, comm),
            "asking whether any mark changed");
  return value != 0;
}

constexpr int hypotenuse = 2;

}  // namespace

// Marks edges until every cell with a marked edge has its hypotenuse marked; one byte per edge.
std::vector<std::uint8_t> Mesh::close_marks(std::span<const std::int8_t> marks) const {
  const Edges& e = topology_.edges;
  const auto& slots = topology_.cell_slots;
  std::vector<std::uint8_t> bisect(e.size(), 0);
  std::vector<std::int32_t> fresh;  // marked edges whose cells have not been looked at
  const auto mark = [&](std::int32_t edge) {
    if (!bisect[edge]) bisect[edge] = 1, fresh.push_back(edge);
  };
  const auto own = static_cast<std::int32_t>(leaves_.size());
  for (std::int32_t i = 0; i < own; ++i)
    if (marks[i] > 0 && leaves_[i].level() < max_level) mark(slots[3 * i + hypotenuse] / 2);

  const std::size_t first_halo_edge = e.interior, halo_edges = halo_.size();
  for (;;) {
    while (!fresh.empty()) {
      const std::int32_t edge = fresh.back();
      fresh.pop_back();
      for (const std::int32_t cell : {e.left[edge], e.right[edge]})
        if (cell < own) mark(slots[3 * cell + hypotenuse] / 2);
    }
    if (bounds_.size() == 2) return bisect;
    const std::span<const std::uint8_t> mine(bisect.data() + first_halo_edge, halo_edges);
    const auto theirs = halo_.exchange(mine);
    for (std::size_t slot = 0; slot < halo_edges; ++slot)
      if (theirs[slot]) mark(static_cast<std::int32_t>(first_halo_edge + slot));
    if (!any_rank(!fresh.empty(), comm_)) return bisect;
  }
}

// 1 for the first child of every pair that is joined. All cells around the newest vertex must agree: the
// pair, and the pair across the parents' common hypotenuse.
std::vector<std::uint8_t> Mesh::agree_to_coarsen(std::span<const std::int8_t> marks,
                                                 std::span<const std::uint8_t> bisect) const {
  const Edges& e = topology_.edges;
  const auto& slots = topology_.cell_slots;
  const std::size_t own = leaves_.size();
  std::vector<std::uint8_t> willing(own + halo_.size() + boundary_.size(), 0);
  for (std::size_t i = 0; i + 1 < own; ++i) {
    if (marks[i] >= 0 || marks[i + 1] >= 0 || !are_siblings(leaves_[i], leaves_[i + 1])) continue;
    if (bisect[slots[3 * i + hypotenuse] / 2] || bisect[slots[3 * (i + 1) + hypotenuse] / 2]) continue;
    willing[i] = willing[i + 1] = 1;
  }
  if (bounds_.size() > 2) {
    std::vector<std::uint8_t> send(halo_.size());
    for (std::size_t slot = 0; slot < send.size(); ++slot) send[slot] = willing[halo_.cells()[slot]];
    const auto received = halo_.exchange(std::span<const std::uint8_t>(send));
    std::copy(received.begin(), received.end(), willing.begin() + static_cast<std::ptrdiff_t>(own));
  }
  std::fill(willing.begin() + static_cast<std::ptrdiff_t>(own + halo_.size()), willing.end(), 1);

  // The cell across half of the parent's hypotenuse, if it has the same level, belongs to the pair of the
  // parent's neighbour: only that pair has the newest vertex too.
  const auto across_agrees = [&](std::size_t cell, int local, int level) {
    const std::int32_t slot = slots[3 * cell + static_cast<std::size_t>(local)];
    const auto other = static_cast<std::size_t>(slot % 2 == 0 ? e.right[slot / 2] : e.left[slot / 2]);
    if (!willing[other]) return false;
    if (other >= own + halo_.size()) return true;
    return (other < own ? leaves_[other] : halo_leaves_[other - own]).level() == level;
  };
  std::vector<std::uint8_t> join(own, 0);
  for (std::size_t i = 0; i + 1 < own; ++i) {
    if (!willing[i] || leaves_[i].is_second()) continue;
    const int level = leaves_[i].level();
    join[i] = across_agrees(i, 0, level) && across_agrees(i + 1, 1, level);
  }
  return join;
}

Transfer Mesh::adapt(std::span<const std::int8_t> marks) {
  const auto bisect = close_marks(marks);
  const auto join = agree_to_coarsen(marks, bisect);
  const auto& slots = topology_.cell_slots;
  const auto bisected = [&](std::size_t i, int local) {
    return bisect[slots[3 * i + static_cast<std::size_t>(local)] / 2] != 0;
  };

  Transfer transfer;
  transfer.comm = comm_;
  std::vector<Leaf>& next = transfer.new_leaves;
  next.reserve(leaves_.size() + leaves_.size() / 8 + 16);
  bool changed = false;
  for (std::size_t i = 0; i < leaves_.size();) {
    const Leaf leaf = leaves_[i];
    const auto at = static_cast<std::int32_t>(i);
    if (bisected(i, hypotenuse)) {
      for (int which : {0, 1}) {  // a marked leg is the hypotenuse of a child
        const Leaf child = leaf.child(which);
        if (!bisected(i, which))
          next.push_back(child);
        else
          next.push_back(child.child(0)), next.push_back(child.child(1));
      }
      transfer.runs.push_back({at, 1, Transfer::Kind::refine});
      changed = true, ++i;
    } else if (join[i]) {
      next.push_back(leaf.parent());
      transfer.runs.push_back({at, 2, Transfer::Kind::coarsen});
      changed = true, i += 2;
    } else {
      std::size_t end = i + 1;
      while (end < leaves_.size() && !join[end] && !bisected(end, hypotenuse)) ++end;
      next.insert(next.end(), leaves_.begin() + at, leaves_.begin() + static_cast<std::ptrdiff_t>(end));
      transfer.runs.push_back({at, static_cast<std::int32_t>(end - i), Transfer::Kind::keep});
      i = end;
    }
  }
  transfer.changed = any_rank(changed, comm_);
  if (!transfer.changed) return transfer;

  // Joining pairs on both sides of a cut can leave siblings on two ranks; the second one goes to the first
  // one's.
  struct Ends {
    std::uint64_t count, first, last;
  };
  const int ranks = static_cast<int>(bounds_.size()) - 1;
  Ends mine{next.size(), next.empty() ? 0 : next.front().bits, next.empty() ? 0 : next.back().bits};
  std::vector<Ends> ends(static_cast<std::size_t>(ranks));
  check_mpi(MPI_Allgather(&mine, 3, MPI_UINT64_T, ends.data(), 3, MPI_UINT64_T, comm_),
            "sharing the new cuts");
  int my_rank = 0, before = -1;
  check_mpi(MPI_Comm_rank(comm_, &my_rank), "asking for the rank");
  transfer.old_leaves = std::move(leaves_);  // assign() below brings the new ones
  std::vector<Leaf> leaves = next;
  for (int r = 0; r < ranks; ++r) {
    if (ends[r].count == 0) continue;
    if (before >= 0 && are_siblings({ends[before].last}, {ends[r].first})) {
      if (my_rank == r) transfer.give_first_to = before, leaves.erase(leaves.begin());
      if (my_rank == before) transfer.take_last_from = r, leaves.push_back({ends[r].first});
    }
    before = r;
  }
  assign(std::move(leaves), comm_);
  return transfer;
}

void Mesh::dilate(std::vector<std::int8_t>& marks) {
  const Edges& e = topology_.edges;
  const std::size_t own = leaves_.size();
  marks.resize(own);
  std::vector<std::uint8_t> send(halo_.size());
  for (std::size_t slot = 0; slot < send.size(); ++slot)
    send[slot] = static_cast<std::uint8_t>(marks[halo_.cells()[slot]]);
  const auto received = halo_.exchange(std::span<const std::uint8_t>(send));
  std::vector<std::int8_t> grown(marks);
  for (std::size_t k = 0; k < e.interior; ++k) {
    const auto l = e.left[k], r = e.right[k];
    if (marks[l] == marks[r]) continue;
    grown[l] = std::max(grown[l], marks[r]);
    grown[r] = std::max(grown[r], marks[l]);
  }
  for (std::size_t slot = 0; slot < received.size(); ++slot) {
    auto& mark = grown[halo_.cells()[slot]];
    mark = std::max(mark, static_cast<std::int8_t>(received[slot]));
  }
  marks.swap(grown);
}

}  // namespace mesh
