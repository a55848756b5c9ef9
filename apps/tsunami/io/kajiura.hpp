// SPDX-License-Identifier: Apache-2.0
// What a motion of the sea floor does to the surface: water follows what is wide beside its depth, and
// smooths what is not.
#pragma once
#include <functional>

#include "apps/tsunami/io/raster.hpp"

namespace io {

/// The surface (m) of a sea at rest whose floor has moved at once by `uplift` (m): it follows a wave of
/// number k by the part 1 / cosh(k depth). Kajiura, Bull. Earthquake Res. Inst. 41 (1963) 535: each node's
/// volume is spread by the Green's function of linear waves, here with the depth at that node. All of it
/// stays, in the sea; land moves as it does. `floor(lon, lat)`: m, upwards, before the motion. The result
/// reaches as far beyond `uplift` as the deepest water spreads it. Serial: a second for 200 x 200 nodes 2'
/// apart.
Raster kajiura(const Raster& uplift, const std::function<double(double, double)>& floor);

/// The Green's function at a distance of `r` depths, times depth^2: what it integrates to over the plane
/// is 1.
double kajiura_kernel(double r);

}  // namespace io
