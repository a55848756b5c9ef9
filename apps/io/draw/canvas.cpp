// SPDX-License-Identifier: Apache-2.0
#include "apps/io/draw/canvas.hpp"

#include <cairo-svg.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "apps/io/file_error.hpp"

namespace io::draw {
namespace {

bool is_finite(Point p) { return std::isfinite(p.x) && std::isfinite(p.y); }

void use(cairo_t* context, Colour colour, double alpha) {
  cairo_set_source_rgba(context, colour.r, colour.g, colour.b, std::clamp(alpha, 0.0, 1.0));
}

void use(cairo_t* context, const TextStyle& style) {
  cairo_select_font_face(context, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                         style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(context, style.size);
}

double advance_of(cairo_t* context, const std::string& words) {
  cairo_text_extents_t extents;
  cairo_text_extents(context, words.c_str(), &extents);
  return extents.x_advance;
}

std::uint32_t byte_of(double value) {
  return static_cast<std::uint32_t>(std::lround(std::clamp(value, 0.0, 1.0) * 255));
}

cairo_status_t append(void* bytes, const unsigned char* data, unsigned length) {
  static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

std::string escaped(const std::string& text) {
  std::string xml;
  for (const char c : text) xml += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return xml;
}

void write_file(const std::string& path, const char* what, const std::string& bytes, cairo_status_t status) {
  if (status != CAIRO_STATUS_SUCCESS)
    throw FileError(path, "", what, cairo_status_to_string(status), "report this with the picture's size");
  write_bytes(path, bytes.data(), bytes.size());
}

}  // namespace

// --- Pixels

Pixels::Pixels(int width, int height) : width_(width), height_(height) {
  if (width < 0 || height < 0)
    throw std::invalid_argument("Pixels: " + std::to_string(width) + " x " + std::to_string(height));
  argb_.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 0);
}

void Pixels::blend(int x, int y, Colour colour, double alpha) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
  std::uint32_t& pixel = argb_[static_cast<std::size_t>(y) * width_ + x];
  const double a = std::clamp(alpha, 0.0, 1.0);
  const auto mixed = [&](int shift, double value) {
    return byte_of(value * a + ((pixel >> shift) & 255) / 255.0 * (1 - a)) << shift;
  };
  pixel = mixed(24, 1) | mixed(16, colour.r) | mixed(8, colour.g) | mixed(0, colour.b);
}

// --- Canvas

Canvas::Canvas(int width, int height, Colour background) : width_(width), height_(height) {
  if (width < 1 || height < 1 || width > 20000 || height > 20000) {
    throw std::invalid_argument("Canvas: " + std::to_string(width) + " x " + std::to_string(height) +
                                " pixels: each must be 1 to 20000");
  }
  clear_clip();
  const cairo_rectangle_t extents{0, 0, static_cast<double>(width), static_cast<double>(height)};
  drawn_.reset(cairo_recording_surface_create(CAIRO_CONTENT_COLOR, &extents));
  fill(clip_, background);
}

Canvas::Context Canvas::begin() {
  pixels_.reset();
  Context context(cairo_create(drawn_.get()));
  cairo_rectangle(context.get(), clip_.left, clip_.top, clip_.width(), clip_.height());
  cairo_clip(context.get());
  return context;
}

void Canvas::fill(const Box& box, Colour colour, double alpha) {
  const Context context = begin();
  use(context.get(), colour, alpha);
  cairo_rectangle(context.get(), box.left, box.top, box.width(), box.height());
  cairo_fill(context.get());
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
  const Context context = begin();
  use(context.get(), pen.colour, pen.alpha);
  cairo_set_line_width(context.get(), pen.width);
  cairo_set_line_join(context.get(), CAIRO_LINE_JOIN_ROUND);
  if (pen.dash > 0)
    cairo_set_dash(context.get(), &pen.dash, 1, 0);
  else
    cairo_set_line_cap(context.get(), CAIRO_LINE_CAP_ROUND);
  bool down = false;
  for (const Point& p : points) {
    if (!is_finite(p))
      down = false;
    else if (std::exchange(down, true))
      cairo_line_to(context.get(), p.x, p.y);
    else
      cairo_move_to(context.get(), p.x, p.y);
  }
  cairo_stroke(context.get());
}

void Canvas::disc(Point centre, double radius, Colour colour, double alpha) {
  if (!is_finite(centre)) return;
  const Context context = begin();
  use(context.get(), colour, alpha);
  cairo_arc(context.get(), centre.x, centre.y, radius, 0, 2 * std::numbers::pi);
  cairo_fill(context.get());
}

void Canvas::put(Point at, const Pixels& pixels) {
  const Surface image(cairo_image_surface_create(CAIRO_FORMAT_ARGB32, pixels.width(), pixels.height()));
  cairo_surface_flush(image.get());
  unsigned char* const to = cairo_image_surface_get_data(image.get());
  if (to == nullptr) return;  // of no size
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(image.get()));
  for (int y = 0; y < pixels.height(); ++y)
    std::copy_n(reinterpret_cast<const unsigned char*>(pixels.row(y)),
                static_cast<std::size_t>(pixels.width()) * 4, to + static_cast<std::size_t>(y) * stride);
  cairo_surface_mark_dirty(image.get());
  const Context context = begin();
  cairo_set_source_surface(context.get(), image.get(), at.x, at.y);
  cairo_pattern_set_filter(cairo_get_source(context.get()), CAIRO_FILTER_NEAREST);
  cairo_paint(context.get());
}

