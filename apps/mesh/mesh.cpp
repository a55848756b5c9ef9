// SPDX-License-Identifier: Apache-2.0
#include "apps/mesh/mesh.hpp"

#include <algorithm>
#include <elastic_mpi/comm.hpp>
#include <stdexcept>
#include <string>
#include <tuple>

#include "apps/mesh/mpi_check.hpp"
#include "apps/mesh/tight.hpp"

namespace mesh {
namespace {

using elastic::rank_of;
using elastic::size_of;

void check_domain(const Domain& d) {
  if (d.nx < 1 || d.ny < 1 || d.nx > 181 || d.ny > 181 || d.roots() > kMaxRoots)
    throw std::invalid_argument("mesh: a domain of " + std::to_string(d.nx) + " x " + std::to_string(d.ny) +
                                " root squares was asked for; 1 x 1 to 181 x 181 are possible");
}

}  // namespace

std::vector<std::uint8_t> cut_positions(std::span<const Leaf> leaves) {
  std::vector<std::uint8_t> may_cut(leaves.size(), 1);
  for (std::size_t i = 1; i < leaves.size(); ++i)
    if (are_siblings(leaves[i - 1], leaves[i])) may_cut[i] = 0;
  return may_cut;
}

std::vector<Leaf> uniform_leaves(const Domain& domain, int level, std::uint64_t begin, std::uint64_t end) {
  check_domain(domain);
  if (level < 0 || level > kMaxLevel)
    throw std::invalid_argument("mesh: level " + std::to_string(level) + " is not in 0.." +
                                std::to_string(kMaxLevel));
  std::vector<Leaf> leaves;
  leaves.reserve(end - begin);
  const int shift = kPathTop - level;  // leaf number = (root | path) read as one integer
  for (std::uint64_t i = begin; i < end; ++i)
    leaves.push_back({(i << shift) + static_cast<std::uint64_t>(level)});
  return leaves;
}

Mesh::Mesh(MPI_Comm comm, Domain domain, int level, const EdgeClasses& classes) : Mesh(domain, classes) {
  check_domain(domain);
  const auto ranks = static_cast<std::uint64_t>(size_of(comm)),
             rank = static_cast<std::uint64_t>(rank_of(comm));
  const std::uint64_t total = static_cast<std::uint64_t>(domain.roots()) << level;
  const auto cut = [&](std::uint64_t r) { return r == ranks ? total : total * r / ranks & ~1ull; };
  assign(uniform_leaves(domain, level, cut(rank), cut(rank + 1)), comm);
}

void Mesh::set_bounds() {
  const int ranks = size_of(comm_);
  const std::uint64_t none = ~0ull;
  const std::uint64_t mine = leaves_.empty() ? none : leaves_.front().key();
  bounds_.assign(static_cast<std::size_t>(ranks) + 1, none);
  check_mpi(MPI_Allgather(&mine, 1, MPI_UINT64_T, bounds_.data(), 1, MPI_UINT64_T, comm_),
            "sharing the cuts");
  // A rank without leaves owns an empty interval in front of the next rank's.
  for (int r = ranks - 1; r >= 0; --r) bounds_[r] = std::min(bounds_[r], bounds_[r + 1]);
}

int Mesh::owner(std::uint64_t key) const {
  return static_cast<int>(std::upper_bound(bounds_.begin(), bounds_.end() - 1, key) - bounds_.begin()) - 1;
}

std::int32_t Mesh::find(Leaf descendant) const {
  const auto after = std::upper_bound(leaves_.begin(), leaves_.end(), descendant.key(),
                                      [](std::uint64_t key, Leaf leaf) { return key < leaf.key(); });
  if (after == leaves_.begin() || descendant.key() >= (after - 1)->key_end()) return -1;
  return static_cast<std::int32_t>(after - leaves_.begin()) - 1;
}

std::size_t Mesh::bytes() const {
  const Edges& e = topology_.edges;
  return bytes_of(leaves_, shapes_, bounds_, boundary_, halo_leaves_, fates_, bisected_) +
         bytes_of(e.left, e.right, e.classes, e.sections, topology_.cell_slots, topology_.external,
                  topology_.open);
}

void Mesh::assign(std::vector<Leaf> leaves, MPI_Comm comm) {
  leaves_ = std::move(leaves);
  resize_tight(shapes_, leaves_.size());
  LeafWalk walk(domain_);
  for (std::size_t i = 0; i < leaves_.size(); ++i) shapes_[i] = walk.shape(leaves_[i]);
  connect(comm);
}

// Edges and halo of leaves_ and shapes_.
void Mesh::connect(MPI_Comm comm) {
  comm_ = comm;
  set_bounds();
  build_local_topology(domain_, leaves_, shapes_, topology_);
  resolve_external();
}

// The same after an adaption that left this rank's cuts where they are.
void Mesh::reconnect(std::span<const Run> runs) {
  set_bounds();
  update_local_topology(domain_, leaves_, shapes_, runs, topology_);
  resolve_external();
}

namespace {

// A halo edge before it gets its number. The mid point names an edge of a conforming mesh on both ranks.
struct HaloEdge {
  int rank;
  Point from_plus_to;
  ExternalEdge mine;
  bool mine_is_left;
};

// An interior point of the triangle across the edge that has the edge as hypotenuse, in units / 4.
std::pair<std::int64_t, std::int64_t> beyond(const ExternalEdge& e) {
  const std::int64_t dx = e.to.x - e.from.x, dy = e.to.y - e.from.y;
  // mid point plus a quarter of the outward normal (dy, -dx); that triangle's height is half of the edge
  return {2ll * (e.from.x + e.to.x) + dy, 2ll * (e.from.y + e.to.y) - dx};
}

// Of external edges, the one that is the same edge seen from the other side, or -1.
std::vector<std::int32_t> find_partners(std::span<const ExternalEdge> edges) {
  struct Place {
    Point from_plus_to;
    std::int32_t edge;
  };
  std::vector<Place> places;
  places.reserve(edges.size());
  for (const ExternalEdge& e : edges)
    places.push_back({e.from + e.to, static_cast<std::int32_t>(places.size())});
  std::ranges::sort(places, {}, [](const Place& p) { return std::pair(p.from_plus_to.x, p.from_plus_to.y); });
  std::vector<std::int32_t> partners(edges.size(), -1);
  for (std::size_t k = 1; k < places.size(); ++k) {
    if (places[k - 1].from_plus_to != places[k].from_plus_to) continue;
    partners[static_cast<std::size_t>(places[k - 1].edge)] = places[k].edge;
    partners[static_cast<std::size_t>(places[k].edge)] = places[k - 1].edge;
  }
  return partners;
}

}  // namespace

void Mesh::resolve_external() {
  Edges& edges = topology_.edges;
  const int my_rank = rank_of(comm_);
  const auto add = [&](const ExternalEdge& e, std::int32_t left, std::int32_t right, bool mine_is_left,
                       bool leg_of_both) {
    const auto id = static_cast<std::int32_t>(edges.size());
    edges.left.push_back(left);
    edges.right.push_back(right);
    const auto shape = EdgeShape::encode(
        e.hypotenuse_level, direction_of(mine_is_left ? e.to - e.from : e.from - e.to), leg_of_both);
    edges.classes.push_back(topology_.classes.of(shape, e.from.y + e.to.y));
    topology_.cell_slots[3 * e.cell + e.local] = 2 * id + (mine_is_left ? 0 : 1);
    return id;
  };

  std::vector<HaloEdge> halo_edges;
  std::vector<std::pair<ExternalEdge, Border>> border_edges;
  const std::vector<std::int32_t> partners = find_partners(topology_.external);
  for (std::size_t k = 0; k < partners.size(); ++k) {
    const ExternalEdge& e = topology_.external[k];
    if (partners[k] >= 0) {
      const ExternalEdge& other = topology_.external[static_cast<std::size_t>(partners[k])];
      if (other.hypotenuse_level != e.hypotenuse_level)
        throw std::logic_error("mesh: the leaves are not conforming across root triangles");
      if (other.cell < e.cell) continue;  // it has added the edge
      const auto id = add(e, e.cell, other.cell, true, e.local != 2 && other.local != 2);
      topology_.cell_slots[3 * other.cell + other.local] = 2 * id + 1;
      continue;
    }
    const auto [x4, y4] = beyond(e);
    const auto there = domain_.locate(x4, y4, e.hypotenuse_level);
    if (!there) {
      const Border border = x4 < 0                          ? Border::West
                            : y4 < 0                        ? Border::South
                            : x4 > 4ll * kSide * domain_.nx ? Border::East
                                                            : Border::North;
      border_edges.emplace_back(e, border);
      continue;
    }
    const int rank = owner(there->key());
    if (rank == my_rank)
      throw std::logic_error("mesh: the leaves of this rank have a gap or are not conforming");
    halo_edges.push_back({rank, e.from + e.to, e, leaves_[e.cell].key() < there->key()});
  }
  edges.interior = edges.size();

  std::sort(halo_edges.begin(), halo_edges.end(), [](const HaloEdge& p, const HaloEdge& q) {
    return std::tie(p.rank, p.from_plus_to.x, p.from_plus_to.y) <
           std::tie(q.rank, q.from_plus_to.x, q.from_plus_to.y);
  });
  std::vector<Halo::Neighbour> neighbours;
  std::vector<std::int32_t> cells;
  std::vector<std::uint64_t> send;
  for (const HaloEdge& h : halo_edges) {
    const auto slot = static_cast<std::int32_t>(cells.size());
    if (neighbours.empty() || neighbours.back().rank != h.rank) neighbours.push_back({h.rank, slot, slot});
    neighbours.back().end = slot + 1;
    cells.push_back(h.mine.cell);
    send.push_back(leaves_[h.mine.cell].bits);
  }
  halo_ = Halo(comm_, std::move(neighbours), std::move(cells));
  const auto received = halo_.exchange(send);
  halo_leaves_.resize(received.size());
  const auto own = static_cast<std::int32_t>(leaves_.size());
  for (std::size_t slot = 0; slot < received.size(); ++slot) {
    halo_leaves_[slot] = {received[slot]};
    const HaloEdge& h = halo_edges[slot];
    const bool leg_of_both = h.mine.local != 2 && halo_leaves_[slot].level() != h.mine.hypotenuse_level;
    const auto ghost = own + static_cast<std::int32_t>(slot);
    if (h.mine_is_left)
      add(h.mine, h.mine.cell, ghost, true, leg_of_both);
    else
      add(h.mine, ghost, h.mine.cell, false, leg_of_both);
  }

  boundary_.clear();
  auto exterior = own + static_cast<std::int32_t>(received.size());
  for (const auto& [e, border] : border_edges)
    boundary_.push_back({add(e, e.cell, exterior++, true, e.local != 2), border});
}

}  // namespace mesh
