// SPDX-License-Identifier: Apache-2.0
// A degree in radians and in metres, the same for the motion of floor and surface (okada.hpp, kajiura.hpp).
#pragma once
#include <numbers>

namespace io {

inline constexpr double kDegree = std::numbers::pi / 180;       // radians
inline constexpr double kMetresPerDegree = 6367.5e3 * kDegree;  // of latitude, as GeoClaw has it

}  // namespace io
