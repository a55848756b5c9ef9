// SPDX-License-Identifier: Apache-2.0
// For tests: an inversion in one thread, without MPI, and settings for one that is soon over.
#pragma once
#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "apps/surrogate/app/inversion.hpp"

namespace surrogate::test {

/// The tasks of one phase in this thread, one after the other; with `order`, shuffled by it.
inline void run_phase(Inversion& inversion, std::mt19937* order = nullptr) {
  const Work work = inversion.next();
  std::vector<std::int64_t> indices(static_cast<std::size_t>(work.count));
  std::iota(indices.begin(), indices.end(), 0);
  if (order != nullptr) std::ranges::shuffle(indices, *order);
  std::vector<double> rows(static_cast<std::size_t>(work.count * work.width));
  for (const std::int64_t index : indices)
    work.task(index, std::span(rows).subspan(static_cast<std::size_t>(index * work.width),
                                             static_cast<std::size_t>(work.width)));
  inversion.absorb(rows);
}

/// Of a run that takes no time, with samples that are as good as such a run can be: three ensembles of 20.
inline Settings short_run() {
  Settings settings;
  settings.reference_points = 5;
  settings.most_points = 20;
  settings.ensembles = 3;
  settings.samples = 60;
  settings.sampler.burn_in = 20;
  return settings;
}

inline void run_through(Inversion& inversion) {
  while (!inversion.done()) run_phase(inversion);
}

}  // namespace surrogate::test
