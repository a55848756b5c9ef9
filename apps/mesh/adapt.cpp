// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <elastic_mpi/comm.hpp>

#include "apps/mesh/mesh.hpp"
#include "apps/mesh/mpi_check.hpp"
#include "apps/mesh/tight.hpp"

namespace mesh {
namespace {

// Bitwise or over all ranks.
unsigned any_rank(unsigned mine, MPI_Comm comm) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_UNSIGNED, MPI_BOR, comm), "comparing the marks");
  return mine;
}

constexpr int kHypotenuse = 2;

}  // namespace

// The cell across a local edge: own, halo or exterior.
std::int32_t Mesh::across(std::size_t cell, int local) const {
  const std::int32_t slot = topology_.cell_slots[3 * cell + static_cast<std::size_t>(local)];
  return slot % 2 == 0 ? topology_.edges.right[slot / 2] : topology_.edges.left[slot / 2];
}

// Marks edges until every cell with a marked edge has its hypotenuse marked; all these cells are bisected.
void Mesh::close_marks(std::span<const std::int8_t> marks) {
  const Edges& e = topology_.edges;
  std::vector<std::int32_t> fresh;  // marked edges whose cells have not been looked at
  const auto mark = [&](std::int32_t edge) {
    if (!bisected_[edge]) bisected_[edge] = 1, fresh.push_back(edge);
  };
  const auto bisect = [&](std::int32_t cell) {
    fates_[cell] = Fate::Bisect;
    mark(topology_.cell_slots[3 * cell + kHypotenuse] / 2);
  };
  const auto own = static_cast<std::int32_t>(leaves_.size());
  for (std::int32_t i = 0; i < own; ++i)
    if (marks[i] > 0 && leaves_[i].level() < kMaxLevel) bisect(i);

  const std::size_t first_halo_edge = e.interior, halo_edges = halo_.size();
  do {
    while (!fresh.empty()) {
      const std::int32_t edge = fresh.back();
      fresh.pop_back();
      for (const std::int32_t cell : {e.left[edge], e.right[edge]})
        if (cell < own) bisect(cell);
    }
    const auto theirs = halo_.exchange(std::span(bisected_).subspan(first_halo_edge, halo_edges));
    for (std::size_t slot = 0; slot < halo_edges; ++slot)
      if (theirs[slot]) mark(static_cast<std::int32_t>(first_halo_edge + slot));
  } while (any_rank(!fresh.empty(), comm_));
}

// Joins the pairs that all cells around their newest vertex agree to: the pair, and the pair across the
// parents' common hypotenuse.
void Mesh::agree_to_coarsen(std::span<const std::int8_t> marks) {
  const std::size_t own = leaves_.size(), inside = own + halo_.size();
  std::vector<std::uint8_t> willing(all_cells(), 0);
  std::vector<std::size_t> pairs;  // the first of each willing pair
  const auto agrees = [&](std::size_t i) { return marks[i] < 0 && fates_[i] == Fate::Keep; };
  for (std::size_t i = 0; i + 1 < own; ++i) {
    if (!agrees(i) || !agrees(i + 1) || !are_siblings(leaves_[i], leaves_[i + 1])) continue;
    willing[i] = willing[i + 1] = 1;
    pairs.push_back(i);
  }
  std::vector<std::uint8_t> send(halo_.size());
  for (std::size_t slot = 0; slot < send.size(); ++slot) send[slot] = willing[halo_.cells()[slot]];
  std::ranges::copy(halo_.exchange(std::span<const std::uint8_t>(send)),
                    willing.begin() + static_cast<std::ptrdiff_t>(own));
  std::fill(willing.begin() + static_cast<std::ptrdiff_t>(inside), willing.end(), 1);

  // The cell across half of the parent's hypotenuse, if it has the same level, belongs to the pair of the
  // parent's neighbour: only that pair has the newest vertex too.
  const auto across_agrees = [&](std::size_t cell, int local) {
    const auto other = static_cast<std::size_t>(across(cell, local));
    if (!willing[other]) return false;
    if (other >= inside) return true;
    return (other < own ? leaves_[other] : halo_leaves_[other - own]).level() == leaves_[cell].level();
  };
  for (const std::size_t i : pairs)
    if (across_agrees(i, 0) && across_agrees(i + 1, 1)) fates_[i] = Fate::Join;
}

// How many leaves there are when the fates are carried out.
std::size_t Mesh::cells_to_come() const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < fates_.size(); i += fates_[i] == Fate::Join ? 2 : 1) {
    ++count;
    if (fates_[i] != Fate::Bisect) continue;
    ++count;
    for (int which : {0, 1}) count += bisected_[topology_.cell_slots[3 * i + which] / 2] != 0;
  }
  return count;
}

