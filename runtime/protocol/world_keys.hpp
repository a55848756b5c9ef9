// SPDX-License-Identifier: Apache-2.0
// What ranks that make a world publish: keys in PMIx's store, which the agents' lead keeps.
#pragma once
#include <string>
#include <string_view>

namespace empi {

// How all keys of one world begin. `name`: of the world, used once.
inline std::string world_port(const std::string& name) { return "empi.tasks." + name + "."; }

// Ends the key of the word that all have come. Once it is published everybody finds it who asks, whatever
// comes after: some have begun, and must not be left alone.
inline constexpr std::string_view kAllHaveCome = ".all";

}  // namespace empi
