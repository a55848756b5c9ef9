// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/solver/augmented_riemann.hpp"

#include <algorithm>
#include <cmath>

namespace swe {
namespace {

// The state between the two outer waves over a flat bed: its depth, and the speeds of the waves on its sides.
struct Middle {
  double depth, left_speed, right_speed;
};

Middle middle_state(double g, double dry, double hl, double hr, double ul, double ur) {
  const double low = std::min(hl, hr), high = std::max(hl, hr), du = ur - ul;
  const double cl = std::sqrt(g * hl), cr = std::sqrt(g * hr);
  if (low <= dry) {
    const double front = ur + ul - 2 * cr + 2 * cl;
    return {0, front, front};
  }
  const double rarefactions = du + 2 * (std::sqrt(g * low) - std::sqrt(g * high));
  const double shock = std::sqrt(0.5 * g * (high + low) / (high * low));
  const double shocks = du + (high - low) * shock;
  if (rarefactions > 0) {
    const double c = std::max(0.0, 0.25 * (2 * (cl + cr) - du));
    return {c * c / g, ul + 2 * cl - 3 * c, ur - 2 * cr + 3 * c};
  }
  if (shocks <= 0) {  // one step of Newton's method in the root of the depth
    const double gl = std::sqrt(0.5 * g * (1 / high + 1 / hl)), gr = std::sqrt(0.5 * g * (1 / high + 1 / hr));
    const double f = du + (high - hl) * gl + (high - hr) * gr;
    const double slope =
        gl - g * (high - hl) / (4 * high * high * gl) + gr - g * (high - hr) / (4 * high * high * gr);
    const double root = std::sqrt(high) - f / (2 * std::sqrt(high) * slope), h = root * root;
    const double u1 = ul - (h - hl) * std::sqrt(0.5 * g * (1 / h + 1 / hl)),
                 u2 = ur + (h - hr) * std::sqrt(0.5 * g * (1 / h + 1 / hr)), c = std::sqrt(g * h);
    return {h, u1 - c, u2 + c};
  }
  const double h = low - rarefactions * (high - low) / (shocks - rarefactions), c = std::sqrt(g * h);
  if (hl > hr) return {h, ul + 2 * cl - 3 * c, ul + 2 * cl - c};
  return {h, ur - 2 * cr + c, ur - 2 * cr + 3 * c};
}

// Whether a wall stands at the edge: water of depth h, with velocity u towards land, that even when it is
// stopped there does not reach the land's height above its bed.
bool stays_below(double g, double dry, double h, double u, double height) {
  return std::max(h, middle_state(g, dry, h, h, u, -u).depth) < height;
}

}  // namespace

EdgeFlux augmented_flux(double g, double dry, EdgeState left, EdgeState right) {
  double hl = std::max(left.eta - left.b, 0.0), hr = std::max(right.eta - right.b, 0.0);
  if (hl <= dry && hr <= dry) return {0, 0, 0, 0};
  double ul = left.normal, ur = right.normal, bl = left.b, br = right.b;
  double rise = right.eta - left.eta;  // of the surface; what follows is 0 at rest to the last bit
  bool wall_left = false, wall_right = false;
  if (hr <= dry) {
    wall_right = stays_below(g, dry, hl, ul, br - bl);
    if (wall_right)
      hr = hl, ur = -ul, br = bl, rise = 0;
    else if (left.eta < br)
      br = left.eta, rise = hr;
  } else if (hl <= dry) {
    wall_left = stays_below(g, dry, hr, -ur, bl - br);
    if (wall_left)
      hl = hr, ul = -ur, bl = br, rise = 0;
    else if (right.eta < bl)
      bl = right.eta, rise = -hl;
  }

  const double cl = std::sqrt(g * hl), cr = std::sqrt(g * hr);
  const double mean = 0.5 * (hl + hr), roe_u = (cl * ul + cr * ur) / (cl + cr), roe_c = std::sqrt(g * mean);
  const Middle middle = middle_state(g, dry, hl, hr, ul, ur);
  const double s1 = std::min(std::min(ul - cl, roe_u - roe_c), middle.right_speed);
  const double s3 = std::max(std::max(ur + cr, roe_u + roe_c), middle.left_speed);
  const double ql = hl * ul, qr = hr * ur, spread = s3 - s1;
  const double hll = std::max((ql - qr + s3 * hr - s1 * hl) / spread, 0.0);

  // The steady wave (section 4.3): what it takes from the jumps of depth and of momentum flux beyond rest's
  // -db and -g h db.
  const double db = br - bl, u = 0.5 * (ul + ur), product = u * u - g * mean;
  const double shift = std::max(0.0, ul * ur) - u * u;  // of the other mean of s1 s2
  const double critical = std::max(dry * g, 1e-6), speed = std::sqrt(critical);
  const bool sonic =
      std::abs(product) <= critical || product * (product + shift) <= critical * critical ||
      product * s1 * s3 <= critical * critical || std::min(std::abs(s1), std::abs(s3)) < speed ||
      (s1 < speed && middle.left_speed > -speed) || (s3 > -speed && middle.right_speed < speed) ||
      (ul + cl) * (ur + cr) < 0 || (ul - cl) * (ur - cr) < 0;
  double depth = sonic ? 0 : db * (u * u / product),
         momentum = sonic ? 0 : -g * mean * db * (shift / product);
  double least = -1e300, most = 1e300;
  if (s1 < -critical && s3 > critical)
    least = hll * spread / s1, most = hll * spread / s3;
  else if (s1 >= critical)
    least = -hl, most = hll * spread / s1;
  else if (s3 <= -critical)
    least = hll * spread / s3, most = hr;
  depth = std::clamp(depth, least + db, most + db);
  const double bound = 0.5 * g * std::abs(db * (hr - hl));
  momentum = std::clamp(momentum, -bound, bound);

  // Decomposition of the rest into two outer waves and one that carries momentum only.
  const double d1 = rise - depth, d2 = qr - ql;
  const double d3 = (qr * ur - ql * ul) + g * mean * rise - momentum;
  const double w1 = (s3 * d1 - d2) / spread, w3 = (d2 - s1 * d1) / spread;
  const double f1 = s1 * s1 * w1, f3 = s3 * s3 * w3, f2 = d3 - f1 - f3, s2 = 0.5 * (s1 + s3);
  EdgeFlux flux{ql, ql * ul, qr * ur, std::max(-s1, s3)};
  if (s1 < 0) flux.mass += s1 * w1;
  if (s3 < 0) flux.mass += s3 * w3;
  (s1 < 0 ? flux.left : flux.right) += s1 < 0 ? f1 : -f1;
  (s2 < 0 ? flux.left : flux.right) += s2 < 0 ? f2 : -f2;
  (s3 < 0 ? flux.left : flux.right) += s3 < 0 ? f3 : -f3;
  if (wall_left || wall_right) flux.mass = 0;
  if (wall_right) flux.right = 0;
  if (wall_left) flux.left = 0;
  return flux;
}

}  // namespace swe
