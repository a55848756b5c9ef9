// SPDX-License-Identifier: Apache-2.0
// The colours of all pictures: a few fixed ones, and those of numbers, values and heights.
#pragma once
#include <cstddef>

namespace io::draw {

/// Red, green and blue as shown (sRGB), 0 to 1.
struct Colour {
  double r = 0, g = 0, b = 0;
};

inline constexpr Colour kWhite{1, 1, 1}, kBlack{0, 0, 0}, kGrey{0.55, 0.57, 0.6};
// Of words and lines that are read, of those beside them, and of what is set against what.
inline constexpr Colour kInk{0.13, 0.15, 0.18}, kFaintInk{0.38, 0.41, 0.46}, kBlue{0.12, 0.35, 0.66},
    kRed{0.82, 0.16, 0.14};

/// fraction 0: a, 1: b.
constexpr Colour mix(Colour a, Colour b, double fraction) {
  return {a.r + (b.r - a.r) * fraction, a.g + (b.g - a.g) * fraction, a.b + (b.b - a.b) * fraction};
}

/// Distinct colours for k = 0, 1, 2, ...: twelve chosen ones, then hues by the golden angle.
Colour category(std::size_t k);

/// -1 deep blue, 0 nearly white, 1 dark red; outside clamped.
Colour diverging(double value);

/// Colour of dry land by its height in metres.
Colour land(double height);

}  // namespace io::draw
