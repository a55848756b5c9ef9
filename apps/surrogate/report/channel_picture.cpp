// SPDX-License-Identifier: Apache-2.0
// The channel: flow and obstacles above, what the posterior says about it below.
#include <algorithm>
#include <cmath>

#include "apps/surrogate/report/pictures.hpp"

namespace surrogate {
namespace {

using io::draw::Align;
using io::draw::Box;
using io::draw::Canvas;
using io::draw::Colour;
using io::draw::kBlue;
using io::draw::kFaintInk;
using io::draw::kInk;
using io::draw::kRed;
using io::draw::mix;
using io::draw::Point;

constexpr Colour kStill{0.93, 0.95, 0.98}, kFast{0.06, 0.24, 0.45};
constexpr double kScale = 130;  // pixels per metre

// Metres to pixels of a drawing of the channel whose upper left corner is (left, top).
struct Frame {
  Box box;
  double height;
  Point operator()(double x, double y) const {
    return {box.left + x * kScale, box.top + (height - y) * kScale};
  }
};

Frame frame_at(const flow::ChannelCase& c, double left, double top) {
  return {{left, top, left + c.length * kScale, top + c.height * kScale}, c.height};
}

void outline(Canvas& canvas, const Frame& frame, const flow::ChannelCase::Obstacle& o, double x, double y,
             Colour colour, double dash) {
  const Point a = frame(x - o.width / 2, y + o.height / 2), b = frame(x + o.width / 2, y - o.height / 2);
  canvas.line({a.x, a.y}, {b.x, a.y}, {colour, 2.2, 1, dash});
  canvas.line({b.x, a.y}, {b.x, b.y}, {colour, 2.2, 1, dash});
  canvas.line({b.x, b.y}, {a.x, b.y}, {colour, 2.2, 1, dash});
  canvas.line({a.x, b.y}, {a.x, a.y}, {colour, 2.2, 1, dash});
}

// shade(colour to mix in, x, y): of each pixel, at these metres.
template <class Shade>
void shade_pixels(Canvas& canvas, const Frame& frame, Shade&& shade) {
  io::draw::Pixels pixels(static_cast<int>(frame.box.width()), static_cast<int>(frame.box.height()));
  for (int y = 0; y < pixels.height(); ++y)
    for (int x = 0; x < pixels.width(); ++x)
      shade([&](Colour colour, double alpha) { pixels.blend(x, y, colour, alpha); }, (x + 0.5) / kScale,
            frame.height - (y + 0.5) / kScale);
  canvas.put({frame.box.left, frame.box.top}, pixels);
}

void draw_flow(Canvas& canvas, const Frame& frame, const flow::Flow& flow) {
  double fastest = 0;
  for (int i = 0; i < flow.box().nx; ++i)
    for (int j = 0; j < flow.box().ny; ++j)
      fastest = std::max(fastest, std::hypot(flow.u(i, j), flow.v(i, j)));
  shade_pixels(canvas, frame, [&](const auto& blend, double x, double y) {
    const double speed = std::hypot(flow.u_at(x, y), flow.v_at(x, y));
    blend(mix(kStill, kFast, std::min(1.0, speed / fastest)), 1);
  });
  // The key: speed by colour.
  const double right = frame.box.right, top = frame.box.top - 26;
  for (int k = 0; k < 160; ++k)
    canvas.fill({right - 160 + k, top, right - 159 + k, top + 12}, mix(kStill, kFast, k / 160.0), 1);
  char text[32];
  std::snprintf(text, sizeof text, "%.1f m/s", fastest);
  canvas.text({right, top - 4}, text, {.size = 13, .colour = kFaintInk, .align = Align::Right});
  canvas.text({right - 160, top - 4}, "0", {.size = 13, .colour = kFaintInk});
}

// Share of the samples whose obstacles cover a place, on a raster of 2 pixels.
std::vector<double> occupancy(const flow::ChannelCase& c, const std::vector<Marginal>& marginals, int columns,
                              int rows) {
  std::vector<double> cover(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows), 0.0);
  for (std::size_t o = 0; o < c.obstacles.size(); ++o) {
    const auto xs = marginals[2 * o].pooled(), ys = marginals[2 * o + 1].pooled();
    const std::size_t stride = std::max<std::size_t>(1, xs.size() / 2000);
    const double weight = 1 / std::ceil(static_cast<double>(xs.size()) / static_cast<double>(stride));
    for (std::size_t s = 0; s < xs.size(); s += stride) {
      const auto column = [&](double x) {
        return std::clamp(static_cast<int>(std::lround(x / c.length * columns)), 0, columns);
      };
      const auto row = [&](double y) {
        return std::clamp(static_cast<int>(std::lround(y / c.height * rows)), 0, rows);
      };
      const double w = c.obstacles[o].width / 2, h = c.obstacles[o].height / 2;
      for (int j = row(ys[s] - h); j < row(ys[s] + h); ++j)
        for (int i = column(xs[s] - w); i < column(xs[s] + w); ++i)
          cover[static_cast<std::size_t>(j) * static_cast<std::size_t>(columns) +
                static_cast<std::size_t>(i)] += weight;
    }
  }
  return cover;
}

void draw_posterior(Canvas& canvas, const Frame& frame, const flow::ChannelCase& c,
                    const std::vector<Marginal>& marginals) {
  const int columns = static_cast<int>(frame.box.width()) / 2,
            rows = static_cast<int>(frame.box.height()) / 2;
  const auto cover = occupancy(c, marginals, columns, rows);
  shade_pixels(canvas, frame, [&](const auto& blend, double x, double y) {
    const int i = std::clamp(static_cast<int>(x / c.length * columns), 0, columns - 1);
    const int j = std::clamp(static_cast<int>(y / c.height * rows), 0, rows - 1);
    const double p =
        cover[static_cast<std::size_t>(j) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(i)];
    blend(Colour{0.35, 0.37, 0.4}, 0.75 * std::min(1.0, p));
  });
  for (std::size_t o = 0; o < c.obstacles.size(); ++o) {
    const auto& obstacle = c.obstacles[o];
    const Density d = density_of(marginals[2 * o].pooled(), marginals[2 * o + 1].pooled(),
                                 {obstacle.x.low, obstacle.x.high}, {obstacle.y.low, obstacle.y.high}, 120);
    shade_pixels(canvas, frame, [&](const auto& blend, double x, double y) {
      const int i = static_cast<int>((x - d.x.low) / (d.x.high - d.x.low) * d.size);
      const int j = static_cast<int>((y - d.y.low) / (d.y.high - d.y.low) * d.size);
      if (x < d.x.low || y < d.y.low || i >= d.size || j >= d.size) return;
      if (d.at(i, j) >= d.level90) blend(kBlue, d.at(i, j) >= d.level50 ? 0.9 : 0.5);
    });
    const Point a = frame(obstacle.x.low, obstacle.y.high), b = frame(obstacle.x.high, obstacle.y.low);
    canvas.frame({a.x, a.y, b.x, b.y}, {kFaintInk, 1, 0.7, 3});
  }
}

}  // namespace

