// SPDX-License-Identifier: Apache-2.0
// What checks of values have in common. Private to operator/api.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "operator/api/result.hpp"

namespace emj::checking {

using Violations = std::vector<Violation>;

std::string text(std::int64_t value);
void refuse(Violations& out, std::string field, std::string reason, std::string expected,
            std::string hint = {});
void warn(Violations& out, std::string field, std::string reason, std::string hint);

// RFC 1035.
bool is_label(const std::string& name, std::size_t longest);
std::string label_words(int longest);  // what one looks like

}  // namespace emj::checking
