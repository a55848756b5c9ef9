// SPDX-License-Identifier: Apache-2.0
// Distributed conforming adaptive triangular mesh on the Sierpinski curve. Knows geometry and topology only;
// what lives in the cells belongs to the application and follows adaptions by Transfer and moves with the
// leaves.
//
//   mesh::Mesh m(comm, {.nx = 2, .ny = 1}, 10);           // uniform, level 10, split evenly
//   auto transfer = m.adapt(marks);                        // +1 refine, -1 coarsen if all agree, 0 keep
//   values = transfer.apply(values, refine, coarsen);      // cell data follow
//   m.assign(moved_leaves, new_comm);                      // after leaves moved between ranks
#pragma once
#include <mpi.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "apps/mesh/halo.hpp"
#include "apps/mesh/leaf.hpp"
#include "apps/mesh/topology.hpp"
#include "apps/mesh/transfer.hpp"

namespace mesh {

enum class Border : std::uint8_t { West, East, South, North };

struct BoundaryEdge {
  std::int32_t edge;  // its right cell is the exterior cell
  Border border;
};

class Mesh {
 public:
  // Uniform mesh of the level, cut evenly over the ranks of comm. Collective; comm must outlive its use here.
  Mesh(MPI_Comm comm, Domain domain, int level, const EdgeClasses& classes = EdgeClasses::without_rows());
  // No leaves yet: assign() must follow.
  explicit Mesh(Domain domain, const EdgeClasses& classes = EdgeClasses::without_rows()) : domain_(domain) {
    topology_.classes = classes;
  }

  const Domain& domain() const { return domain_; }
  MPI_Comm comm() const { return comm_; }

  std::span<const Leaf> leaves() const { return leaves_; }
  std::size_t cells() const { return leaves_.size(); }
  std::size_t halo_cells() const { return halo_.size(); }
  // All cells that edges refer to: own, halo, exterior.
  std::size_t all_cells() const { return cells() + halo_.size() + boundary_.size(); }
  const Edges& edges() const { return topology_.edges; }
  const EdgeClasses& edge_classes() const { return topology_.classes; }
  std::span<const BoundaryEdge> boundary() const { return boundary_; }
  // 3 per cell: 2 * edge + (0 left | 1 right); local order ab, bc, ac.
  std::span<const std::int32_t> cell_slots() const { return topology_.cell_slots; }
  std::span<const CellShape> shapes() const { return shapes_; }
  std::span<const Leaf> halo_leaves() const { return halo_leaves_; }
  Halo& halo() { return halo_; }
  const Halo& halo() const { return halo_; }
  Triangle triangle(std::size_t cell) const { return domain_.triangle(leaves_[cell]); }

  // Rank r owns the keys [bounds[r], bounds[r + 1]); P + 1 entries.
  std::span<const std::uint64_t> bounds() const { return bounds_; }
  int owner(std::uint64_t key) const;
  // This rank's cell that contains the descendant, or -1.
  std::int32_t find(Leaf descendant) const;

  // Replaces the leaves of all ranks: concatenated in rank order they must be sorted, without gaps and
  // conforming, with siblings on one rank. Rebuilds edges and halo. Collective on comm.
  void assign(std::vector<Leaf> leaves, MPI_Comm comm);
  // Takes leaves without connecting them: rebuild() must follow. Local.
  void hold(std::vector<Leaf> leaves) { leaves_ = std::move(leaves); }
  // Rebuilds edges and halo for the present leaves on another communicator. Collective on comm.
  void rebuild(MPI_Comm comm) { assign(std::move(leaves_), comm); }

  // Bisects cells marked > 0 (and what conformity asks for), joins siblings whose pair, and the pair across
  // their parents' hypotenuse, are all marked < 0 and unhurt by refinement. Collective. The result is the
  // same for every number of ranks. `bisecting` is told this rank's cells that will be bisected, in order,
  // while the mesh is still as it was, if any rank's mesh changes.
  using Bisecting = std::function<void(std::span<const std::int32_t>)>;
  Transfer adapt(std::span<const std::int8_t> marks, const Bisecting& bisecting = {});

  // Of memory, with what adaptions use again.
  std::size_t bytes() const;

  // `layers` rounds of marks[i] = max of itself and its neighbours. Collective.
  void dilate(std::span<std::int8_t> marks, int layers) const;

 private:
  enum class Fate : std::uint8_t { Keep, Bisect, Join };  // join: with the sibling that follows

  void connect(MPI_Comm comm);
  void reconnect(std::span<const Run> runs);
  void set_bounds();
  void resolve_external();
  void close_marks(std::span<const std::int8_t> marks);
  void agree_to_coarsen(std::span<const std::int8_t> marks);
  std::vector<Transfer::Run> runs_to_come() const;
  void replace_leaves(std::span<const Transfer::Run> runs);
  void unite_siblings(Transfer& transfer);
  // The cell across a local edge: own, halo or exterior.
  std::int32_t across(std::size_t cell, int local) const {
    const std::int32_t slot = topology_.cell_slots[3 * cell + static_cast<std::size_t>(local)];
    return (slot % 2 == 0 ? topology_.edges.right : topology_.edges.left)[static_cast<std::size_t>(slot / 2)];
  }

  Domain domain_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<Leaf> leaves_;
  std::vector<CellShape> shapes_;
  std::vector<std::uint64_t> bounds_;
  LocalTopology topology_;
  std::vector<BoundaryEdge> boundary_;
  Halo halo_;
  std::vector<Leaf> halo_leaves_;

  // Memory that adaptions use again.
  std::vector<Fate> fates_;             // per cell
  std::vector<std::uint8_t> bisected_;  // per edge
};

// 1 where a rank's interval may begin: everywhere but between siblings.
std::vector<std::uint8_t> cut_positions(std::span<const Leaf> leaves);

// The uniform mesh's leaves number [begin, end) in curve order.
std::vector<Leaf> uniform_leaves(const Domain& domain, int level, std::uint64_t begin, std::uint64_t end);

}  // namespace mesh
