// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

#include "apps/io/draw/canvas.hpp"

namespace io::draw {

/// Letters as strokes of a pen, so that they can be drawn at any size and angle. Units: capitals are 14
/// high, small letters 10; the baseline is y = 0, y points up.
struct Glyph {
  double advance = 0;
  std::vector<std::vector<Point>> strokes;
};

inline constexpr double kCapitalHeight = 14;

/// The glyphs of a UTF-8 text: ASCII and the degree sign, '?' for anything else.
std::vector<const Glyph*> glyphs(std::string_view words);

}  // namespace io::draw
