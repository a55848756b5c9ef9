// SPDX-License-Identifier: Apache-2.0
// What an earthquake does to the ground: the displacement by rectangular faults, in closed form (Okada 1985).
#pragma once
#include <span>
#include <string>
#include <vector>

namespace io {

/// What (lon, lat, depth) of a fault refer to; same meaning and names as GeoClaw's coordinate_specification.
enum class FaultReference {
  TopCenter,          ///< middle of the upper edge
  Centroid,           ///< middle of the plane
  BottomCenter,       ///< middle of the lower edge
  NoaaSift,           ///< (lon, lat): middle of the lower edge; depth: of the upper edge
  TopUpstrikeCorner,  ///< upper corner in the direction of strike
};

/// "top center", "centroid", "bottom center", "noaa sift", "top upstrike corner".
/// Throws std::invalid_argument that lists them.
FaultReference fault_reference(const std::string& name);

/// Rectangular fault with uniform slip. Angles and positions in degrees, lengths in metres, depth downwards.
struct Fault {
  double lon = 0, lat = 0, depth = 0;
  double strike = 0, dip = 0, rake = 0;
  double slip = 0, length = 0, width = 0;
  FaultReference reference = FaultReference::TopCenter;
  double rupture_time = 0, rise_time = 0;  ///< s after the start: when it begins to slip; how long it does
};

/// Displacement in metres.
struct Displacement {
  double east = 0, north = 0, up = 0;
  Displacement& operator+=(const Displacement& other) {
    east += other.east;
    north += other.north;
    up += other.up;
    return *this;
  }
};

/// Displacement of the free surface of an elastic half space (Poisson's ratio 0.25) by a rectangular
/// dislocation: Okada, Bull. Seism. Soc. Am. 75 (1985) 1135, equations 25 to 29. The ground is flattened
/// as GeoClaw does: one degree of latitude is 6367.5 km x pi / 180, a degree of longitude that times the
/// cosine of the point's latitude. Throws std::invalid_argument for a fault that reaches above the ground,
/// or has no area.
Displacement okada(const Fault& fault, double lon, double lat);

/// Sum over subfaults.
Displacement okada(std::span<const Fault> faults, double lon, double lat);

/// Seismic moment in N m for rigidity mu in Pa, and moment magnitude (Hanks and Kanamori 1979).
double seismic_moment(std::span<const Fault> faults, double mu = 4e10);
double moment_magnitude(std::span<const Fault> faults, double mu = 4e10);

/// Okada's own frame: x along strike from the fault's corner, y horizontal and perpendicular (up dip
/// side positive), depth of the lower edge, lengths in any one unit; slip components along strike and
/// up dip. Result in the units of slip: {along x, along y, up}. For tests against his table 2.
struct OkadaFrame {
  double x = 0, y = 0, depth = 0, dip_degrees = 0, length = 0, width = 0;
  double strike_slip = 0, dip_slip = 0;
};
struct OkadaResult {
  double ux = 0, uy = 0, uz = 0;
};
OkadaResult okada_rectangle(const OkadaFrame& frame);

}  // namespace io
