// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/field/field.hpp"

#include <algorithm>
#include <bit>

#include "runtime/base/hash.hpp"

namespace spe10 {

void bound_porosity(Field& field) {
  const auto inactive = std::ranges::count_if(field.phi, [](float phi) { return phi < kNoPores; });
  const auto raised =
      std::ranges::count_if(field.phi, [](float phi) { return phi >= kNoPores && phi < kLeastPorosity; });
  for (float& phi : field.phi) phi = phi < kNoPores ? 0 : std::max(phi, kLeastPorosity);
  if (inactive > 0) field.description += ", " + std::to_string(inactive) + " blocks inactive";
  if (raised > 0) field.description += ", porosity of " + std::to_string(raised) + " raised to 0.01";
}

std::uint64_t hash_of(const Field& field) {
  std::uint64_t hash = 0;
  const auto add = [&hash](std::uint64_t bits) { hash = empi::split_mix64(hash ^ bits); };
  for (const int size : {field.nx, field.ny, field.nz}) add(static_cast<std::uint64_t>(size));
  for (const double place : {field.dx, field.dy, field.dz, field.top.value_or(-1), field.constant_phi})
    add(std::bit_cast<std::uint64_t>(place));
  for (const auto* values : {&field.kx, &field.ky, &field.kz, &field.phi}) {
    add(values->size());
    for (const float value : *values) add(std::bit_cast<std::uint32_t>(value));
  }
  return hash;
}

}  // namespace spe10