void Canvas::put(Point at, const Canvas& other) {
  const Context context = begin();
  cairo_set_source_surface(context.get(), other.drawn_.get(), at.x, at.y);
  cairo_rectangle(context.get(), at.x, at.y, other.width_, other.height_);
  cairo_fill(context.get());
}

void Canvas::text(Point at, std::string_view words, const TextStyle& style) {
  const Context context = begin();
  use(context.get(), style);
  const std::string line(words);
  const double width = advance_of(context.get(), line);
  cairo_translate(context.get(), at.x, at.y);
  if (style.upwards) cairo_rotate(context.get(), -std::numbers::pi / 2);
  const double shift = style.align == Align::Left ? 0 : style.align == Align::Centre ? width / 2 : width;
  if (style.halo) {
    cairo_move_to(context.get(), -shift, 0);
    cairo_text_path(context.get(), line.c_str());
    use(context.get(), kWhite, 0.85);
    cairo_set_line_width(context.get(), 0.3 * style.size);
    cairo_set_line_join(context.get(), CAIRO_LINE_JOIN_ROUND);
    cairo_stroke(context.get());
  }
  cairo_move_to(context.get(), -shift, 0);
  use(context.get(), style.colour, 1);
  cairo_show_text(context.get(), line.c_str());
}

double text_width(std::string_view words, const TextStyle& style) {
  const std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)> nowhere(
      cairo_recording_surface_create(CAIRO_CONTENT_COLOR, nullptr), cairo_surface_destroy);
  const std::unique_ptr<cairo_t, decltype(&cairo_destroy)> context(cairo_create(nowhere.get()),
                                                                   cairo_destroy);
  use(context.get(), style);
  return advance_of(context.get(), std::string(words));
}

// --- What becomes of it

void Canvas::draw_on(cairo_surface_t* surface) const {
  const Context context(cairo_create(surface));
  cairo_set_source_surface(context.get(), drawn_.get(), 0, 0);
  cairo_paint(context.get());
}

Canvas::Surface Canvas::as_pixels() const {
  Surface image(cairo_image_surface_create(CAIRO_FORMAT_RGB24, width_, height_));
  draw_on(image.get());
  cairo_surface_flush(image.get());
  return image;
}

Colour Canvas::pixel(int x, int y) const {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) throw std::out_of_range("Canvas::pixel");
  if (!pixels_) pixels_ = as_pixels();
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(pixels_.get()));
  std::uint32_t pixel = 0;
  std::copy_n(cairo_image_surface_get_data(pixels_.get()) + static_cast<std::size_t>(y) * stride +
                  4 * static_cast<std::size_t>(x),
              4, reinterpret_cast<unsigned char*>(&pixel));
  return {((pixel >> 16) & 255) / 255.0, ((pixel >> 8) & 255) / 255.0, (pixel & 255) / 255.0};
}

void Canvas::write_png(const std::string& path) const {
  std::string bytes;
  const Surface image = as_pixels();
  const cairo_status_t status = cairo_surface_write_to_png_stream(image.get(), append, &bytes);
  write_file(path, "to encode a PNG", bytes, status);
}

void Canvas::write_svg(const std::string& path) const {
  std::string bytes;
  const Surface page(cairo_svg_surface_create_for_stream(append, &bytes, width_, height_));
  cairo_svg_surface_set_document_unit(page.get(), CAIRO_SVG_UNIT_PX);
  draw_on(page.get());
  cairo_surface_finish(page.get());
  // The first child of the root, as SVG wants it.
  if (const std::size_t root = bytes.find("<svg"), end = bytes.find('>', root);
      !title_.empty() && root != std::string::npos && end != std::string::npos)
    bytes.insert(end + 1, "\n<title>" + escaped(title_) + "</title>");
  write_file(path, "to encode an SVG", bytes, cairo_surface_status(page.get()));
}

void Canvas::write(const std::string& path) const {
  path.ends_with(".svg") ? write_svg(path) : write_png(path);
}

void write_both(const Canvas& canvas, const std::string& png) {
  canvas.write(png);
  canvas.write(std::filesystem::path(png).replace_extension(".svg").string());
}

}  // namespace io::draw
