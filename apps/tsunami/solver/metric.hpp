// SPDX-License-Identifier: Apache-2.0
// Lengths, normals and areas of the mesh in metres, on a plane or on the sphere.
#pragma once
#include <cstdint>
#include <vector>

#include "apps/mesh/leaf.hpp"
#include "apps/mesh/topology.hpp"

namespace swe {

enum class Coordinates { Plane, Sphere };

// Places the mesh: the domain's south-west corner and the sides of one root square, in metres (plane) or
// degrees of longitude and latitude (sphere).
struct Frame {
  Coordinates coordinates = Coordinates::Plane;
  double west = 0, south = 0;
  double width = 1, height = 1;
  double radius = 6367.5e3;  // of the sphere, metres
};

struct EdgeMetric {
  double nx, ny;  // unit normal from the left to the right cell (east, north)
  double length;  // metres
  double rate;    // length / area of the smaller of the two cells, 1 / metre
};

// On the sphere an edge takes the cosine of latitude at its mid point; a cell's area is the exact integral of
// cos(latitude) over the triangle, so areas of children add up to their parent's to rounding. Momentum is
// (east, north); the curvature terms of the advection, of order u tan(latitude) / radius, are left out: below
// 1e-6 of the pressure gradient for tsunamis in the ocean.
class Metric {
 public:
  // Cells up to max_level are covered.
  Metric(const Frame& frame, const mesh::Domain& domain, int max_level);

  const Frame& frame() const { return frame_; }
  int max_level() const { return max_level_; }

  double x(double units) const { return frame_.west + units * (frame_.width / mesh::kSide); }
  double y(double units) const { return frame_.south + units * (frame_.height / mesh::kSide); }
  // Of a triangle's centroid.
  struct Place {
    double x, y;
  };
  Place centroid(const mesh::Triangle& t) const {
    return {x((static_cast<double>(t.a.x) + t.b.x + t.c.x) / 3),
            y((static_cast<double>(t.a.y) + t.b.y + t.c.y) / 3)};
  }
  // Inverse of x() and y(), in quarter units for mesh::Domain::locate.
  std::int64_t x4(double x) const;
  std::int64_t y4(double y) const;

  const EdgeMetric* edge_table() const { return edges_.data(); }
  // Where in it edges are.
  const mesh::EdgeClasses& edge_classes() const { return edge_classes_; }

  // Square metres. direction: mesh::direction_of(c - a); y_sum: of the three vertices, units.
  double area(int level, int direction, std::int32_t y_sum) const {
    const LevelArea& a = areas_[level * mesh::EdgeShape::directions + direction];
    if (frame_.coordinates == Coordinates::Plane) return a.even;
    const std::int32_t row = y_sum / row_units_;
    return a.even * cos_[row] - a.odd * sin_[row];
  }
  double area(mesh::Leaf leaf, const mesh::Triangle& triangle) const;

  // Sine of the latitude of a cell's centroid; 0 on the plane. y_sum: of the three vertices, units.
  double sine(std::int32_t y_sum) const {
    return frame_.coordinates == Coordinates::Plane ? 0 : sin_[y_sum / row_units_];
  }

 private:
  struct LevelArea {
    double even,
        odd;  // planar area times the mean of cos and of sin of the latitude relative to the centroid
  };
  static int extent_bits(int level) { return 20 - level / 2; }
  EdgeMetric edge_metric(int level, int direction, bool leg_of_both, double cosine) const;

  Frame frame_;
  int max_level_;
  double unit_x_, unit_y_;  // metres per unit (at the equator)
  std::vector<EdgeMetric> edges_;
  mesh::EdgeClasses edge_classes_ = mesh::EdgeClasses::without_rows();
  std::vector<LevelArea> areas_;
  std::int32_t row_units_ = 1;
  std::vector<double> cos_, sin_;
};

}  // namespace swe
