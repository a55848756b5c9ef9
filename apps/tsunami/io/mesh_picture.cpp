#include "apps/tsunami/io/mesh_picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "apps/tsunami/io/draw/ticks.hpp"

namespace io {
namespace {

using draw::Align;
using draw::Box;
using draw::Canvas;
using draw::Colour;
using draw::Point;

constexpr int samples = 2;  // per pixel and direction
constexpr Colour ink{0.13, 0.15, 0.18}, faint_ink{0.38, 0.41, 0.46}, empty{0.93, 0.94, 0.95};

// A rectangle of the picture that shows the region, filled with `samples` x `samples` values per pixel.
class Panel {
 public:
  Panel(const Box& box, const Region& region) : box_(box), region_(region) {
    nx_ = static_cast<int>(box.width()) * samples;
    ny_ = static_cast<int>(box.height()) * samples;
    colours_.assign(static_cast<std::size_t>(nx_) * ny_, empty);
  }

  const Box& box() const { return box_; }

  Point place(double lon, double lat) const {
    return {box_.left + (lon - region_.west) / (region_.east - region_.west) * box_.width(),
            box_.bottom - (lat - region_.south) / (region_.north - region_.south) * box_.height()};
  }

  // Colours every sample inside the triangle with colour(distance to the nearest edge, pixels);
  // a sample on an edge belongs to both neighbours, so that no gap is left.
  template <class Paint>
  void triangle(const PictureCell& cell, Paint&& colour) {
    Point p[3];
    for (int k = 0; k < 3; ++k) {
      const Point q = place(cell.lon[k], cell.lat[k]);
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
    const auto low = [](double x, double y, double z) {
      return static_cast<int>(std::ceil(std::min({x, y, z}) - 1e-6));
    };
    const auto high = [](double x, double y, double z) {
      return static_cast<int>(std::floor(std::max({x, y, z}) + 1e-6));
    };
    const int left = std::max(0, low(p[0].x, p[1].x, p[2].x)),
              right = std::min(nx_ - 1, high(p[0].x, p[1].x, p[2].x));
    const int top = std::max(0, low(p[0].y, p[1].y, p[2].y)),
              bottom = std::min(ny_ - 1, high(p[0].y, p[1].y, p[2].y));
    for (int y = top; y <= bottom; ++y) {
      for (int x = left; x <= right; ++x) {
        const double distance =
            std::min({a[0] * x + b[0] * y + c[0], a[1] * x + b[1] * y + c[1], a[2] * x + b[2] * y + c[2]});
        if (distance >= -1e-4) colours_[static_cast<std::size_t>(y) * nx_ + x] = colour(distance / samples);
      }
    }
  }

  // Averages the samples of each pixel.
  void copy_to(Canvas& canvas) const {
    for (int y = 0; y < ny_ / samples; ++y) {
      for (int x = 0; x < nx_ / samples; ++x) {
        Colour sum;
        for (int s = 0; s < samples * samples; ++s) {
          const Colour& c =
              colours_[static_cast<std::size_t>(y * samples + s / samples) * nx_ + x * samples + s % samples];
          sum = {sum.r + c.r, sum.g + c.g, sum.b + c.b};
        }
        const double n = samples * samples;
        canvas.blend(static_cast<int>(box_.left) + x, static_cast<int>(box_.top) + y,
                     {sum.r / n, sum.g / n, sum.b / n}, 1);
      }
    }
  }

 private:
  Box box_;
  Region region_;
  int nx_ = 0, ny_ = 0;
  std::vector<Colour> colours_;
};

std::string degrees(double value, const char* positive, const char* negative) {
  char text[32];
  std::snprintf(text, sizeof text, "%g°%s", std::abs(value),
                value > 0   ? positive
                : value < 0 ? negative
                            : "");
  return text;
}

// 1234567 as "1,234,567".
std::string grouped(std::size_t value) {
  std::string text = std::to_string(value);
  for (std::size_t k = text.size(); k > 3; k -= 3) text.insert(k - 3, ",");
  return text;
}

// A multiple of 1, 2, 5, 10, 15, 20, 30 ... degrees.
std::vector<double> degree_ticks(double low, double high, int wanted) {
  if (high - low < 2 * wanted) return draw::nice_ticks(low, high, wanted);
  double step = 180;
  for (const double s : {2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0}) {
    if ((high - low) / s <= wanted + 0.5) {
      step = s;
      break;
    }
  }
  std::vector<double> ticks;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9; ++k) ticks.push_back(k * step);
  return ticks;
}

void draw_axes(Canvas& canvas, const Panel& panel, const Region& region) {
  const Box& box = panel.box();
  canvas.frame(box, {faint_ink, 1.2, 1, 0});
  for (const double lon : degree_ticks(region.west, region.east, 5)) {
    const Point at = panel.place(lon, region.south);
    const double shown = lon > 180 ? lon - 360 : lon;
    canvas.line({at.x, box.bottom}, {at.x, box.bottom + 5}, {faint_ink, 1, 1, 0});
    canvas.text({at.x, box.bottom + 20}, degrees(shown, "E", "W"),
                {.size = 13, .colour = ink, .align = Align::Centre});
  }
  for (const double lat : degree_ticks(region.south, region.north, 6)) {
    const Point at = panel.place(region.west, lat);
    canvas.line({box.left - 5, at.y}, {box.left, at.y}, {faint_ink, 1, 1, 0});
    canvas.text({box.left - 9, at.y + 4.5}, degrees(lat, "N", "S"),
                {.size = 13, .colour = ink, .align = Align::Right});
  }
}

void draw_gauges(Canvas& canvas, const Panel& panel, const PictureOptions& options) {
  for (const auto& gauge : options.gauges) {
    if (!options.region.contains(gauge.lon, gauge.lat)) continue;
    const Point at = panel.place(gauge.lon, gauge.lat);
    canvas.disc(at, 5.5, draw::white);
    canvas.disc(at, 4.2, ink);
    canvas.disc(at, 2.2, {0.98, 0.8, 0.2});
    canvas.text({at.x + 10, at.y + 4.5}, gauge.name, {.size = 13, .colour = ink, .bold = true, .halo = true});
  }
}

void draw_colour_bar(Canvas& canvas, const Box& box, double limit) {
  for (int x = static_cast<int>(box.left); x < static_cast<int>(box.right); ++x) {
    const double value = 2 * (x + 0.5 - box.left) / box.width() - 1;
    canvas.fill({static_cast<double>(x), box.top, x + 1.0, box.bottom}, draw::diverging(value));
  }
  canvas.frame(box, {faint_ink, 1, 1, 0});
  const auto ticks = draw::nice_ticks(-limit, limit, 5);
  const auto labels = draw::tick_labels(ticks);
  for (std::size_t k = 0; k < ticks.size(); ++k) {
    const double x = box.left + (ticks[k] / limit + 1) / 2 * box.width();
    canvas.line({x, box.bottom}, {x, box.bottom + 4}, {faint_ink, 1, 1, 0});
    canvas.text({x, box.bottom + 17}, labels[k], {.size = 12.5, .colour = ink, .align = Align::Centre});
  }
}

void draw_workers(Canvas& canvas, const Box& box, const std::vector<std::size_t>& cells_of) {
  const double n = static_cast<double>(cells_of.size());
  const double pitch = std::min(26.0, box.width() / std::max(n, 1.0)), side = pitch * 0.84;
  for (std::size_t k = 0; k < cells_of.size(); ++k) {
    const double left = box.left + static_cast<double>(k) * pitch;
    const Box square{left, box.top, left + side, box.top + side};
    const bool used = cells_of[k] > 0;
    canvas.fill(square, used ? draw::category(k) : Colour{0.86, 0.87, 0.88});
    if (side < 14) continue;
    canvas.text(
        {left + side / 2, box.top + side / 2 + 4.3}, std::to_string(k),
        {.size = 12, .colour = used ? draw::white : draw::grey, .align = Align::Centre, .bold = used});
  }
}

void paint_wave(Panel& panel, std::span<const PictureCell> cells, const PictureOptions& options) {
  for (const auto& cell : cells) {
    const Colour colour =
        cell.h < options.dry_depth ? draw::land(cell.b) : draw::diverging(cell.eta() / options.eta_limit);
    panel.triangle(cell, [&](double) { return colour; });
  }
}

void paint_mesh(Panel& panel, std::span<const PictureCell> cells, const PictureOptions& options) {
  for (const auto& cell : cells) {
    const Colour owner = draw::category(static_cast<std::size_t>(std::max(cell.owner, 0)));
    const bool dry = cell.h < options.dry_depth;
    const Colour paper = dry ? Colour{0.80, 0.79, 0.76} : draw::white;
    const Colour inside = mix(paper, owner, dry ? 0.40 : 0.52);
    const Colour outline = mix(owner, draw::black, 0.35);
    const Point p = panel.place(cell.lon[0], cell.lat[0]), q = panel.place(cell.lon[1], cell.lat[1]),
                r = panel.place(cell.lon[2], cell.lat[2]);
    const double area = std::abs((q.x - p.x) * (r.y - p.y) - (r.x - p.x) * (q.y - p.y)) / 2;
    const double around = std::hypot(q.x - p.x, q.y - p.y) + std::hypot(r.x - q.x, r.y - q.y) +
                          std::hypot(p.x - r.x, p.y - r.y);
    const double inradius = 2 * area / std::max(around, 1e-12);
    const double strength = std::clamp((inradius - 0.3) / 1.5, 0.0, 1.0) * 0.9;
    const Colour edge = mix(mix(inside, owner, 0.6), outline, strength);
    const Colour middle = mix(mix(inside, owner, 0.6), inside, std::clamp(inradius / 1.2, 0.0, 1.0));
    panel.triangle(cell, [&](double distance) { return distance < 0.4 ? edge : middle; });
  }
}

}  // namespace

Canvas draw_wave_and_mesh(std::span<const PictureCell> cells, const PictureOptions& options) {
  Canvas canvas(options.width, options.height);
  std::vector<std::size_t> cells_of(static_cast<std::size_t>(std::max(options.max_workers, 0)));
  for (const auto& cell : cells) {
    const auto owner = static_cast<std::size_t>(std::max(cell.owner, 0));
    if (owner >= cells_of.size()) cells_of.resize(owner + 1);
    ++cells_of[owner];
  }
  const auto used = std::count_if(cells_of.begin(), cells_of.end(), [](std::size_t n) { return n > 0; });

  // Both panels keep the region's proportions at its middle latitude.
  const Region& region = options.region;
  const double stretch = std::cos((region.south + region.north) / 2 * std::numbers::pi / 180);
  const double aspect = (region.east - region.west) * stretch / (region.north - region.south);
  const int panels = options.mesh_panel ? 2 : 1;
  const double top = 92, bottom_margin = 88, left_margin = 62, right_margin = 24;
  const double cell_width = static_cast<double>(options.width) / panels;
  double height = options.height - top - bottom_margin, width = cell_width - left_margin - right_margin;
  if (width / height > aspect) {
    width = std::floor(height * aspect);
  } else {
    height = std::floor(width / aspect);
  }
  const auto box_of = [&](int panel) {
    const double left =
        std::floor(panel * cell_width + left_margin + (cell_width - left_margin - right_margin - width) / 2);
    return Box{left, top, left + std::floor(width), top + std::floor(height)};
  };

  Panel wave(box_of(0), region);
  paint_wave(wave, cells, options);
  wave.copy_to(canvas);
  draw_axes(canvas, wave, region);
  draw_gauges(canvas, wave, options);
  const Box left_box = wave.box();
  canvas.text({left_box.left, 40}, options.title, {.size = 22, .colour = ink, .bold = true});
  canvas.text({left_box.left, top - 12}, "Sea surface elevation, m", {.size = 15, .colour = faint_ink});
  const double below = left_box.bottom + 34;
  draw_colour_bar(canvas, {left_box.left, below, left_box.right, below + 12}, options.eta_limit);
  if (!options.mesh_panel) return canvas;

  Panel mesh(box_of(1), region);
  paint_mesh(mesh, cells, options);
  mesh.copy_to(canvas);
  draw_axes(canvas, mesh, region);
  const Box right_box = mesh.box();
  canvas.text({right_box.left, top - 12},
              "Mesh by worker: " + grouped(cells.size()) + " cells on " + std::to_string(used) +
                  (used == 1 ? " worker" : " workers"),
              {.size = 15, .colour = faint_ink});
  draw_workers(canvas, {right_box.left, below, right_box.right, below + 24}, cells_of);
  return canvas;
}

}  // namespace io
