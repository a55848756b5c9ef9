// SPDX-License-Identifier: Apache-2.0
// Sections of the curve: pieces of 2048 cells (4096 at order 1) whose fluxes and states at faces live in a
// scratch that fits the cache and is used for the next section again. Sections know nothing of each other:
// what lies on an edge between two of them is computed in both, from the same numbers by the same operations,
// so that they may be done in any order, by any thread.
#pragma once
#include <cstdint>
#include <vector>

#include "apps/mesh/mesh.hpp"
#include "apps/tsunami/solver/section.hpp"

namespace swe {

class Sections {
 public:
  // Collective-free: from the mesh alone. `second`: of order 2.
  void build(const mesh::Mesh& mesh, bool second);

  std::int32_t count() const { return static_cast<std::int32_t>(ends_.size()); }
  Section operator[](std::int32_t s) const;
  std::int32_t widest() const { return widest_; }  // the most scratch edges of one
  std::size_t bytes() const;                       // of memory

 private:
  struct Ends {
    std::int32_t cells, edge_begin, edge_end, seams, near, outer;
    bool waits;
  };
  std::vector<Ends> ends_;
  std::vector<std::int32_t> seams_;
  std::vector<FaceAt> near_, outer_;
  std::int32_t widest_ = 0;
};

}  // namespace swe