Canvas draw_channel(flow::Channel& channel, const std::vector<Marginal>& marginals) {
  const flow::ChannelCase& c = channel.of();
  Canvas canvas(static_cast<int>(c.length * kScale) + 80, static_cast<int>(2 * c.height * kScale) + 210);
  canvas.text({40, 40}, "Four obstacles, found from ten sensors", {.size = 22, .colour = kInk, .bold = true});
  std::vector<double> centres, outputs(static_cast<std::size_t>(c.outputs()));
  bool known = true;
  for (const Marginal& m : marginals) {
    known = known && m.truth.has_value();
    centres.push_back(m.truth.value_or(m.mean));
  }
  channel.run(centres, outputs);
  const Frame above = frame_at(c, 40, 96), below = frame_at(c, 40, 96 + c.height * kScale + 60);
  canvas.text({40, 84},
              std::string("Flow around ") + (known ? "the true obstacles" : "the mean of the posterior") +
                  " (red), and the sensors (white)",
              {.size = 15, .colour = kFaintInk});
  draw_flow(canvas, above, channel.flow());
  for (const flow::Place& s : c.sensors) {
    canvas.disc(above(s.x, s.y), 7, kInk);
    canvas.disc(above(s.x, s.y), 5, io::draw::kWhite);
  }
  canvas.text({40, below.box.top - 14},
              "Posterior: grey, the probability of being inside of an obstacle; blue, where their centres "
              "are with 50 and 90 %; red, the true ones; dashed, the prior",
              {.size = 15, .colour = kFaintInk});
  draw_posterior(canvas, below, c, marginals);
  for (const Frame* frame : {&above, &below}) {
    canvas.frame(frame->box, {kInk, 1.5, 1, 0});
    for (std::size_t o = 0; o < c.obstacles.size(); ++o) {
      outline(canvas, *frame, c.obstacles[o], centres[2 * o], centres[2 * o + 1], kRed, known ? 0 : 6);
      if (known) canvas.disc((*frame)(centres[2 * o], centres[2 * o + 1]), 3, kRed);
    }
  }
  for (int x = 0; x <= static_cast<int>(c.length); x += 2)
    canvas.text({below(x, 0).x, below.box.bottom + 20}, std::to_string(x) + " m",
                {.size = 13, .colour = kInk, .align = Align::Centre});
  return canvas;
}

}  // namespace surrogate
