// SPDX-License-Identifier: Apache-2.0
#include "apps/io/draw/chart.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "apps/io/draw/ticks.hpp"

namespace io::draw {
namespace {

constexpr Colour kInk{0.13, 0.15, 0.18}, kFaintInk{0.38, 0.41, 0.46}, kGridLine{0.885, 0.895, 0.91};

struct Range {
  double low, high;
  double at(double value) const { return (value - low) / (high - low); }
};

Colour colour_of(const Chart& chart, std::size_t k) { return chart.series[k].colour.value_or(category(k)); }

Range data_range(const Chart& chart, bool right, const std::vector<double> Series::* values) {
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const Series& series : chart.series) {
    if (values == &Series::y && series.right_axis != right) continue;
    for (const double value : series.*values) {
      if (!std::isfinite(value)) continue;
      range.low = std::min(range.low, value);
      range.high = std::max(range.high, value);
    }
  }
  return range;
}

Range y_range(const Chart& chart, bool right) {
  const auto& given = right ? chart.right_range : chart.y_range;
  if (given && given->second > given->first) return {given->first, given->second};
  Range data = data_range(chart, right, &Series::y);
  if (chart.y_from_zero) {
    data.low = std::min(data.low, 0.0);
    data.high = std::max(data.high, 0.0);
  }
  const double air = data.high > data.low ? 0.04 * (data.high - data.low) : 0;
  const auto nice = nice_range(chart.y_from_zero && data.low == 0 ? 0 : data.low - air, data.high + air, 6);
  return {nice.low, nice.high};
}

Range x_range(const Chart& chart) {
  if (chart.x_range && chart.x_range->second > chart.x_range->first) {
    return {chart.x_range->first, chart.x_range->second};
  }
  const Range data = data_range(chart, false, &Series::x);
  if (data.high > data.low) return data;
  const auto nice = nice_range(data.low, data.high, 2);
  return {nice.low, nice.high};
}

struct Ticks {
  std::vector<double> at;
  std::vector<std::string> labels;
};

Ticks ticks_of(const Range& range, int wanted, bool logarithmic) {
  auto at =
      logarithmic ? log_ticks(range.low, range.high, wanted) : nice_ticks(range.low, range.high, wanted);
  auto labels = logarithmic ? log_tick_labels(at) : tick_labels(at);
  return {std::move(at), std::move(labels)};
}

// With the logarithms of what is on logarithmic axes.
Chart with_logarithms(Chart chart) {
  const auto take = [](double& value) { value = std::log10(value); };
  const auto take_both = [&](std::optional<std::pair<double, double>>& range) {
    if (range) take(range->first), take(range->second);
  };
  for (Series& series : chart.series) {
    if (chart.log_x) std::ranges::for_each(series.x, take);
    if (chart.log_y && !series.right_axis) std::ranges::for_each(series.y, take);
  }
  if (chart.log_x) {
    take_both(chart.x_range);
    for (Marker& marker : chart.markers) take(marker.x);
  }
  if (chart.log_y) take_both(chart.y_range);
  return chart;
}

class Painter {
 public:
  explicit Painter(Chart chart)
      : chart_(std::move(chart)),
        canvas_(chart_.width, chart_.height),
        x_(x_range(chart_)),
        left_(y_range(chart_, false)),
        right_(y_range(chart_, true)) {
    has_right_ =
        std::any_of(chart_.series.begin(), chart_.series.end(), [](const Series& s) { return s.right_axis; });
    plot_ = {92, 40 + (chart_.title.empty() ? 0.0 : 32) + (chart_.subtitle.empty() ? 0.0 : 22),
             chart_.width - 36.0, chart_.height - 72.0};
    if (has_right_) plot_.right -= 66;
  }

  Canvas paint() {
    heading();
    legend();
    axes();
    canvas_.set_clip({plot_.left, plot_.top - 2, plot_.right, plot_.bottom + 1});
    for (std::size_t k = 0; k < chart_.series.size(); ++k) area(k);
    for (std::size_t k = 0; k < chart_.series.size(); ++k) curve(k);
    canvas_.clear_clip();
    for (const Marker& marker : chart_.markers) note(marker);
    return std::move(canvas_);
  }

