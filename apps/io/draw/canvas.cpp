// SPDX-License-Identifier: Apache-2.0
#include "apps/io/draw/canvas.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "apps/io/draw/font.hpp"

namespace io::draw {
namespace {

double distance_to_segment(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y, length2 = dx * dx + dy * dy;
  const double s = length2 > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length2, 0.0, 1.0) : 0;
  return std::hypot(p.x - a.x - s * dx, p.y - a.y - s * dy);
}

// How much of each pixel in a box a stroke covers: the most that any of its segments does.
class Coverage {
 public:
  Coverage(const Box& clip, double left, double top, double right, double bottom) {
    x0_ = static_cast<int>(std::floor(std::max(clip.left, left)));
    y0_ = static_cast<int>(std::floor(std::max(clip.top, top)));
    nx_ = std::max(0, static_cast<int>(std::ceil(std::min(clip.right, right))) - x0_);
    ny_ = std::max(0, static_cast<int>(std::ceil(std::min(clip.bottom, bottom))) - y0_);
    values_.assign(static_cast<std::size_t>(nx_) * ny_, 0.0f);
  }

  void add_segment(Point a, Point b, double width) {
    const double reach = width / 2 + 1;
    const int left = std::max(0, static_cast<int>(std::floor(std::min(a.x, b.x) - reach)) - x0_);
    const int right = std::min(nx_, static_cast<int>(std::ceil(std::max(a.x, b.x) + reach)) - x0_);
    const int top = std::max(0, static_cast<int>(std::floor(std::min(a.y, b.y) - reach)) - y0_);
    const int bottom = std::min(ny_, static_cast<int>(std::ceil(std::max(a.y, b.y) + reach)) - y0_);
    for (int y = top; y < bottom; ++y) {
      for (int x = left; x < right; ++x) {
        const double distance = distance_to_segment({x0_ + x + 0.5, y0_ + y + 0.5}, a, b);
        const double covered = std::clamp(width / 2 + 0.5 - distance, 0.0, std::min(width, 1.0));
        float& value = values_[static_cast<std::size_t>(y) * nx_ + x];
        value = std::max(value, static_cast<float>(covered));
      }
    }
  }

  void paint(Canvas& canvas, Colour colour, double alpha) const {
    for (int y = 0; y < ny_; ++y) {
      for (int x = 0; x < nx_; ++x) {
        const float value = values_[static_cast<std::size_t>(y) * nx_ + x];
        if (value > 0) canvas.blend(x0_ + x, y0_ + y, colour, alpha * value);
      }
    }
  }

 private:
  int x0_, y0_, nx_, ny_;
  std::vector<float> values_;
};

bool is_finite(Point p) { return std::isfinite(p.x) && std::isfinite(p.y); }

// Segments of a dashed or solid line; `walked` is the length so far.
template <class Segment>
void dash(Point a, Point b, double period, double& walked, Segment&& segment) {
  const double length = std::hypot(b.x - a.x, b.y - a.y);
  if (period <= 0 || length <= 0) {
    segment(a, b);
    return;
  }
  const auto at = [&](double s) {
    return Point{a.x + (b.x - a.x) * s / length, a.y + (b.y - a.y) * s / length};
  };
  for (double s = 0; s < length;) {
    const double phase = std::fmod(walked + s, 2 * period);
    const bool on = phase < period;
    const double next = std::min(length, s + std::max((on ? period : 2 * period) - phase, 1e-6 * period));
    if (on) segment(at(s), at(next));
    s = next;
  }
  walked += length;
}

double unit_of(const TextStyle& style) { return style.size * 0.72 / kCapitalHeight; }
constexpr double kTracking = 1.7;  // between letters, in font units

}  // namespace

Canvas::Canvas(int width, int height, Colour background) : width_(width), height_(height) {
  if (width < 1 || height < 1 || width > 20000 || height > 20000) {
    throw std::invalid_argument("Canvas: " + std::to_string(width) + " x " + std::to_string(height) +
                                " pixels: each must be 1 to 20000");
  }
  clear_clip();
  pixels_.assign(static_cast<std::size_t>(width) * height, background);
}

Colour Canvas::pixel(int x, int y) const { return pixels_.at(static_cast<std::size_t>(y) * width_ + x); }

