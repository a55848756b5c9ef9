// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/io/draw/colour.hpp"

namespace io::draw {

/// Pixels; (0, 0) is the upper left corner of the picture, y points down, pixel centres are at .5.
struct Point {
  double x = 0, y = 0;
};

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

struct Pen {
  Colour colour = kBlack;
  double width = 1;  ///< pixels
  double alpha = 1;  ///< 0 invisible, 1 opaque
  double dash = 0;   ///< length of dashes and gaps, pixels; 0 for a solid line
};

enum class Align { Left, Centre, Right };

struct TextStyle {
  double size = 14;  ///< em height, pixels; capitals are .72 of it
  Colour colour = kInk;
  Align align = Align::Left;
  bool bold = false;
  bool upwards = false;  ///< rotated by 90 degrees, reading from bottom to top
  bool halo = false;     ///< white border, for text on a picture
};

/// A picture in memory with antialiased drawing. Everything is clipped to the clip box.
class Canvas {
 public:
  /// Throws std::invalid_argument unless both sizes are 1 to 20000.
  Canvas(int width, int height, Colour background = kWhite);

  int width() const { return width_; }
  int height() const { return height_; }
  Colour pixel(int x, int y) const;

  void set_clip(const Box& box) { clip_ = box; }
  void clear_clip() { clip_ = {0, 0, static_cast<double>(width_), static_cast<double>(height_)}; }

  /// Mixes `colour` into a pixel; outside the clip box nothing happens.
  void blend(int x, int y, Colour colour, double alpha);

  void fill(const Box& box, Colour colour, double alpha = 1);
  void frame(const Box& box, const Pen& pen);
  void line(Point from, Point to, const Pen& pen);
  /// One stroke: where it crosses itself it is not drawn twice. Points that are not finite interrupt it.
  void polyline(std::span<const Point> points, const Pen& pen);
  void disc(Point centre, double radius, Colour colour, double alpha = 1);

  /// `at` is the baseline's start, middle or end (Align). ASCII and the degree sign; others become '?'.
  void text(Point at, std::string_view words, const TextStyle& style = {});

  /// 8-bit RGB. Throws FileError when the file cannot be written.
  void write_png(const std::string& path) const;

 private:
  int width_, height_;
  Box clip_;
  std::vector<Colour> pixels_;
};

/// Width of text in pixels, as Canvas::text draws it.
double text_width(std::string_view words, const TextStyle& style = {});

}  // namespace io::draw
