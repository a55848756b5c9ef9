// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "apps/spe10/field/field.hpp"

namespace spe10 {

void bound_porosity(Field& field) {
  const auto inactive = std::ranges::count_if(field.phi, [](float phi) { return phi < kNoPores; });
  const auto raised =
      std::ranges::count_if(field.phi, [](float phi) { return phi >= kNoPores && phi < kLeastPorosity; });
  for (float& phi : field.phi) phi = phi < kNoPores ? 0 : std::max(phi, kLeastPorosity);
  if (inactive > 0) field.description += ", " + std::to_string(inactive) + " blocks inactive";
  if (raised > 0) field.description += ", porosity of " + std::to_string(raised) + " raised to 0.01";
}

}  // namespace spe10