void Canvas::blend(int x, int y, Colour colour, double alpha) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
  if (x + 0.5 < clip_.left || x + 0.5 > clip_.right || y + 0.5 < clip_.top || y + 0.5 > clip_.bottom) return;
  Colour& pixel = pixels_[static_cast<std::size_t>(y) * width_ + x];
  pixel = mix(pixel, colour, std::clamp(alpha, 0.0, 1.0));
}

void Canvas::fill(const Box& box, Colour colour, double alpha) {
  const int left = std::max(0, static_cast<int>(std::floor(box.left)));
  const int top = std::max(0, static_cast<int>(std::floor(box.top)));
  const int right = std::min(width_, static_cast<int>(std::ceil(box.right)));
  const int bottom = std::min(height_, static_cast<int>(std::ceil(box.bottom)));
  for (int y = top; y < bottom; ++y) {
    const double high = std::min(box.bottom, y + 1.0) - std::max(box.top, static_cast<double>(y));
    for (int x = left; x < right; ++x) {
      const double wide = std::min(box.right, x + 1.0) - std::max(box.left, static_cast<double>(x));
      blend(x, y, colour, alpha * std::max(0.0, high) * std::max(0.0, wide));
    }
  }
}

void Canvas::frame(const Box& box, const Pen& pen) {
  const Point corners[] = {{box.left, box.top},
                           {box.right, box.top},
                           {box.right, box.bottom},
                           {box.left, box.bottom},
                           {box.left, box.top}};
  polyline(corners, pen);
}

void Canvas::line(Point from, Point to, const Pen& pen) {
  const Point points[] = {from, to};
  polyline(points, pen);
}

void Canvas::polyline(std::span<const Point> points, const Pen& pen) {
  double left = std::numeric_limits<double>::infinity(), top = left, right = -left, bottom = -left;
  for (const Point& p : points) {
    if (!is_finite(p)) continue;
    left = std::min(left, p.x), right = std::max(right, p.x);
    top = std::min(top, p.y), bottom = std::max(bottom, p.y);
  }
  if (left > right) return;
  const double reach = pen.width / 2 + 1;
  Coverage coverage(clip_, left - reach, top - reach, right + reach, bottom + reach);
  double walked = 0;
  for (std::size_t k = 0; k + 1 < points.size(); ++k) {
    if (!is_finite(points[k]) || !is_finite(points[k + 1])) continue;
    dash(points[k], points[k + 1], pen.dash, walked,
         [&](Point a, Point b) { coverage.add_segment(a, b, pen.width); });
  }
  if (points.size() == 1) coverage.add_segment(points[0], points[0], pen.width);
  coverage.paint(*this, pen.colour, pen.alpha);
}

void Canvas::disc(Point centre, double radius, Colour colour, double alpha) {
  const Point points[] = {centre};
  polyline(points, {colour, 2 * radius, alpha, 0});
}

double text_width(std::string_view words, const TextStyle& style) {
  double width = 0;
  for (const Glyph* glyph : glyphs(words)) width += glyph->advance + kTracking;
  return std::max(0.0, width - kTracking) * unit_of(style);
}

void Canvas::text(Point at, std::string_view words, const TextStyle& style) {
  const double unit = unit_of(style);
  const double width = text_width(words, style);
  const double stroke = style.size * (style.bold ? 0.125 : 0.088);
  const double shift = style.align == Align::Left ? 0 : style.align == Align::Centre ? width / 2 : width;
  const auto place = [&](double along, double up) {
    return style.upwards ? Point{at.x - up, at.y - along + shift} : Point{at.x + along - shift, at.y - up};
  };
  const auto draw = [&](double pen, Colour colour, double alpha) {
    double along = 0;
    const double margin = style.size;
    const Point low = place(-margin, -margin), high = place(width + margin, 1.2 * style.size + margin);
    Coverage coverage(clip_, std::min(low.x, high.x), std::min(low.y, high.y), std::max(low.x, high.x),
                      std::max(low.y, high.y));
    for (const Glyph* glyph : glyphs(words)) {
      for (const auto& points : glyph->strokes) {
        for (std::size_t k = 0; k + 1 < points.size(); ++k) {
          coverage.add_segment(place(along + points[k].x * unit, points[k].y * unit),
                               place(along + points[k + 1].x * unit, points[k + 1].y * unit), pen);
        }
      }
      along += (glyph->advance + kTracking) * unit;
    }
    coverage.paint(*this, colour, alpha);
  };
  if (style.halo) draw(stroke + 0.3 * style.size, kWhite, 0.85);
  draw(stroke, style.colour, 1);
}

}  // namespace io::draw
