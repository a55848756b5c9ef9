// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/report/pictures.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "apps/io/draw/triangle_panel.hpp"

namespace spe10 {
namespace {

using io::draw::Align;
using io::draw::Box;
using io::draw::Canvas;
using io::draw::Colour;
using io::draw::kFaintInk;
using io::draw::kInk;
using io::draw::TrianglePanel;

// Oil brown, water blue.
Colour of_saturation(double s, const PictureOptions& options) {
  const double f = std::clamp((s - options.lowest_s) / (options.highest_s - options.lowest_s), 0.0, 1.0);
  constexpr Colour oil{0.36, 0.25, 0.15}, front{0.95, 0.86, 0.62}, water{0.10, 0.38, 0.72};
  return f < 0.35 ? mix(oil, front, f / 0.35) : mix(front, water, (f - 0.35) / 0.65);
}
constexpr double kLowestK = -2, kHighestK = 4;  // log10 mD
Colour of_permeability(double k) {
  const double f = std::clamp((std::log10(std::max(k, 1e-9)) - kLowestK) / (kHighestK - kLowestK), 0.0, 1.0);
  constexpr Colour low{0.20, 0.13, 0.35}, middle{0.25, 0.60, 0.55}, high{0.99, 0.91, 0.35};
  return f < 0.5 ? mix(low, middle, 2 * f) : mix(middle, high, 2 * f - 1);
}

struct Extent {
  double x1 = 0, y1 = 0;
};
Extent extent_of(const Snapshot& s) {
  Extent e;
  for (const auto& c : s.columns)
    for (int v = 0; v < 3; ++v) e.x1 = std::max<double>(e.x1, c.x[v]), e.y1 = std::max<double>(e.y1, c.y[v]);
  return e;
}

void bar(Canvas& canvas, const Box& box, const std::function<Colour(double)>& colour, double low, double high,
         bool logarithmic, const std::string& name) {
  for (double x = box.left; x < box.right; ++x) {
    const double value = low + (high - low) * (x + 0.5 - box.left) / box.width();
    canvas.fill({x, box.top, x + 1, box.bottom}, colour(logarithmic ? std::pow(10, value) : value));
  }
  canvas.frame(box, {kFaintInk, 1, 1, 0});
  char text[32];
  for (int k = 0; k <= 3; ++k) {
    const double value = low + (high - low) * k / 3;
    std::snprintf(text, sizeof text, "%g", logarithmic ? std::pow(10, value) : value);
    canvas.text({box.left + box.width() * k / 3, box.bottom + 17}, text,
                {.size = 12.5, .colour = kInk, .align = Align::Centre});
  }
  canvas.text({box.left, box.top - 7}, name, {.size = 13, .colour = kFaintInk});
}

void saturation_bar(Canvas& canvas, const Box& box, const PictureOptions& options) {
  bar(
      canvas, box, [&](double s) { return of_saturation(s, options); }, options.lowest_s, options.highest_s,
      false, "Water saturation");
}

void mark_wells(Canvas& canvas, const TrianglePanel& panel, const std::vector<WellMark>& wells) {
  for (const WellMark& w : wells) {
    const auto at = panel.place(w.x, w.y);
    canvas.disc(at, 5.5, io::draw::kWhite);
    canvas.disc(at, 4.2, w.injector ? Colour{0.1, 0.38, 0.72} : Colour{0.75, 0.2, 0.15});
    const bool right = at.x > panel.box().right - 40;
    canvas.text({at.x + (right ? -9 : 9), at.y + (at.y < panel.box().top + 20 ? 14 : -4)}, w.name,
                {.size = 13,
                 .colour = kInk,
                 .align = right ? Align::Right : Align::Left,
                 .bold = true,
                 .halo = true});
  }
}

std::string title(const Snapshot& s) {
  char text[128];
  std::snprintf(text, sizeof text, "Day %.4g: %s prisms on %d worker%s", s.days,
                io::draw::grouped(s.s.size()).c_str(), s.ranks, s.ranks == 1 ? "" : "s");
  return text;
}

}  // namespace

Canvas draw_layers(const Snapshot& s, const PictureOptions& options) {
  const Extent e = extent_of(s);
  const auto panels = static_cast<int>(options.layers.size()) + 1;
  const double height = 560, width = std::floor(height * e.x1 / e.y1), left = 30, gap = 26, top = 92;
  Canvas canvas(static_cast<int>(2 * left + panels * width + (panels - 1) * gap),
                static_cast<int>(top + height + 86));
  canvas.text({left, 40}, title(s), {.size = 22, .colour = kInk, .bold = true});
  const auto nz = static_cast<std::size_t>(s.nz);
  for (int n = 0; n < panels; ++n) {
    const double x = std::floor(left + n * (width + gap));
    TrianglePanel panel({x, top, x + width, top + height}, 0, e.x1, 0, e.y1);
    const bool mesh = n + 1 == panels;
    for (std::size_t i = 0; i < s.columns.size(); ++i) {
      const SnapshotColumn& c = s.columns[i];
      if (mesh) {
        panel.owned_triangle(c.x, c.y, c.owner, io::draw::kWhite, 0.52);
      } else {
        const Colour colour = of_saturation(
            s.s[i * nz + static_cast<std::size_t>(options.layers[static_cast<std::size_t>(n)])], options);
        panel.triangle(c.x, c.y, [&](double) { return colour; });
      }
    }
    panel.copy_to(canvas);
    canvas.frame(panel.box(), {kFaintInk, 1.2, 1, 0});
    mark_wells(canvas, panel, options.wells);
    const std::string name = mesh ? "Mesh by worker"
                                  : "Layer " +
                                        std::to_string(options.layers[static_cast<std::size_t>(n)] + 1) +
                                        " of " + std::to_string(s.nz);
    canvas.text({x, top - 12}, name, {.size = 15, .colour = kFaintInk});
  }
  const double below = top + height + 40;
  saturation_bar(canvas, {left, below, left + 1.6 * width, below + 12}, options);
  std::vector<std::size_t> cells_of(static_cast<std::size_t>(std::max(options.workers, 1)));
  for (const auto& c : s.columns) {
    if (static_cast<std::size_t>(c.owner) >= cells_of.size())
      cells_of.resize(static_cast<std::size_t>(c.owner) + 1);
    ++cells_of[static_cast<std::size_t>(c.owner)];
  }
  const double x = left + (panels - 1) * (width + gap);
  io::draw::draw_workers(canvas, {x, below - 10, x + width, below + 14}, cells_of);
  return canvas;
}

Canvas draw_cut(const Snapshot& s, const PictureOptions& options) {
  const Extent e = extent_of(s);
  const double left = 70, width = 1000, height = 240, top = 92, gap = 46;
  Canvas canvas(static_cast<int>(left + width + 30), static_cast<int>(top + 2 * height + gap + 92));
  char text[96];
  const double cut_y = options.cut_y.value_or(0.5 * e.y1);
  std::snprintf(text, sizeof text, ", cut at y = %.0f ft", cut_y);
  canvas.text({left, 40}, title(s) + text, {.size = 22, .colour = kInk, .bold = true});
  const auto nz = static_cast<std::size_t>(s.nz);
  // Columns that the cut crosses, as intervals of x.
  struct Crossing {
    std::size_t column;
    double from, to;
  };
  std::vector<Crossing> crossings;
  for (std::size_t i = 0; i < s.columns.size(); ++i) {
    const SnapshotColumn& c = s.columns[i];
    double from = 1e300, to = -1e300;
    for (int k = 0; k < 3; ++k) {
      const int m = (k + 1) % 3;
      const double below = c.y[k] - cut_y, above = c.y[m] - cut_y;
      if ((below < 0) == (above < 0)) continue;
      const double x = c.x[k] + (c.x[m] - c.x[k]) * below / (below - above);
      from = std::min(from, x), to = std::max(to, x);
    }
    if (to > from) crossings.push_back({i, from, to});
  }
  for (int n = 0; n < 2; ++n) {
    const double y = top + n * (height + gap);
    const Box box{left, y, left + width, y + height};
    for (const Crossing& c : crossings)
      for (std::size_t z = 0; z < nz; ++z) {
        const double x0 = left + c.from / e.x1 * width, x1 = left + c.to / e.x1 * width;
        const double y0 = y + height * static_cast<double>(z) / static_cast<double>(nz),
                     y1 = y0 + height / static_cast<double>(nz);
        const std::size_t prism = c.column * nz + z;
        canvas.fill({std::floor(x0), std::floor(y0), std::ceil(x1), std::ceil(y1)},
                    n == 0 ? of_saturation(s.s[prism], options) : of_permeability(s.k[prism]));
      }
    canvas.frame(box, {kFaintInk, 1.2, 1, 0});
    canvas.text({left, y - 8}, n == 0 ? "Water saturation" : "Horizontal permeability, mD",
                {.size = 14, .colour = kFaintInk});
    for (int k = 0; k < 2; ++k) {
      std::snprintf(text, sizeof text, "%.0f ft",
                    static_cast<double>(s.top) + k * static_cast<double>(s.dz) * s.nz);
      canvas.text({left - 6, y + 12 + k * (height - 12)}, text,
                  {.size = 12, .colour = kInk, .align = Align::Right});
    }
  }
  const double below = top + 2 * height + gap + 40;
  saturation_bar(canvas, {left, below, left + 400, below + 12}, options);
  bar(canvas, {left + 520, below, left + 920, below + 12}, of_permeability, kLowestK, kHighestK, true,
      "Permeability, mD");
  return canvas;
}

}  // namespace spe10
