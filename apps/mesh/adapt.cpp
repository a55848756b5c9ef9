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

bool is_change(const Transfer::Run& run) { return run.kind != Transfer::Kind::Keep; }

// How many old cells are no more.
std::size_t replaced_cells(std::span<const Transfer::Run> runs) {
  std::size_t count = 0;
  for (const Transfer::Run& run : runs)
    if (is_change(run)) count += static_cast<std::size_t>(run.count);
  return count;
}

}  // namespace

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
  for (std::size_t i = next_nonzero(marks, 0); i < marks.size(); i = next_nonzero(marks, i + 1))
    if (marks[i] > 0 && leaves_[i].level() < kMaxLevel) bisect(static_cast<std::int32_t>(i));

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
  for (std::size_t i = next_nonzero(marks, 0); i + 1 < own; i = next_nonzero(marks, i + 1)) {
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

// What the fates make of the leaves.
std::vector<Transfer::Run> Mesh::runs_to_come() const {
  std::vector<Transfer::Run> runs;
  std::int32_t next = 0;
  for (std::size_t i = 0; i < fates_.size();) {
    Transfer::Run run{.kind = Transfer::Kind::Keep,
                      .old_begin = static_cast<std::int32_t>(i),
                      .count = static_cast<std::int32_t>(next_nonzero(std::span(fates_), i) - i),
                      .new_begin = next};
    if (fates_[i] == Fate::Bisect) {
      run.kind = Transfer::Kind::Refine, run.count = 1, run.parent = leaves_[i];
      for (int which : {0, 1})  // a marked leg is the hypotenuse of a child
        run.child_refined[which] = bisected_[topology_.cell_slots[3 * i + which] / 2] != 0;
    } else if (fates_[i] == Fate::Join) {
      run.kind = Transfer::Kind::Coarsen, run.count = 2, run.parent = leaves_[i].parent();
    }
    runs.push_back(run);
    next += run.new_cells();
    i += static_cast<std::size_t>(run.count);
  }
  return runs;
}

// Carries the fates out, in place. Cells that stay keep their shapes.
void Mesh::replace_leaves(std::span<const Transfer::Run> runs) {
  std::vector<Leaf> leaves;  // that are new
  std::vector<CellShape> shapes;
  std::vector<Piece> kept;
  const auto add = [&](Leaf leaf, const CellShape& shape) {
    leaves.push_back(leaf), shapes.push_back(shape);
  };
  for (const Transfer::Run& run : runs) {
    const auto i = static_cast<std::size_t>(run.old_begin);
    if (run.kind == Transfer::Kind::Keep) {
      kept.push_back({run.old_begin, run.new_begin, run.count});
    } else if (run.kind == Transfer::Kind::Coarsen) {
      add(run.parent, parent_shape(leaves_[i], shapes_[i], shapes_[i + 1]));
    } else {
      for (int which : {0, 1}) {
        const Leaf child = run.parent.child(which);
        const CellShape shape = child_shape(run.parent, shapes_[i], which);
        if (!run.child_refined[which]) {
          add(child, shape);
          continue;
        }
        for (int half : {0, 1}) add(child.child(half), child_shape(child, shape, half));
      }
    }
  }
  const std::size_t before = leaves_.size(), count = before + leaves.size() - replaced_cells(runs);
  resize_tight(leaves_, std::max(before, count)), resize_tight(shapes_, std::max(before, count));
  move_pieces(std::span(kept), std::identity{},
              [&](const Piece& p) { move_values(leaves_.data(), p), move_values(shapes_.data(), p); });
  std::size_t next = 0;
  for (const Transfer::Run& run : runs) {
    if (!is_change(run)) continue;
    std::copy_n(leaves.data() + next, run.new_cells(), leaves_.data() + run.new_begin);
    std::copy_n(shapes.data() + next, run.new_cells(), shapes_.data() + run.new_begin);
    next += static_cast<std::size_t>(run.new_cells());
  }
  leaves_.resize(count), shapes_.resize(count);
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
  transfer.runs = runs_to_come();
  transfer.changed = any_rank(std::ranges::any_of(transfer.runs, is_change), comm_) != 0;
  if (!transfer.changed) return transfer;

  if (bisecting) {
    std::vector<std::int32_t> cells;
    for (const Transfer::Run& run : transfer.runs)
      if (run.kind == Transfer::Kind::Refine) cells.push_back(run.old_begin);
    bisecting(cells);
  }
  replace_leaves(transfer.runs);
  unite_siblings(transfer);
  transfer.new_cells = leaves_.size();
  if (transfer.give_first_to >= 0 || transfer.take_last_from >= 0)
    connect(comm_);
  else
    reconnect(transfer.runs);
  return transfer;
}

void Mesh::dilate(std::span<std::int8_t> marks, int layers) const {
  const std::size_t own = leaves_.size();
  std::vector<std::int32_t> grown, before;  // cells that grew in this round and in the last one
  std::vector<std::int8_t> next(marks.begin(), marks.end());
  std::vector<std::uint8_t> send(halo_.size());
  const std::int8_t highest = marks.empty() ? std::int8_t{} : std::ranges::max(marks);
  const auto raise = [&](std::int32_t cell, std::int8_t mark) {
    if (next[cell] < mark) next[cell] = mark, grown.push_back(cell);
  };
  for (int layer = 0; layer < layers; ++layer) {
    for (std::size_t slot = 0; slot < send.size(); ++slot)
      send[slot] = static_cast<std::uint8_t>(marks[halo_.cells()[slot]]);
    const auto received = halo_.exchange(std::span<const std::uint8_t>(send));
    if (layer == 0) {  // most cells have the highest mark there is, and nothing raises them
      const std::span<const std::int8_t> seen(marks);
      for (std::size_t i = next_other(seen, highest, 0); i < own; i = next_other(seen, highest, i + 1)) {
        for (int local : {0, 1, 2})
          if (const auto other = static_cast<std::size_t>(across(i, local)); other < own)
            raise(static_cast<std::int32_t>(i), marks[other]);
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
