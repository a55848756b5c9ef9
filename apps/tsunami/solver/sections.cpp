// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/solver/sections.hpp"

#include <algorithm>

#include "apps/mesh/outside.hpp"
#include "apps/mesh/tight.hpp"

namespace swe {

void Sections::build(const mesh::Mesh& mesh, bool second) {
  const mesh::Edges& e = mesh.edges();
  const auto slots = mesh.cell_slots();
  const auto own = static_cast<std::int32_t>(mesh.cells());
  const auto interior = static_cast<std::int32_t>(e.interior);
  std::vector<std::int32_t> elsewhere;  // edges of a section with a cell outside of it
  ends_.clear(), seams_.clear(), near_.clear(), outer_.clear();
  widest_ = 0;
  // At order 1 the scratch has no states at faces: longer sections meet less often.
  const std::int32_t joined = second ? 1 : 2, step = joined * mesh::kSectionCells;
  const auto mesh_sections = static_cast<std::int32_t>(e.sections.size()) - 1;
  for (std::int32_t begin = 0, s = 0; begin < own; begin += step, s += joined) {
    const std::int32_t end = std::min(begin + step, own);
    const std::int32_t first = e.sections[static_cast<std::size_t>(s)],
                       last = e.sections[static_cast<std::size_t>(std::min(s + joined, mesh_sections))],
                       range = last - first;
    const auto first_seam = static_cast<std::int32_t>(seams_.size());
    mesh::find_outside(slots.data(), 3 * begin, 3 * end, 2 * first, 2 * range, seams_);
    const bool waits = std::any_of(seams_.begin() + first_seam, seams_.end(), [&](std::int32_t face) {
      return slots[static_cast<std::size_t>(face)] >= 2 * interior;
    });
    const auto seams = static_cast<std::int32_t>(seams_.size()) - first_seam;
    if (second) {
      const auto add = [&](std::int32_t cell, std::int32_t slot, std::int32_t at) {
        if (cell < own)
          near_.push_back({3 * cell + face_of(slots, cell, slot), at});
        else
          outer_.push_back({(slot >> 1) - interior, at});
      };
      for (const bool right : {false, true}) {
        const std::vector<std::int32_t>& cells = right ? e.right : e.left;
        elsewhere.clear();
        mesh::find_outside(cells.data(), first, last, begin, end - begin, elsewhere);
        for (const std::int32_t k : elsewhere)
          add(cells[static_cast<std::size_t>(k)], 2 * k + right, 2 * (k - first) + right);
      }
      for (std::int32_t j = 0; j < seams; ++j) {
        const std::int32_t far =
            slots[seams_[static_cast<std::size_t>(first_seam) + static_cast<std::size_t>(j)]] ^ 1;
        add((far & 1) != 0 ? e.right[far >> 1] : e.left[far >> 1], far, 2 * (range + j) + (far & 1));
      }
    }
    widest_ = std::max(widest_, range + seams);
    ends_.push_back({end, first, last, static_cast<std::int32_t>(seams_.size()),
                     static_cast<std::int32_t>(near_.size()), static_cast<std::int32_t>(outer_.size()),
                     waits});
  }
}

Section Sections::operator[](std::int32_t s) const {
  const Ends none{}, &before = s == 0 ? none : ends_[static_cast<std::size_t>(s) - 1],
                     &here = ends_[static_cast<std::size_t>(s)];
  const auto part = [](const auto& all, std::int32_t begin, std::int32_t end) {
    return std::span(all).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  };
  return {before.cells,
          here.cells,
          here.edge_begin,
          here.edge_end,
          part(seams_, before.seams, here.seams),
          part(near_, before.near, here.near),
          part(outer_, before.outer, here.outer),
          here.waits};
}

std::size_t Sections::bytes() const { return mesh::bytes_of(ends_, seams_, near_, outer_); }

}  // namespace swe
