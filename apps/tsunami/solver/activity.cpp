// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/solver/activity.hpp"

#include <cmath>

#include "runtime/base/target_clones.hpp"

namespace swe {

// Bytes may be taken for anything: __restrict says that marks are nothing else.
template <class Stored>
EMPI_TARGET_CLONES void mark_amplitudes(std::span<const Stored> eta, std::span<const Stored> b,
                                        double sea_level, double dry, double refine_above,
                                        double coarsen_below, std::span<std::int8_t> marks) {
  const Stored* const __restrict surface = eta.data();
  const Stored* const __restrict bed = b.data();
  std::int8_t* const __restrict to = marks.data();
  const std::size_t count = marks.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double depth = surface[i] - bed[i], amplitude = std::abs(surface[i] - sea_level);
    const Activity activity = activity_of(amplitude, refine_above, coarsen_below);
    to[i] = depth > dry ? activity : calm;
  }
}
template void mark_amplitudes(std::span<const double>, std::span<const double>, double, double, double,
                              double, std::span<std::int8_t>);
template void mark_amplitudes(std::span<const float>, std::span<const float>, double, double, double, double,
                              std::span<std::int8_t>);

EMPI_TARGET_CLONES void mark_levels(std::span<const mesh::Leaf> leaves, int coarsest, int finest,
                                    std::span<std::int8_t> marks) {
  const mesh::Leaf* const __restrict of = leaves.data();
  std::int8_t* const __restrict to = marks.data();
  const std::size_t count = marks.size();
  for (std::size_t i = 0; i < count; ++i) {
    const int level = of[i].level();
    const bool refine = (to[i] == refined) & (level < finest), coarsen = (to[i] == calm) & (level > coarsest);
    to[i] = static_cast<std::int8_t>(refine - coarsen);
  }
}

}  // namespace swe
