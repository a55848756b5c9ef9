// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/solver/metric.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>

namespace swe {
namespace {

using mesh::EdgeShape;

constexpr double kRadians = std::numbers::pi / 180;

// Means over a triangle of cos(d) and sin(d) for d linear with vertex values d[0..2]: by Hermite-Genocchi the
// mean of d^k is 2 k! / (k + 2)! times the complete homogeneous symmetric polynomial h_k of the vertex
// values.
struct Means {
  double cosine = 0, sine = 0;
};
Means trigonometric_means(const double (&d)[3]) {
  const double e1 = d[0] + d[1] + d[2], e2 = d[0] * d[1] + d[0] * d[2] + d[1] * d[2], e3 = d[0] * d[1] * d[2];
  double h[3] = {1, 0, 0};  // h_k, h_(k-1), h_(k-2)
  double factorial = 2;     // (k + 2)!
  Means means;
  for (int k = 0; k < 24; ++k) {
    const double term = 2 * h[0] / factorial;
    (k % 2 == 0 ? means.cosine : means.sine) += (k / 2 % 2 == 0 ? 1 : -1) * term;
    const double next = e1 * h[0] - e2 * h[1] + e3 * h[2];
    h[2] = h[1], h[1] = h[0], h[0] = next;
    factorial *= k + 3;
  }
  return means;
}

}  // namespace

Metric::Metric(const Frame& frame, const mesh::Domain& domain, int max_level)
    : frame_(frame), max_level_(max_level) {
  const bool sphere = frame.coordinates == Coordinates::Sphere;
  if (!(frame.width > 0 && frame.height > 0))
    throw std::invalid_argument("swe: root squares of " + std::to_string(frame.width) + " x " +
                                std::to_string(frame.height) + " were asked for; both must be above 0");
  if (max_level < 0 || max_level > (sphere ? 30 : mesh::kMaxLevel))
    throw std::invalid_argument("swe: finest level " + std::to_string(max_level) + " is not in 0.." +
                                std::to_string(sphere ? 30 : mesh::kMaxLevel));
  if (sphere && (frame.south < -89.9 || frame.south + frame.height * domain.ny > 89.9))
    throw std::invalid_argument("swe: the domain reaches beyond latitude 89.9, where cells degenerate");
  unit_x_ = frame.width / mesh::kSide * (sphere ? kRadians * frame.radius : 1);
  unit_y_ = frame.height / mesh::kSide * (sphere ? kRadians * frame.radius : 1);

  row_units_ = mesh::kSide >> ((max_level + 1) / 2);
  areas_.resize(static_cast<std::size_t>(max_level + 2) * EdgeShape::directions);
  for (int level = 0; level <= max_level + 1; ++level) {
    const double planar = std::ldexp(0.5 * unit_x_ * mesh::kSide * unit_y_ * mesh::kSide, -level);
    for (int direction = 0; direction < EdgeShape::directions; ++direction) {
      // The triangle with a at the origin; its right angle lies right of ac on even levels, left on odd ones.
      const mesh::Point d = mesh::direction_vector(direction);
      const double c = d.y * 0.5 * EdgeShape::extent(level);
      const double b = c + (level % 2 == 0 ? -1 : 1) * d.x * 0.5 * EdgeShape::extent(level);
      const double middle = (2 * c + b) / 3, scale = frame.height / mesh::kSide * kRadians;
      const Means means =
          sphere ? trigonometric_means({(0 - middle) * scale, (b - middle) * scale, (2 * c - middle) * scale})
                 : Means{1, 0};
      areas_[level * EdgeShape::directions + direction] = {planar * means.cosine, planar * means.sine};
    }
  }

  const int edge_levels = max_level + 2;
  const auto classes = EdgeShape::per_level;
  for (int level = 0; level < edge_levels; ++level) {
    const std::int32_t rows = sphere ? 2 * ((domain.ny * mesh::kSide) >> extent_bits(level)) + 1 : 1;
    if (sphere) {
      edge_classes_.begin[static_cast<std::size_t>(level)] = static_cast<std::int32_t>(edges_.size());
      edge_classes_.row_bits[static_cast<std::size_t>(level)] = static_cast<std::uint8_t>(extent_bits(level));
    }
    for (std::int32_t row = 0; row < rows; ++row) {
      const double latitude =
          frame.south + 0.5 * row * (frame.height / mesh::kSide) * (1 << extent_bits(level));
      const double cosine = sphere ? std::cos(kRadians * latitude) : 1;
      for (int k = 0; k < classes; ++k) edges_.push_back(edge_metric(level, k / 2, k % 2 == 1, cosine));
    }
  }

  if (sphere) {
    const std::int32_t rows = 3 * domain.ny * (mesh::kSide / row_units_) + 1;
    for (std::int32_t row = 0; row < rows; ++row) {
      const double latitude =
          kRadians * (frame.south + row * (row_units_ / 3.0) * (frame.height / mesh::kSide));
      cos_.push_back(std::cos(latitude));
      sin_.push_back(std::sin(latitude));
    }
  }
}

EdgeMetric Metric::edge_metric(int level, int direction, bool leg_of_both, double cosine) const {
  const mesh::Point d = mesh::direction_vector(direction);
  const double dx = d.x * unit_x_ * cosine * EdgeShape::extent(level),
               dy = d.y * unit_y_ * EdgeShape::extent(level);
  const double length = std::hypot(dx, dy);
  const int cell_level = std::max(0, leg_of_both ? level - 1 : level);
  const double area = std::ldexp(0.5 * unit_x_ * cosine * mesh::kSide * unit_y_ * mesh::kSide, -cell_level);
  return {dy / length, -dx / length, length, length / area};
}

double Metric::area(mesh::Leaf leaf, const mesh::Triangle& t) const {
  return area(leaf.level(), mesh::direction_of(t.c - t.a), t.a.y + t.b.y + t.c.y);
}

std::int64_t Metric::x4(double x) const {
  return std::llround((x - frame_.west) / frame_.width * 4.0 * mesh::kSide);
}
std::int64_t Metric::y4(double y) const {
  return std::llround((y - frame_.south) / frame_.height * 4.0 * mesh::kSide);
}

}  // namespace swe
