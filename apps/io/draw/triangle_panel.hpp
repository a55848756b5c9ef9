// SPDX-License-Identifier: Apache-2.0
// Triangular meshes in a picture, by value or by the worker that owns a cell, and the row of those workers.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>
#include <vector>

#include "apps/io/draw/canvas.hpp"

namespace io::draw {

/// A rectangle of a picture that shows x0..x1 (left to right) and y0..y1 (bottom to top), filled with
/// triangles, antialiased by several samples per pixel.
class TrianglePanel {
 public:
  TrianglePanel(const Box& box, double x0, double x1, double y0, double y1)
      : box_(box), x0_(x0), x1_(x1), y0_(y0), y1_(y1) {
    nx_ = static_cast<int>(box.width()) * samples;
    ny_ = static_cast<int>(box.height()) * samples;
    colours_.assign(static_cast<std::size_t>(nx_) * static_cast<std::size_t>(ny_), background);
  }

  const Box& box() const { return box_; }

  /// Pixels of the picture.
  Point place(double x, double y) const {
    return {box_.left + (x - x0_) / (x1_ - x0_) * box_.width(),
            box_.bottom - (y - y0_) / (y1_ - y0_) * box_.height()};
  }

  /// Colours every sample inside the triangle with colour(distance to the nearest edge, pixels), or with
  /// colour(distance, x, y); a sample on an edge belongs to both neighbours, so that no gap is left.
  template <class Paint>
  void triangle(const float (&x)[3], const float (&y)[3], Paint&& colour) {
    Point p[3];
    for (int k = 0; k < 3; ++k) {
      const Point q = place(x[k], y[k]);
      p[k] = {(q.x - box_.left) * samples - 0.5, (q.y - box_.top) * samples - 0.5};
    }
    const double area = (p[1].x - p[0].x) * (p[2].y - p[0].y) - (p[2].x - p[0].x) * (p[1].y - p[0].y);
    if (!(std::abs(area) > 1e-12)) return;
    if (area < 0) std::swap(p[1], p[2]);
    // Signed distance to each edge's line: a x + b y + c, positive inside.
    double a[3], b[3], c[3];
    for (int k = 0; k < 3; ++k) {
      const Point u = p[k], v = p[(k + 1) % 3];
      const double length = std::hypot(v.x - u.x, v.y - u.y);
      a[k] = -(v.y - u.y) / length;
      b[k] = (v.x - u.x) / length;
      c[k] = -a[k] * u.x - b[k] * u.y;
    }
    const auto low = [](double u, double v, double w) {
      return static_cast<int>(std::ceil(std::min({u, v, w}) - 1e-6));
    };
    const auto high = [](double u, double v, double w) {
      return static_cast<int>(std::floor(std::max({u, v, w}) + 1e-6));
    };
    const int left = std::max(0, low(p[0].x, p[1].x, p[2].x)),
              right = std::min(nx_ - 1, high(p[0].x, p[1].x, p[2].x));
    const int top = std::max(0, low(p[0].y, p[1].y, p[2].y)),
              bottom = std::min(ny_ - 1, high(p[0].y, p[1].y, p[2].y));
    for (int j = top; j <= bottom; ++j)
      for (int i = left; i <= right; ++i) {
        const double distance =
            std::min({a[0] * i + b[0] * j + c[0], a[1] * i + b[1] * j + c[1], a[2] * i + b[2] * j + c[2]});
        if (distance < -1e-4) continue;
        if constexpr (std::is_invocable_v<Paint, double, double, double>)
          sample(i, j) = colour(distance / samples, x0_ + (i + 0.5) / nx_ * (x1_ - x0_),
                                y1_ - (j + 0.5) / ny_ * (y1_ - y0_));
        else
          sample(i, j) = colour(distance / samples);
      }
  }

  /// The triangle in its owner's colour on `paper`, outlined; lines of triangles below about one pixel fade
  /// into the fill. `strength`: how much of the owner's colour the inside has.
  void owned_triangle(const float (&x)[3], const float (&y)[3], int owner, Colour paper, double strength);

  /// Averages the samples of each pixel into the picture.
  void copy_to(Canvas& canvas) const;

 private:
  static constexpr int samples = 2;  // per pixel and direction
  static constexpr Colour background{0.93, 0.94, 0.95};
  Colour& sample(int i, int j) {
    return colours_[static_cast<std::size_t>(j) * static_cast<std::size_t>(nx_) +
                    static_cast<std::size_t>(i)];
  }

  Box box_;
  double x0_, x1_, y0_, y1_;
  int nx_ = 0, ny_ = 0;
  std::vector<Colour> colours_;
};

/// One square per worker in its colour, grey where it has no cells.
void draw_workers(Canvas& canvas, const Box& box, std::span<const std::size_t> cells_of);

/// 1234567 as "1,234,567".
std::string grouped(std::size_t value);

}  // namespace io::draw
