// SPDX-License-Identifier: Apache-2.0
// Options that are more than a word or a number: text to values. All throw empi::options::Refused, with the
// option's name and what it should be. Pure.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "apps/tsunami/app/options.hpp"

namespace tsunami {

/// WEST:EAST:SOUTH:NORTH:LEVEL[:FROM-UNTIL]
RegionOption parse_region(const std::string& text);

/// ID:LON:LAT[:FILE[:BEGIN-END]]
GaugeOption parse_gauge(const std::string& text);

/// N, or FILE[:N]
ManningOption parse_manning(const std::string& text);

/// [SIDE:]open, [SIDE:]wall, [SIDE:]sponge:KM, [SIDE:]wave:FILE. Without a SIDE it is for all that no other
/// names; `walls`: these are walls. Each side is named once at most.
std::array<BorderOption, 4> parse_borders(const std::vector<std::string>& texts, bool walls);

}  // namespace tsunami
