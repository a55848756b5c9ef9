// SPDX-License-Identifier: Apache-2.0
// Pictures, drawn by Cairo and written as PNG or SVG: what charts and maps are drawn on. Lengths are pixels.
#pragma once
#include <cairo.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
  double size = 14;  ///< em height, pixels
  Colour colour = kInk;
  Align align = Align::Left;
  bool bold = false;
  bool upwards = false;  ///< rotated by 90 degrees, reading from bottom to top
  bool halo = false;     ///< white border, for text on a picture
};

/// Colours of single pixels, to be put into a picture; all are transparent at first.
class Pixels {
 public:
  /// Throws std::invalid_argument when a size is negative.
  Pixels(int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }
  /// Mixes `colour` into what is there.
  void blend(int x, int y, Colour colour, double alpha = 1);
  const std::uint32_t* row(int y) const { return argb_.data() + static_cast<std::size_t>(y) * width_; }

 private:
  int width_, height_;
  std::vector<std::uint32_t> argb_;  // as Cairo has them: colours are multiplied by alpha
};

/// A picture. It is kept as what was drawn, and becomes pixels or lines when it is written. Everything is
/// clipped to the clip box. To be moved, not copied.
class Canvas {
 public:
  /// Throws std::invalid_argument unless both sizes are 1 to 20000.
  Canvas(int width, int height, Colour background = kWhite);

  int width() const { return width_; }
  int height() const { return height_; }
  /// As a PNG would have it. The first call after something was drawn makes all pixels.
  Colour pixel(int x, int y) const;

  void set_clip(const Box& box) { clip_ = box; }
  void clear_clip() { clip_ = {0, 0, static_cast<double>(width_), static_cast<double>(height_)}; }

  void fill(const Box& box, Colour colour, double alpha = 1);
  void frame(const Box& box, const Pen& pen);
  void line(Point from, Point to, const Pen& pen);
  /// One stroke: where it crosses itself it is not drawn twice. Points that are not finite interrupt it.
  void polyline(std::span<const Point> points, const Pen& pen);
  void disc(Point centre, double radius, Colour colour, double alpha = 1);
  /// Upper left corners; pixel for pixel.
  void put(Point at, const Pixels& pixels);
  void put(Point at, const Canvas& other);

  /// `at` is the baseline's start, middle or end (Align). UTF-8.
  void text(Point at, std::string_view words, const TextStyle& style = {});

  /// 8-bit RGB. Throws FileError when the file cannot be written.
  void write_png(const std::string& path) const;
  /// Lines and letters as such, at any size; what is put pixel for pixel is an image inside. Throws FileError
  /// when the file cannot be written.
  void write_svg(const std::string& path) const;
  /// One of the two: an SVG where the file's name ends with .svg.
  void write(const std::string& path) const;
  /// What an SVG is about, in words: its letters are outlines, which nobody can search or read aloud.
  void name(std::string title) { title_ = std::move(title); }

 private:
  struct Release {
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
    void operator()(cairo_t* context) const { cairo_destroy(context); }
  };
  using Surface = std::unique_ptr<cairo_surface_t, Release>;
  using Context = std::unique_ptr<cairo_t, Release>;

  Context begin();  // to draw something that is clipped
  void draw_on(cairo_surface_t* surface) const;
  Surface as_pixels() const;

  int width_, height_;
  Box clip_;
  std::string title_;
  Surface drawn_;
  mutable Surface pixels_;  // of what was drawn when they were asked for
};

/// Width of text in pixels, as Canvas::text draws it.
double text_width(std::string_view words, const TextStyle& style = {});

/// A PNG, and beside it, for documents, an SVG of the same name. Throws FileError.
void write_both(const Canvas& canvas, const std::string& png);

}  // namespace io::draw
