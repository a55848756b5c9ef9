// SPDX-License-Identifier: Apache-2.0
// The augmented Riemann solver: D. L. George, "Augmented Riemann solvers for the shallow water equations over
// variable topography with steady states and inundation", J. Comput. Phys. 227 (2008) 3089-3113, as GeoClaw
// has it (without its middle entropy correction and with one iteration). The bed's step is part of the
// Riemann problem, so that it may be higher than the water is deep; steady flow over it is kept as rest is.
// Without branches, for loops over vectors: all cases are computed, and one is taken.
#pragma once
#include <algorithm>
#include <cmath>

#include "apps/tsunami/solver/branchless.hpp"

namespace swe {

struct EdgeState {
  double eta, b;  // surface and bed, m
  double normal;  // velocity from left to right, m / s; 0 where it is dry
};

// Per second and metre of edge: the mass that goes from left to right, and the momentum along the normal that
// leaves the left and that enters the right cell, less the cells' own pressure g h^2 / 2.
struct EdgeFlux {
  double mass, left, right;
  double speed;  // of the fastest wave, m / s
};

namespace augmented {

// Water on both sides, what it stands on, and how much higher the right surface is.
struct Sides {
  double hl, hr, ul, ur, bl, br, rise;
};

// The state between the two outer waves over a flat bed: its depth, and the speeds of the waves on its sides.
struct Middle {
  double depth, left_speed, right_speed;
};

// All but dry fronts.
SWE_INLINE Middle wet_middle(double g, double hl, double hr, double ul, double ur) {
  const double low = std::min(hl, hr), high = std::max(hl, hr), du = ur - ul;
  const double cl = std::sqrt(g * hl), cr = std::sqrt(g * hr);
  const double c_low = hr < hl ? cr : cl, c_high = hl < hr ? cr : cl;
  const double rarefactions = du + 2 * (c_low - c_high);
  const double shock = std::sqrt(0.5 * g * (high + low) / (high * low));
  const double shocks = du + (high - low) * shock;
  // two rarefactions
  const double c2 = std::max(0.0, 0.25 * (2 * (cl + cr) - du));
  // two shocks: one step of Newton's method in the root of the depth
  const double gl = std::sqrt(0.5 * g * (1 / high + 1 / hl)), gr = std::sqrt(0.5 * g * (1 / high + 1 / hr));
  const double f = du + (high - hl) * gl + (high - hr) * gr;
  const double slope =
      gl - g * (high - hl) / (4 * high * high * gl) + gr - g * (high - hr) / (4 * high * high * gr);
  const double start = std::sqrt(high), root = start - f / (2 * start * slope), h0 = root * root;
  const double u1 = ul - (h0 - hl) * std::sqrt(0.5 * g * (1 / h0 + 1 / hl)),
               u2 = ur + (h0 - hr) * std::sqrt(0.5 * g * (1 / h0 + 1 / hr)), c0 = std::sqrt(g * h0);
  // one of each
  const double h1 = low - rarefactions * (high - low) / (shocks - rarefactions), c1 = std::sqrt(g * h1);
  const bool falls = hl > hr;
  const double left1 = falls ? ul + 2 * cl - 3 * c1 : ur - 2 * cr + c1,
               right1 = falls ? ul + 2 * cl - c1 : ur - 2 * cr + 3 * c1;

  const bool none = rarefactions > 0, both = shocks <= 0;  // of shocks
  return {none   ? c2 * c2 / g
          : both ? h0
                 : h1,
          none   ? ul + 2 * cl - 3 * c2
          : both ? u1 - c0
                 : left1,
          none   ? ur - 2 * cr + 3 * c2
          : both ? u2 + c0
                 : right1};
}

SWE_INLINE Middle middle_state(double g, double dry, double hl, double hr, double ul, double ur) {
  const Middle wet = wet_middle(g, hl, hr, ul, ur);
  const double front = ur + ul - 2 * std::sqrt(g * hr) + 2 * std::sqrt(g * hl);
  const bool is_front = std::min(hl, hr) <= dry;
  return {is_front ? 0.0 : wet.depth, is_front ? front : wet.left_speed, is_front ? front : wet.right_speed};
}

SWE_INLINE EdgeFlux flux_between(double g, double dry, const Sides& s, const Middle& middle) {
  const double hl = s.hl, hr = s.hr, ul = s.ul, ur = s.ur;
  const double cl = std::sqrt(g * hl), cr = std::sqrt(g * hr);
  const double mean = 0.5 * (hl + hr), roe_u = (cl * ul + cr * ur) / (cl + cr), roe_c = std::sqrt(g * mean);
  const double s1 = std::min(std::min(ul - cl, roe_u - roe_c), middle.right_speed);
  const double s3 = std::max(std::max(ur + cr, roe_u + roe_c), middle.left_speed);
  const double ql = hl * ul, qr = hr * ur, spread = s3 - s1;
  const double hll = std::max((ql - qr + s3 * hr - s1 * hl) / spread, 0.0);

  // The steady wave (section 4.3): what it takes from the jumps of depth and of momentum flux beyond rest's
  // -db and -g h db.
  const double db = s.br - s.bl, u = 0.5 * (ul + ur), product = u * u - g * mean;
  const double shift = std::max(0.0, ul * ur) - u * u;  // of the other mean of s1 s2
  const double critical = std::max(dry * g, 1e-6), speed = std::sqrt(critical);
  const bool sonic =
      (std::abs(product) <= critical) | (product * (product + shift) <= critical * critical) |
      (product * s1 * s3 <= critical * critical) | (std::min(std::abs(s1), std::abs(s3)) < speed) |
      ((s1 < speed) & (middle.left_speed > -speed)) | ((s3 > -speed) & (middle.right_speed < speed)) |
      ((ul + cl) * (ur + cr) < 0) | ((ul - cl) * (ur - cr) < 0);
  const double steady_depth = sonic ? 0.0 : db * (u * u / product),
               steady_momentum = sonic ? 0.0 : -g * mean * db * (shift / product);
  const double by1 = hll * spread / s1, by3 = hll * spread / s3;
  const bool subcritical = (s1 < -critical) & (s3 > critical), rightwards = s1 >= critical,
             leftwards = s3 <= -critical;
  const double least = subcritical ? by1 : rightwards ? -hl : leftwards ? by3 : -1e300;
  const double most = subcritical ? by3 : rightwards ? by1 : leftwards ? hr : 1e300;
  const double depth = std::clamp(steady_depth, least + db, most + db);
  const double bound = 0.5 * g * std::abs(db * (hr - hl));
  const double momentum = std::clamp(steady_momentum, -bound, bound);

  // Decomposition of the rest into two outer waves and one that carries momentum only.
  const double d1 = s.rise - depth, d2 = qr - ql;
  const double d3 = (qr * ur - ql * ul) + g * mean * s.rise - momentum;
  const double w1 = (s3 * d1 - d2) / spread, w3 = (d2 - s1 * d1) / spread;
  const double f1 = s1 * s1 * w1, f3 = s3 * s3 * w3, f2 = d3 - f1 - f3, s2 = 0.5 * (s1 + s3);
  double mass = ql, left = ql * ul, right = qr * ur;
  mass = s1 < 0 ? mass + s1 * w1 : mass;
  mass = s3 < 0 ? mass + s3 * w3 : mass;
  const auto pass_on = [&](double velocity, double force) __attribute__((always_inline)) {
    const bool to_left = velocity < 0;
    left = to_left ? left + force : left, right = to_left ? right : right - force;
  };
  pass_on(s1, f1), pass_on(s2, f2), pass_on(s3, f3);
  return {mass, left, right, std::max(-s1, s3)};
}

}  // namespace augmented

// Between wet sides: both deeper than what counts as dry.
SWE_INLINE EdgeFlux wet_flux(double g, double dry, const EdgeState& left, const EdgeState& right) {
  const augmented::Sides s{left.eta - left.b, right.eta - right.b, left.normal, right.normal, left.b,
                           right.b,           right.eta - left.eta};  // 0 at rest, exactly
  return augmented::flux_between(g, dry, s, augmented::wet_middle(g, s.hl, s.hr, s.ul, s.ur));
}

// Between any: water thinner than `dry` does not move, but is a shore that the other side's may reach.
SWE_INLINE EdgeFlux shore_flux(double g, double dry, const EdgeState& left, const EdgeState& right) {
  const double hl = std::max(left.eta - left.b, 0.0), hr = std::max(right.eta - right.b, 0.0);
  const double ul = left.normal, ur = right.normal, bl = left.b, br = right.b;
  const bool left_dry = hl <= dry, right_dry = hr <= dry, shore = left_dry != right_dry;
  // A wall stands there if the water, even when it is stopped, does not reach the land's height above its
  // bed.
  const double h = right_dry ? hl : hr, u = right_dry ? ul : -ur, height = right_dry ? br - bl : bl - br;
  const bool below = std::max(h, augmented::middle_state(g, dry, h, h, u, -u).depth) < height;
  const bool wall_right = shore & right_dry & below, wall_left = shore & left_dry & below,
             cut_right = shore & right_dry & !below & (left.eta < br),
             cut_left = shore & left_dry & !below & (right.eta < bl);
  const double rise = right.eta - left.eta;
  const augmented::Sides s{wall_left ? hr : hl,
                           wall_right ? hl : hr,
                           wall_left ? -ur : ul,
                           wall_right ? -ul : ur,
                           wall_left  ? br
                           : cut_left ? right.eta
                                      : bl,
                           wall_right  ? bl
                           : cut_right ? left.eta
                                       : br,
                           wall_left | wall_right ? 0.0
                           : cut_right            ? hr
                           : cut_left             ? -hl
                                                  : rise};
  const EdgeFlux f =
      augmented::flux_between(g, dry, s, augmented::middle_state(g, dry, s.hl, s.hr, s.ul, s.ur));
  const bool no_flow = left_dry & right_dry;
  return {no_flow | wall_left | wall_right ? 0.0 : f.mass, no_flow | wall_left ? 0.0 : f.left,
          no_flow | wall_right ? 0.0 : f.right, no_flow ? 0.0 : f.speed};
}

}  // namespace swe
