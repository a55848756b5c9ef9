// SPDX-License-Identifier: Apache-2.0
// The built-in case for a user without data: an ocean off a South America whose outline one recognises, in
// the domain and with the earthquake of the 2010 Chile case. Synthetic: some ninety points of the coast set
// by hand to a tenth of a degree or so, and everything else by formula. No map, and never for comparison
// with observations.
#pragma once
#include <span>
#include <vector>

#include "apps/tsunami/io/okada.hpp"
#include "apps/tsunami/io/raster.hpp"

namespace io {

struct Place {
  double lon = 0, lat = 0;  // degrees
};

/// With p and a the distances in km to the Pacific and to the Atlantic coast, and d the smaller one,
/// elevation in metres
///   at sea: -(P a^4 + A p^4) / (a^4 + p^4), between a shelf, a trench and the ocean floor (4350 m deep)
///     P = 150 (1 - e^(-p/10)) + 4200 (1 - e^(-(p/90)^2)) + 2600 p^2/(p^2 + 30^2) e^(-((p-115)/35)^2)
///   and a wide shelf and its slope
///     A = 100 (1 - e^(-a/20)) + 4250 (1 - e^(-(a/600)^4));
///   on land: plains and the Andes, which are lower in Patagonia (latitude f)
///     250 (1 - e^(-d/40)) + 4000 (1 - e^(-(p/60)^2)) e^(-((p-230)/150)^2) (1 - e^(-(a/150)^2)) s(f)
///     s = 0.65 + 0.35 tanh((f + 40) / 4)
double analytic_ocean(double lon, double lat);

/// The outline, from north to south; both end at Cape Horn.
std::span<const Place> pacific_coast();
std::span<const Place> atlantic_coast();

/// -120..-60 degrees east, -60..0 degrees north: the domain of the 2010 Chile case.
Region chile_region();

/// analytic_ocean() on nodes 1/4 degree apart over chile_region().
Raster analytic_ocean_raster();

/// The Maule earthquake of 27 February 2010, Mw 8.8, as one subfault (USGS, as used by GeoClaw's example).
std::vector<Fault> maule_2010();

}  // namespace io
