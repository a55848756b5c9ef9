// SPDX-License-Identifier: Apache-2.0
// Water and oil: relative permeabilities, viscosities, volumes. Field units: psi, cP, lb/ft3, ft3, days.
#pragma once
#include <algorithm>
#include <cmath>

namespace spe10 {

inline constexpr double kFt3PerBbl = 5.614583;
// Darcy's law for mD, ft, cP, psi gives ft3/day with this factor.
inline constexpr double kDarcy = 0.001127 * kFt3PerBbl;
inline constexpr double kPsiPerFt = 1 / 144.0;  // of a liquid of 1 lb/ft3

// Corey curves with exponent 2 between the residual saturations; constant viscosities and compressibilities.
// Liquids are counted by their volume at the reference pressure, whatever the pressure is: so in flows, where
// they are taken for incompressible, and, by what pores can hold of them, in place. Then each liquid is kept
// exactly.
struct Fluid {
  double swc = 0.2, sor = 0.2;
  double mu_w = 0.3, mu_o = 3.0;                          // cP
  double density_w = 64 / 1.01, density_o = 53 / 1.0128;  // lb/ft3 in the reservoir
  double b_w = 1.01, b_o = 1.0128;                  // reservoir volume over surface volume, at reference
  double c_w = 3e-6, c_o = 1.37e-6, c_rock = 1e-6;  // 1/psi
  double reference = 6000;                          // psi

  double effective(double s) const { return std::clamp((s - swc) / (1 - swc - sor), 0.0, 1.0); }
  double water_mobility(double s) const {  // 1/cP
    const double e = effective(s);
    return e * e / mu_w;
  }
  double oil_mobility(double s) const {
    const double e = 1 - effective(s);
    return e * e / mu_o;
  }
  double total_mobility(double s) const { return water_mobility(s) + oil_mobility(s); }
  double fractional_flow(double s) const {
    const double w = water_mobility(s);
    return w / (w + oil_mobility(s));
  }
  // d f_w / d S.
  double fractional_slope(double s) const {
    const double e = effective(s), w = e * e / mu_w, o = (1 - e) * (1 - e) / mu_o;
    const double dw = 2 * e / mu_w, d_o = -2 * (1 - e) / mu_o;
    return (dw * o - w * d_o) / ((w + o) * (w + o)) / (1 - swc - sor);
  }
  double compressibility(double s) const { return c_rock + s * c_w + (1 - s) * c_o; }
  // Of pores that it fills at pressure p, the liquid's volume over the pores', both at reference.
  double water_held(double p) const { return std::exp((c_w + c_rock) * (p - reference)); }
  double oil_held(double p) const { return std::exp((c_o + c_rock) * (p - reference)); }
};

}  // namespace spe10
