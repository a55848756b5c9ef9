// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other by PMIx's store, which the agents' lead keeps. Unlike in a call of MPI, who
// waits there can be called off, by the name of what is not made any more (decision R18).
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace empi::rank {

// Whether it is there now; not when what it is for was given up.
bool publish(const std::string& key, const std::string& value);

// Waits until all are there; their values, in the order of the keys. Nothing when one will not come.
// `mpi`: whether MPI goes on meanwhile (others may still have to hear of a revocation), or reads nothing that
// arrives.
enum class Meanwhile { MpiGoesOn, MpiStandsStill };
std::optional<std::vector<std::string>> await_published(const std::vector<std::string>& keys, Meanwhile mpi);

}  // namespace empi::rank
