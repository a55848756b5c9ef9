// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/model/rock.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace spe10 {
namespace {

// The block (i, j) that holds a triangle of the aligned level or finer, by its centroid.
std::pair<int, int> block_of(const mesh::Triangle& t, int blocks, const Field& field) {
  const auto index = [&](std::int64_t sum, int count) {
    return std::clamp(static_cast<int>(sum * blocks / (3 * static_cast<std::int64_t>(mesh::kSide))), 0,
                      count - 1);
  };
  return {index(static_cast<std::int64_t>(t.a.x) + t.b.x + t.c.x, field.nx),
          index(static_cast<std::int64_t>(t.a.y) + t.b.y + t.c.y, field.ny)};
}

struct Sums {
  double log_kx = 0, log_ky = 0, kz = 0, phi = 0;
  int active = 0;
};

}  // namespace

int blocks_per_root(const Field& field) {
  for (const int blocks : {4, 2})
    if (field.nx % blocks == 0 && field.ny % blocks == 0) return blocks;
  return 1;
}

mesh::Domain domain_of(const Field& field) {
  const int blocks = blocks_per_root(field);
  return {field.nx / blocks, field.ny / blocks};
}

int aligned_level(const Field& field) {
  return 2 * (std::bit_width(static_cast<unsigned>(blocks_per_root(field))) - 1);
}

RockOfColumn rock_of(const Field& field, const mesh::Domain& domain, int split) {
  const int blocks = blocks_per_root(field), aligned = aligned_level(field);
  return [&field, domain, blocks, aligned, split](mesh::Leaf leaf, std::span<Rock> column) {
    std::vector<Sums> sums(static_cast<std::size_t>(field.nz));
    int pieces = 0;
    const auto gather = [&](auto&& self, const mesh::Triangle& t, int level) -> void {
      if (level < aligned) return self(self, t.child(0), level + 1), self(self, t.child(1), level + 1);
      const auto [i, j] = block_of(t, blocks, field);
      for (int k = 0; k < field.nz; ++k) {
        const std::size_t b = field.at(i, j, k);
        if (!field.active(b)) continue;
        Sums& s = sums[static_cast<std::size_t>(k)];
        ++s.active;
        s.log_kx += std::log(static_cast<double>(field.kx[b]));
        s.log_ky += std::log(static_cast<double>(field.along_y(b)));
        // Side by side: what flows up through one need not pass the others.
        s.kz += static_cast<double>(field.kz[b]);
        s.phi += field.porosity(b);
      }
      ++pieces;
    };
    gather(gather, domain.triangle(leaf), leaf.level());
    for (std::size_t z = 0; z < column.size(); ++z) {
      const Sums& s = sums[z / static_cast<std::size_t>(split)];
      column[z] = {};
      if (s.active == 0) continue;
      // What flows sideways has the active part to itself.
      const double share = static_cast<double>(s.active) / pieces;
      const auto mean = [&](double logs) { return static_cast<float>(share * std::exp(logs / s.active)); };
      column[z].kxx = mean(s.log_kx), column[z].kyy = mean(s.log_ky);
      column[z].kzz = static_cast<float>(s.kz / pieces), column[z].phi = s.phi / pieces;
    }
  };
}

}  // namespace spe10
