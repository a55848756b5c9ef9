#pragma once
#include <vector>

#include "apps/tsunami/io/okada.hpp"
#include "apps/tsunami/io/raster.hpp"

namespace io {

/// The built-in case for a user without data: a smooth ocean off a smooth South America, in the domain and
/// with the earthquake of the 2010 Chile case. Not a map: for demonstrations, never for comparison with
/// observations.
///
/// Coast, degrees of longitude:
///   c(lat) = -70.5 - 4 exp(-((lat + 47) / 12)^2) - 5.25 (1 + tanh((lat + 11) / 6))
/// Distance offshore d = (c(lat) - lon) cos(lat) 111.134 km, positive at sea. Elevation in metres:
///   d >= 0: -[150 (1 - e^(-d/10)) + 4200 (1 - e^(-(d/90)^2)) + 2600 d^2/(d^2 + 30^2) e^(-((d-115)/35)^2)]
///           shelf, ocean floor (4350 m deep) and trench
///   d <  0:  200 (1 - e^(d/15)) + 3800 (1 - e^(-(d/150)^2))       coastal plain and mountains
double analytic_ocean(double lon, double lat);

/// -120..-60 degrees east, -60..0 degrees north: the domain of the 2010 Chile case.
Region chile_region();

/// analytic_ocean() on nodes 1/6 degree apart over chile_region().
Raster analytic_ocean_raster();

/// The Maule earthquake of 27 February 2010, Mw 8.8, as one subfault (USGS, as used by GeoClaw's example).
std::vector<Fault> maule_2010();

}  // namespace io