 private:
  Point place(const Series& series, double x, double y) const {
    const Range& range = series.right_axis ? right_ : left_;
    return {plot_.left + x_.at(x) * plot_.width(), plot_.bottom - range.at(y) * plot_.height()};
  }

  void heading() {
    canvas_.text({plot_.left, 38}, chart_.title, {.size = 22, .colour = kInk, .bold = true});
    canvas_.text({plot_.left, chart_.title.empty() ? 30.0 : 62.0}, chart_.subtitle,
                 {.size = 15, .colour = kFaintInk});
  }

  // To the right above the plot, where no curve can hide it.
  void legend() {
    double x = plot_.right;
    for (std::size_t k = chart_.series.size(); k-- > 0;) {
      const Series& series = chart_.series[k];
      if (series.name.empty()) continue;
      const TextStyle style{.size = 15, .colour = kInk};
      x -= text_width(series.name, style);
      const double y = plot_.top - 14;
      canvas_.text({x, y}, series.name, style);
      x -= 42;
      if (series.style == Style::Points) {
        canvas_.disc({x + 17, y - 5}, 3.5, colour_of(chart_, k));
      } else {
        const double dash = series.style == Style::Dashed ? 6 : 0;
        canvas_.line({x, y - 5}, {x + 32, y - 5}, {colour_of(chart_, k), series.width + 0.6, 1, dash});
      }
      x -= 22;
    }
  }

  void axes() {
    const int wanted_y = std::max(2, static_cast<int>(plot_.height() / 75));
    const auto [y_ticks, y_labels] = ticks_of(left_, wanted_y, chart_.log_y);
    for (std::size_t k = 0; k < y_ticks.size(); ++k) {
      const double y = plot_.bottom - left_.at(y_ticks[k]) * plot_.height();
      const bool zero = y_ticks[k] == 0 && left_.low < 0 && !chart_.log_y;
      canvas_.line({plot_.left, y}, {plot_.right, y}, {zero ? kGrey : kGridLine, 1, 1, 0});
      canvas_.text({plot_.left - 10, y + 5}, y_labels[k],
                   {.size = 15, .colour = kInk, .align = Align::Right});
    }
    double right_width = 0;
    if (has_right_) {
      const auto [ticks, labels] = ticks_of(right_, wanted_y, false);
      right_width = widest(labels);
      for (std::size_t k = 0; k < ticks.size(); ++k) {
        const double y = plot_.bottom - right_.at(ticks[k]) * plot_.height();
        canvas_.line({plot_.right, y}, {plot_.right + 5, y}, {kFaintInk, 1, 1, 0});
        canvas_.text({plot_.right + 10, y + 5}, labels[k], {.size = 15, .colour = kInk});
      }
    }
    const int wanted_x = std::max(2, static_cast<int>(plot_.width() / 110));
    const auto [x_ticks, x_labels] = ticks_of(x_, wanted_x, chart_.log_x);
    for (std::size_t k = 0; k < x_ticks.size(); ++k) {
      const double x = plot_.left + x_.at(x_ticks[k]) * plot_.width();
      canvas_.line({x, plot_.top}, {x, plot_.bottom}, {kGridLine, 1, 1, 0});
      canvas_.line({x, plot_.bottom}, {x, plot_.bottom + 5}, {kFaintInk, 1, 1, 0});
      canvas_.text({x, plot_.bottom + 23}, x_labels[k], {.size = 15, .colour = kInk, .align = Align::Centre});
    }
    canvas_.line({plot_.left, plot_.bottom}, {plot_.right, plot_.bottom}, {kFaintInk, 1.4, 1, 0});
    canvas_.line({plot_.left, plot_.top}, {plot_.left, plot_.bottom}, {kFaintInk, 1.4, 1, 0});
    if (has_right_)
      canvas_.line({plot_.right, plot_.top}, {plot_.right, plot_.bottom}, {kFaintInk, 1.4, 1, 0});
    const double middle = (plot_.top + plot_.bottom) / 2;
    canvas_.text({(plot_.left + plot_.right) / 2, plot_.bottom + 54}, chart_.x_label,
                 {.size = 16, .colour = kInk, .align = Align::Centre});
    canvas_.text({plot_.left - 26 - widest(y_labels), middle}, chart_.y_label,
                 {.size = 16, .colour = axis_colour(false), .align = Align::Centre, .upwards = true});
    canvas_.text({plot_.right + 38 + right_width, middle}, chart_.right_label,
                 {.size = 16, .colour = axis_colour(true), .align = Align::Centre, .upwards = true});
  }