// Carries the fates out. Cells that stay keep their shapes.
std::vector<Transfer::Run> Mesh::replace_leaves() {
  std::vector<Transfer::Run> runs;
  LeafWalk walk(domain_);
  next_leaves_.clear(), next_shapes_.clear();
  const std::size_t count = cells_to_come();
  reserve_tight(next_leaves_, count), reserve_tight(next_shapes_, count);
  const auto add = [&](Leaf leaf) { next_leaves_.push_back(leaf), next_shapes_.push_back(walk.shape(leaf)); };
  for (auto fate = fates_.begin(); fate != fates_.end();) {
    const auto i = fate - fates_.begin();
    const auto at = static_cast<std::int32_t>(i);
    const Leaf leaf = leaves_[i];
    if (*fate == Fate::Bisect) {
      Transfer::Run run{Transfer::Kind::Refine, at, 1, leaf};
      for (int which : {0, 1}) {  // a marked leg is the hypotenuse of a child
        const Leaf child = leaf.child(which);
        run.child_refined[which] = bisected_[topology_.cell_slots[3 * i + which] / 2] != 0;
        if (run.child_refined[which])
          add(child.child(0)), add(child.child(1));
        else
          add(child);
      }
      runs.push_back(run);
    } else if (*fate == Fate::Join) {
      add(leaf.parent());
      runs.push_back({Transfer::Kind::Coarsen, at, 2, leaf.parent()});
    } else {
      const auto end =
          std::find_if(fate, fates_.end(), [](Fate f) { return f != Fate::Keep; }) - fates_.begin();
      next_leaves_.insert(next_leaves_.end(), leaves_.begin() + i, leaves_.begin() + end);
      next_shapes_.insert(next_shapes_.end(), shapes_.begin() + i, shapes_.begin() + end);
      runs.push_back({Transfer::Kind::Keep, at, static_cast<std::int32_t>(end - i)});
    }
    fate += runs.back().count;
  }
  leaves_.swap(next_leaves_), shapes_.swap(next_shapes_);
  return runs;
}

// Joining pairs on both sides of a cut can leave siblings on two ranks; the second one goes to the first
// one's.
void Mesh::unite_siblings(Transfer& transfer) {
  struct Ends {
    std::uint64_t count, first, last;
  };
  const Ends mine =
      leaves_.empty() ? Ends{} : Ends{leaves_.size(), leaves_.front().bits, leaves_.back().bits};
  const int ranks = static_cast<int>(bounds_.size()) - 1;
  std::vector<Ends> ends(static_cast<std::size_t>(ranks));
  check_mpi(MPI_Allgather(&mine, 3, MPI_UINT64_T, ends.data(), 3, MPI_UINT64_T, comm_),
            "sharing the new cuts");
  const int my_rank = elastic::rank_of(comm_);
  int before = -1;
  for (int r = 0; r < ranks; ++r) {
    if (ends[r].count == 0) continue;
    const Leaf first{ends[r].first};
    if (before >= 0 && are_siblings({ends[before].last}, first)) {
      if (my_rank == r) {
        transfer.give_first_to = before;
        leaves_.erase(leaves_.begin()), shapes_.erase(shapes_.begin());
      }
      if (my_rank == before) {
        transfer.take_last_from = r;
        leaves_.push_back(first), shapes_.push_back(LeafWalk(domain_).shape(first));
      }
    }
    before = r;
  }
}

Transfer Mesh::adapt(std::span<const std::int8_t> marks, const Bisecting& bisecting) {
  Transfer transfer;
  transfer.comm = comm_;
  transfer.new_cells = leaves_.size();
  constexpr unsigned refine = 1, coarsen = 2;
  unsigned wanted = 0;
  for (const std::int8_t mark : marks) wanted |= mark > 0 ? refine : mark < 0 ? coarsen : 0;
  wanted = any_rank(wanted, comm_);
  if (wanted == 0) return transfer;

  fates_.assign(leaves_.size(), Fate::Keep);
  bisected_.assign(topology_.edges.size(), 0);
  const auto begin = std::chrono::steady_clock::now();
  if (wanted & refine) close_marks(marks);
  if (wanted & coarsen) agree_to_coarsen(marks);
  transfer.conformity_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const bool changed = std::ranges::any_of(fates_, [](Fate f) { return f != Fate::Keep; });
  transfer.changed = any_rank(changed, comm_) != 0;
  if (!transfer.changed) return transfer;

  if (bisecting) {
    std::vector<std::int32_t> cells;
    for (std::size_t i = 0; i < fates_.size(); ++i)
      if (fates_[i] == Fate::Bisect) cells.push_back(static_cast<std::int32_t>(i));
    bisecting(cells);
  }
  transfer.runs = replace_leaves();
  unite_siblings(transfer);
  transfer.new_cells = leaves_.size();
  connect(comm_);
  return transfer;
}

void Mesh::dilate(std::span<std::int8_t> marks, int layers) const {
  const std::size_t own = leaves_.size();
  std::vector<std::int32_t> grown, before;  // cells that grew in this round and in the last one
  std::vector<std::int8_t> next(marks.begin(), marks.end());
  std::vector<std::uint8_t> send(halo_.size());
  const auto raise = [&](std::int32_t cell, std::int8_t mark) {
    if (next[cell] < mark) next[cell] = mark, grown.push_back(cell);
  };
  for (int layer = 0; layer < layers; ++layer) {
    for (std::size_t slot = 0; slot < send.size(); ++slot)
      send[slot] = static_cast<std::uint8_t>(marks[halo_.cells()[slot]]);
    const auto received = halo_.exchange(std::span<const std::uint8_t>(send));
    if (layer == 0) {
      const Edges& e = topology_.edges;
      for (std::size_t k = 0; k < e.interior; ++k) {
        const std::int32_t l = e.left[k], r = e.right[k];
        if (marks[l] != marks[r]) raise(l, marks[r]), raise(r, marks[l]);
      }
    } else {  // only what grew in the last round can raise its neighbours in this one
      for (const std::int32_t cell : before)
        for (int local : {0, 1, 2})
          if (const auto other = across(cell, local); other < static_cast<std::int32_t>(own))
            raise(other, marks[cell]);
    }
    for (std::size_t slot = 0; slot < received.size(); ++slot)
      raise(halo_.cells()[slot], static_cast<std::int8_t>(received[slot]));
    for (const std::int32_t cell : grown) marks[cell] = next[cell];
    before.swap(grown), grown.clear();
  }
}

}  // namespace mesh
