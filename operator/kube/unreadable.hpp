// SPDX-License-Identifier: Apache-2.0
// What is written into an object that cannot be read: that, and nothing else of it is touched. Whoever can
// read it goes on from the rest. Pure but for the time of day.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace emj::manager {

// `object` with this condition False in its status; nothing where it says so already.
std::optional<nlohmann::json> with_false_condition(const nlohmann::json& object, const std::string& type,
                                                   const std::string& reason, const std::string& message);

}  // namespace emj::manager
