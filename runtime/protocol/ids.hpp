// SPDX-License-Identifier: Apache-2.0
// Narrow types for the numbers that must not be mixed up.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <tuple>

namespace empi {

template <class Tag>
struct Number {
  std::int64_t value = 0;
  auto operator<=>(const Number&) const = default;
};

using Epoch = Number<struct EpochTag>;  // version of the membership, grows by one with every commit
using Fence = Number<struct FenceTag>;  // grows when another controller takes the job; older ones are refused

// A rank as PMIx names it. World rank numbers change with every epoch, these do not.
struct ProcId {
  std::string nspace;
  std::uint32_t rank = 0;
  auto operator<=>(const ProcId&) const = default;
};
inline constexpr std::uint32_t kAllRanks = 4294967294u;  // PMIX_RANK_WILDCARD: of the namespace
inline std::string name_of(const ProcId& proc) { return proc.nspace + "/" + std::to_string(proc.rank); }

}  // namespace empi
