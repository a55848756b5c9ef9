// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/report/pictures.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "apps/io/draw/ticks.hpp"

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
using io::draw::Point;

constexpr Colour kLine{0.8, 0.82, 0.85};

double at(Range range, double value) { return (value - range.low) / (range.high - range.low); }

void title(Canvas& canvas, const std::string& words, const std::string& below) {
  canvas.text({40, 42}, words, {.size = 22, .colour = kInk, .bold = true});
  canvas.text({40, 68}, below, {.size = 15, .colour = kFaintInk});
}

// About `wanted`, and two at least: one alone gives no scale.
std::vector<double> ticks_of(Range range, int wanted) {
  std::vector<double> ticks;
  for (int more = 0; ticks.size() < 2 && more < 4; ++more)
    ticks = io::draw::nice_ticks(range.low, range.high, wanted + more);
  return ticks;
}

void x_labels(Canvas& canvas, const Box& box, Range range, int wanted, double size) {
  const auto ticks = ticks_of(range, wanted);
  const auto labels = io::draw::tick_labels(ticks);
  for (std::size_t k = 0; k < ticks.size(); ++k) {
    const double x = box.left + at(range, ticks[k]) * box.width();
    canvas.line({x, box.bottom}, {x, box.bottom + 4}, {kFaintInk, 1, 1, 0});
    canvas.text({x, box.bottom + 6 + size}, labels[k],
                {.size = size, .colour = kInk, .align = Align::Centre});
  }
}

void bars(Canvas& canvas, const Box& box, const std::vector<double>& shares) {
  const double highest = *std::ranges::max_element(shares),
               width = box.width() / static_cast<double>(shares.size());
  for (std::size_t k = 0; k < shares.size(); ++k) {
    const double left = box.left + static_cast<double>(k) * width;
    canvas.fill({left, box.bottom - shares[k] / highest * box.height() * 0.95, left + width, box.bottom},
                kBlue, 0.75);
  }
}

void vertical(Canvas& canvas, const Box& box, Range range, double value, Colour colour, double dash) {
  const double x = box.left + at(range, value) * box.width();
  if (x >= box.left && x <= box.right) canvas.line({x, box.top}, {x, box.bottom}, {colour, 2, 1, dash});
}

// Where the samples are, the truth and some air around them.
Range zoomed(const Marginal& m) {
  const auto all = m.pooled();
  auto [low, high] = std::ranges::minmax(all);
  if (m.truth) low = std::min(low, *m.truth), high = std::max(high, *m.truth);
  const double air = 0.05 * (high - low) + 1e-9 * (m.range.high - m.range.low);
  return {std::max(m.range.low, low - air), std::min(m.range.high, high + air)};
}

// Two tones: the regions of 50 and 90 %.
void regions(Canvas& canvas, const Box& box, const Density& d) {
  io::draw::Pixels pixels(static_cast<int>(box.width()), static_cast<int>(box.height()));
  for (int y = 0; y < pixels.height(); ++y)
    for (int x = 0; x < pixels.width(); ++x) {
      const int column = std::clamp(static_cast<int>((x + 0.5) / box.width() * d.size), 0, d.size - 1);
      const int row = std::clamp(static_cast<int>((1 - (y + 0.5) / box.height()) * d.size), 0, d.size - 1);
      const double value = d.at(column, row);
      if (value >= d.level50)
        pixels.blend(x, y, kBlue, 0.85);
      else if (value >= d.level90)
        pixels.blend(x, y, kBlue, 0.4);
    }
  canvas.put({box.left, box.top}, pixels);
}

}  // namespace

std::string value_text(double value, Range range) {
  const double largest = std::max(std::abs(range.low), std::abs(range.high)), width = range.high - range.low;
  const double needed = width > 0 ? std::ceil(std::floor(std::log10(largest)) + 3 - std::log10(width)) : 4;
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", static_cast<int>(std::clamp(needed, 4.0, 17.0)), value);
  return text;
}

std::vector<double> Marginal::pooled() const {
  std::vector<double> all;
  for (const auto& of : samples) all.insert(all.end(), of.begin(), of.end());
  return all;
}

Canvas draw_marginals(const std::vector<Marginal>& marginals) {
  const int columns = std::min<int>(4, static_cast<int>(marginals.size()));
  const int rows = (static_cast<int>(marginals.size()) + columns - 1) / columns;
  Canvas canvas(40 + columns * 330, 110 + rows * 260);
  title(canvas, "Marginals of the posterior",
        "over the range of the prior; red: the true value, grey: 90 % of the samples");
  for (std::size_t k = 0; k < marginals.size(); ++k) {
    const Marginal& m = marginals[k];
    const int place = static_cast<int>(k), row = place / columns;
    const double left = 40 + 330.0 * (place % columns);
    const double top = 130 + 260.0 * row;
    const Box box{left, top, left + 290, top + 170};
    canvas.text({left, top - 10},
                m.name + " = " + m.text(m.mean) + " (" + m.text(m.low) + " to " + m.text(m.high) + ")",
                {.size = 14, .colour = kInk});
    canvas.fill({left + at(m.range, m.low) * box.width(), box.top, left + at(m.range, m.high) * box.width(),
                 box.bottom},
                kLine, 0.5);
    bars(canvas, box, histogram(m.pooled(), m.range, 96));
    if (m.truth) vertical(canvas, box, m.range, *m.truth, kRed, 0);
    canvas.frame(box, {kFaintInk, 1, 1, 0});
    x_labels(canvas, box, m.range, 5, 13);
  }
  return canvas;
}