  static double widest(const std::vector<std::string>& labels) {
    double width = 0;
    for (const auto& label : labels) width = std::max(width, text_width(label, {.size = 15}));
    return width;
  }

  // With two axes, an axis with one curve wears its colour.
  Colour axis_colour(bool right) const {
    if (!has_right_) return kInk;
    std::size_t count = 0, which = 0;
    for (std::size_t k = 0; k < chart_.series.size(); ++k) {
      if (chart_.series[k].right_axis == right) ++count, which = k;
    }
    return count == 1 ? mix(colour_of(chart_, which), kInk, 0.25) : kInk;
  }

  std::vector<Point> points_of(const Series& series) const {
    std::vector<Point> points;
    for (std::size_t k = 0; k < series.x.size(); ++k) {
      const Point next = place(series, series.x[k], series.y[k]);
      if (series.style == Style::Step && !points.empty()) points.push_back({next.x, points.back().y});
      points.push_back(next);
    }
    return points;
  }

  void area(std::size_t k) {
    const Series& series = chart_.series[k];
    if (series.fill <= 0) return;
    const auto points = points_of(series);
    for (std::size_t p = 0; p + 1 < points.size(); ++p) {
      const Point a = points[p], b = points[p + 1];
      if (!(b.x > a.x) || !std::isfinite(a.y) || !std::isfinite(b.y)) continue;
      // Column by column; a part of a column at either end.
      for (double x = a.x; x < b.x; x = std::floor(x) + 1) {
        const double end = std::min(std::floor(x) + 1, b.x), middle = (x + end) / 2;
        const double y = a.y + (b.y - a.y) * (middle - a.x) / (b.x - a.x);
        canvas_.fill({x, y, end, plot_.bottom}, colour_of(chart_, k), series.fill);
      }
    }
  }

  void curve(std::size_t k) {
    const Series& series = chart_.series[k];
    const auto points = points_of(series);
    if (series.style == Style::Points) {
      for (const Point& p : points) canvas_.disc(p, series.width + 0.6, colour_of(chart_, k), 0.9);
      return;
    }
    canvas_.polyline(points,
                     {colour_of(chart_, k), series.width, 1, series.style == Style::Dashed ? 7.0 : 0.0});
  }

  void note(const Marker& marker) {
    if (marker.x < x_.low || marker.x > x_.high) return;
    const double x = plot_.left + x_.at(marker.x) * plot_.width();
    canvas_.line({x, plot_.top}, {x, plot_.bottom}, {marker.colour, 1.3, 0.9, 4});
    const TextStyle style{.size = 13.5, .colour = mix(marker.colour, kBlack, 0.3), .halo = true};
    const bool fits = x + 6 + text_width(marker.label, style) < plot_.right;
    TextStyle placed = style;
    placed.align = fits ? Align::Left : Align::Right;
    const double width = text_width(marker.label, style), start = fits ? x + 6 : x - 6 - width;
    std::size_t row = 0;
    while (row < note_ends_.size() && start < note_ends_[row] + 6) ++row;
    note_ends_.resize(std::max(note_ends_.size(), row + 1));
    note_ends_[row] = start + width;
    canvas_.text({fits ? x + 6 : x - 6, plot_.top + 16 + 18 * static_cast<double>(row)}, marker.label,
                 placed);
  }

  const Chart chart_;
  Canvas canvas_;
  Range x_, left_, right_;
  bool has_right_ = false;
  Box plot_;
  std::vector<double> note_ends_;  // where the last note in each row ends
};

}  // namespace

Canvas render(const Chart& chart) {
  for (const Series& series : chart.series) {
    if (series.x.size() != series.y.size()) {
      throw std::invalid_argument("chart series '" + series.name + "': " + std::to_string(series.x.size()) +
                                  " x values and " + std::to_string(series.y.size()) + " y values");
    }
  }
  return Painter(with_logarithms(chart)).paint();
}

}  // namespace io::draw
