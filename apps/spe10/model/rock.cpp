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
    return std::clamp(static_cast<int>(sum * blocks / (3 * static_cast<std::int64_t>(mesh::side))), 0,
                      count - 1);
  };
  return {index(static_cast<std::int64_t>(t.a.x) + t.b.x + t.c.x, field.nx),
          index(static_cast<std::int64_t>(t.a.y) + t.b.y + t.c.y, field.ny)};
}

struct Sums {
  double log_kh = 0, kv = 0, phi = 0;
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
        Sums& s = sums[static_cast<std::size_t>(k)];
        s.log_kh += std::log(static_cast<double>(field.kh[b]));
        s.kv += static_cast<double>(
            field.kv[b]);  // side by side: what flows up through one need not pass the others
        s.phi += field.porosity(b);
      }
      ++pieces;
    };
    gather(gather, domain.triangle(leaf), leaf.level());
    for (std::size_t z = 0; z < column.size(); ++z) {
      const Sums& s = sums[z / static_cast<std::size_t>(split)];
      const auto kh = static_cast<float>(std::exp(s.log_kh / pieces));
      column[z] = {kh, kh, static_cast<float>(s.kv / pieces), 0, 0, 0, s.phi / pieces};
    }
  };
}

}  // namespace spe10
