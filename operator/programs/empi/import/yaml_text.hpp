// SPDX-License-Identifier: Apache-2.0
// JSON as YAML for people: import.cpp writes the manifest that a user goes on with.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace emj::cli {

// As a person would write it, a field a line, texts in quotes where YAML would read them as something else.
std::string yaml_text(const nlohmann::json& object);

}  // namespace emj::cli