Canvas draw_corner(const std::vector<Marginal>& marginals) {
  const int n = static_cast<int>(marginals.size());
  const double side = n > 6 ? 128 : 170;
  const int size = static_cast<int>(124 + side * n + 30);
  Canvas canvas(size, size);
  title(canvas, "Posterior of all pairs of parameters",
        "dark: 50 %, light: 90 % of the samples; red: the true values");
  for (int row = 0; row < n; ++row)
    for (int column = 0; column <= row; ++column) {
      const Marginal &mx = marginals[static_cast<std::size_t>(column)],
                     &my = marginals[static_cast<std::size_t>(row)];
      const Range rx = zoomed(mx), ry = zoomed(my);
      const double left = 80 + column * side, top = 104 + row * side;
      const Box box{left, top, left + side - 12, top + side - 12};
      if (row == column) {
        bars(canvas, box, histogram(mx.pooled(), rx, 40));
        canvas.text({left + box.width() / 2, top - 4}, mx.name,
                    {.size = 15, .colour = kInk, .align = Align::Centre});
      } else {
        regions(canvas, box, density_of(mx.pooled(), my.pooled(), rx, ry, 40));
      }
      if (mx.truth) vertical(canvas, box, rx, *mx.truth, kRed, 0);
      if (my.truth && row != column) {
        const double y = box.bottom - at(ry, *my.truth) * box.height();
        canvas.line({box.left, y}, {box.right, y}, {kRed, 2, 1, 0});
      }
      canvas.frame(box, {kFaintInk, 1, 1, 0});
      if (row == n - 1) x_labels(canvas, box, rx, 2, 12);
      if (column == 0 && row > 0) {
        canvas.text({22, box.top + box.height() / 2}, my.name, {.size = 15, .colour = kInk});
        const auto ticks = ticks_of(ry, 2);
        const auto labels = io::draw::tick_labels(ticks);
        for (std::size_t k = 0; k < ticks.size(); ++k)
          canvas.text({left - 4, box.bottom - at(ry, ticks[k]) * box.height() + 4}, labels[k],
                      {.size = 12, .colour = kInk, .align = Align::Right});
      }
    }
  return canvas;
}

Canvas draw_traces(const std::vector<Marginal>& marginals) {
  const double height = 100;
  Canvas canvas(1300, static_cast<int>(120 + height * static_cast<double>(marginals.size())));
  title(canvas, "Traces of the coldest chains", "the samples of every ensemble in turn; red: the true value");
  for (std::size_t k = 0; k < marginals.size(); ++k) {
    const Marginal& m = marginals[k];
    const double top = 95 + height * static_cast<double>(k);
    const Range range = zoomed(m);
    const Box box{80, top, 1260, top + height - 12};
    const double width = box.width() / static_cast<double>(m.samples.size());
    canvas.set_clip(box);
    for (std::size_t e = 0; e < m.samples.size(); ++e) {
      const auto& values = m.samples[e];
      std::vector<Point> points;
      for (std::size_t s = 0; s < values.size(); ++s)
        points.push_back({box.left + width * (static_cast<double>(e) +
                                              static_cast<double>(s) / static_cast<double>(values.size())),
                          box.bottom - at(range, values[s]) * box.height()});
      canvas.polyline(points, {io::draw::category(e), 0.8, 0.8, 0});
      canvas.line({box.left + width * static_cast<double>(e), box.top},
                  {box.left + width * static_cast<double>(e), box.bottom}, {kLine, 1, 1, 0});
    }
    if (m.truth) {
      const double y = box.bottom - at(range, *m.truth) * box.height();
      canvas.line({box.left, y}, {box.right, y}, {kRed, 1.5, 1, 0});
    }
    canvas.clear_clip();
    canvas.frame(box, {kFaintInk, 1, 1, 0});
    canvas.text({30, box.top + box.height() / 2 + 5}, m.name, {.size = 15, .colour = kInk});
    canvas.text({box.left - 6, box.bottom}, value_text(range.low, range),
                {.size = 11, .colour = kInk, .align = Align::Right});
    canvas.text({box.left - 6, box.top + 9}, value_text(range.high, range),
                {.size = 11, .colour = kInk, .align = Align::Right});
  }
  return canvas;
}

}  // namespace surrogate
