// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/solver/prism.hpp"

#include <cmath>
#include <utility>

namespace spe10 {

TriangleShape shape_of(const mesh::Triangle& t, const Frame& frame) {
  TriangleShape s{};
  const mesh::Point from[] = {t.a, t.b, t.a}, to[] = {t.b, t.c, t.c};
  const auto along = [&](mesh::Point p, mesh::Point q) {
    return std::pair{(q.x - p.x) * frame.unit_x, (q.y - p.y) * frame.unit_y};
  };
  const auto [ux, uy] = along(t.a, t.b);
  const auto [vx, vy] = along(t.a, t.c);
  const double turn = ux * vy - uy * vx;
  s.area = 0.5 * std::abs(turn);
  for (int f = 0; f < 3; ++f) {
    const auto [x, y] = along(from[f], to[f]);
    // (a, b, c) may run either way; its third edge is given backwards.
    const double sign = (turn > 0) == (f != 2) ? 1 : -1;
    s.nx[f] = sign * y, s.ny[f] = -sign * x;
  }
  return s;
}

double leg_transmissibility(const TriangleShape& s, int k, double dz, const Rock& rock) {
  return dz * (s.nx[k] * s.nx[k] * rock.kxx + s.ny[k] * s.ny[k] * rock.kyy) / s.area;
}

double vertical_transmissibility(const TriangleShape& s, double dz, const Rock& rock) {
  return 2 * rock.kzz * s.area / dz;
}

void transmissibility(const TriangleShape& s, double dz, const Rock& k, unsigned closed, FaceMatrix& t) {
  const double xx = k.kxx, yy = k.kyy, xy = k.kxy, xz = k.kxz, yz = k.kyz;
  double knx[3], kny[3], knz[3], trace = 0;  // K n of the triangle's edges
  for (int f = 0; f < 3; ++f) {
    knx[f] = xx * s.nx[f] + xy * s.ny[f];
    kny[f] = xy * s.nx[f] + yy * s.ny[f];
    knz[f] = xz * s.nx[f] + yz * s.ny[f];
    trace += s.nx[f] * knx[f] + s.ny[f] * kny[f];
  }
  const double spread = 16 * s.area * (xx * yy - xy * xy) / trace;
  for (int f = 0; f < 3; ++f)
    for (int g = 0; g < 3; ++g) t[f][g] = dz * ((s.nx[f] * knx[g] + s.ny[f] * kny[g]) / s.area + spread);
  for (int f = 0; f < 3; ++f) {
    t[f][kBottomFace] = t[kBottomFace][f] = knz[f];
    t[f][kTopFace] = t[kTopFace][f] = -knz[f];
  }
  t[kTopFace][kTopFace] = t[kBottomFace][kBottomFace] = vertical_transmissibility(s, dz, k);
  t[kTopFace][kBottomFace] = t[kBottomFace][kTopFace] = 0;

  for (int c = 0; c < kFaces; ++c) {
    if ((closed >> c & 1) == 0) continue;
    const double pivot = t[c][c];
    double row[kFaces];
    for (int f = 0; f < kFaces; ++f) row[f] = t[c][f];
    for (int f = 0; f < kFaces; ++f)
      for (int g = 0; g < kFaces; ++g) t[f][g] -= row[f] * row[g] / pivot;
    for (int f = 0; f < kFaces; ++f) t[f][c] = t[c][f] = 0;
  }
}

}  // namespace spe10
