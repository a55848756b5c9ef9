// SPDX-License-Identifier: Apache-2.0
// Line charts. What is to be seen is a value, Chart; render() makes the picture of it.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/io/draw/canvas.hpp"

namespace io::draw {

enum class Style {
  Line,
  Dashed,
  Step,  ///< keeps a value until the next x
  Points,
};

struct Series {
  std::string name;          ///< for the legend; "" leaves it out there
  std::vector<double> x, y;  ///< same length; a value that is not finite interrupts the line
  Style style = Style::Line;
  bool right_axis = false;
  std::optional<Colour> colour = {};  ///< default: by the series' place in the chart
  double width = 2.2;
  double fill = 0;  ///< opacity of the area down to the lower end of the axis; 0 for none
};

/// A dashed vertical line with a note at its top, below others that are in its way.
struct Marker {
  double x = 0;
  std::string label = {};
  Colour colour = kGrey;
};

struct Chart {
  std::string title, subtitle, x_label, y_label, right_label;
  std::vector<Series> series;
  std::vector<Marker> markers;
  /// Axis ranges; default: the data's, widened to nice values (x: exactly the data's).
  std::optional<std::pair<double, double>> x_range, y_range, right_range;
  bool y_from_zero = false;           ///< default y ranges start at 0 (both axes)
  bool log_x = false, log_y = false;  ///< logarithmic axes (y: the left one); positive values only
  int width = 1200, height = 700;
};

/// Line chart with legend, axes and grid. Throws std::invalid_argument when a series' x and y differ in
/// length.
Canvas render(const Chart& chart);

}  // namespace io::draw
