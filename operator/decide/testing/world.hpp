// SPDX-License-Identifier: Apache-2.0
// The model of a cluster and of the runtime that simulations run on, for tests of decide().
#pragma once
#include <string>

#include "operator/api/parse.hpp"
#include "operator/decide/decide.hpp"
#include "operator/decide/world.hpp"

namespace emj::testing_world {

using simulate::Lead;
using simulate::World;

ElasticMPIJob make_job(const std::string& spec = "", int min = 1, int max = 8,
                       const std::string& worker = "");

// Condition ResizePending as "Reason: message", empty while it is not True.
std::string pending(const World& world);

}  // namespace emj::testing_world
