// SPDX-License-Identifier: Apache-2.0
#include "apps/io/draw/font.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <sstream>
#include <string>

namespace io::draw {
namespace {

// One glyph: its character, its advance, and strokes separated by ';':
//   l x y x y ...            straight lines
//   s x y x y ...            a smooth curve through the points
//   a cx cy rx ry from to    an arc of an ellipse, degrees counter-clockwise from east
struct Drawing {
  char character;
  double advance;
  const char* strokes;
};

constexpr char kDegreeSign = 127;

constexpr Drawing kDrawings[] = {
    {' ', 5, ""},
    {'!', 4, "l 2 14 2 4.5; l 2 .2 2 .5"},
    {'"', 6, "l 1.5 14 1.5 10; l 4.5 14 4.5 10"},
    {'#', 10, "l 3.5 14 2 0; l 8 14 6.5 0; l .7 9.5 9.3 9.5; l .3 4.5 8.9 4.5"},
    {'$', 10,
     "s 8.7 11.3 7.5 13.3 5 14 2.2 13.2 1.1 10.8 2.2 8.4 5 7.3 7.9 6 9.1 3.6 7.9 1 5 0 2 .7 .6 3; l 5 16 5 "
     "-2"},
    {'%', 12, "a 2.9 11 2.4 3 0 360; a 9.1 3 2.4 3 0 360; l 9.6 14 2.4 0"},
    {'&', 11, "s 10 0 6 4.8 3.2 9.2 2.9 12 4.7 14 6.6 12 5.5 9.2 2.2 6.5 .9 3.4 3.2 .2 6.7 1 9.3 6"},
    {'\'', 3, "l 1.5 14 1.5 10"},
    {'(', 5, "s 4 16 1.7 12 1 6 1.7 0 4 -4"},
    {')', 5, "s 1 16 3.3 12 4 6 3.3 0 1 -4"},
    {'*', 7, "l 3.5 14 3.5 7; l .5 12.3 6.5 8.7; l .5 8.7 6.5 12.3"},
    {'+', 10, "l 5 10.5 5 1.5; l .5 6 9.5 6"},
    {',', 4, "l 2 .5 2 0 1.2 -2.8"},
    {'-', 6, "l .7 5.5 5.3 5.5"},
    {'.', 4, "l 2 .2 2 .5"},
    {'/', 6, "l .3 -1.5 5.7 15"},
    {'0', 9.4, "a 4.7 7 4 7 0 360"},
    {'1', 9.4, "l 1.5 11.3 5 14 5 0"},
    {'2', 9.4, "s .8 10.3 1.7 13 4.6 14 7.6 12.8 8.1 10 6.6 7; l 6.6 7 .5 0 8.5 0"},
    {'3', 9.4,
     "s .8 12 2.3 13.7 4.6 14 7.4 12.8 7.8 10.4 6.5 8.1 3.5 7.5; s 3.5 7.5 6.8 6.9 8.3 4.2 7.4 1.2 4.5 0 1.8 "
     ".5 .5 2.3"},
    {'4', 9.4, "l 6.5 0 6.5 14 .5 4 8.9 4"},
    {'5', 9.4, "l 7.8 14 1.8 14 1.2 7.8; s 1.2 7.8 3 9 5.3 9 7.9 7.3 8.4 4.5 7.3 1.3 4.4 0 1.8 .6 .5 2.3"},
    {'6', 9.4, "a 4.7 4.5 4 4.5 0 360; s .7 4.5 1 9 2.8 12.7 5.3 14 7.8 12.8"},
    {'7', 9.4, "l .7 14 8.7 14 3.4 0"},
    {'8', 9.4, "a 4.7 10.6 3.4 3.4 0 360; a 4.7 3.6 4.1 3.6 0 360"},
    {'9', 9.4, "a 4.7 9.5 4 4.5 0 360; s 8.7 9.5 8.4 5 6.6 1.3 4.1 0 1.6 1.2"},
    {':', 4, "l 2 .2 2 .5; l 2 8.2 2 8.5"},
    {';', 4, "l 2 .5 2 0 1.2 -2.8; l 2 8.2 2 8.5"},
    {'<', 9.5, "l 8.5 10.5 1 6 8.5 1.5"},
    {'=', 10, "l .7 8 9.3 8; l .7 4 9.3 4"},
    {'>', 9.5, "l 1 10.5 8.5 6 1 1.5"},
    {'?', 8, "s .8 11 1.8 13.2 4.2 14 7 12.8 7.4 10.3 5.8 8 4.3 6.3 4.1 4.3; l 4.1 .2 4.1 .5"},
    {'@', 14, "a 7 5.2 6.3 7.4 -35 300; a 6.6 5.2 2.6 3.4 0 360; s 9.6 8.6 9.3 5 9.8 2.4 11.6 2 13 4"},
    {'A', 11, "l .4 0 5.5 14 10.6 0; l 2.1 4.7 8.9 4.7"},
    {'B', 10.3,
     "l 5 14 1.2 14 1.2 0 5.6 0; a 5 10.6 3.6 3.4 90 -90; l 5.6 7.2 1.2 7.2; a 5.6 3.6 3.9 3.6 90 -90"},
    {'C', 11, "a 6.1 7 5.2 7 47 313"},
    {'D', 11.4, "l 4.8 0 1.2 0 1.2 14 4.8 14; a 4.8 7 5.7 7 90 -90"},
    {'E', 9.3, "l 8.5 14 1.2 14 1.2 0 8.5 0; l 1.2 7.3 7.6 7.3"},
    {'F', 8.8, "l 8.3 14 1.2 14 1.2 0; l 1.2 7.1 7.3 7.1"},
    {'G', 11.8, "a 6.1 7 5.2 7 47 320; l 6.7 6.7 10.5 6.7 10.5 1.9"},
    {'H', 11.2, "l 1.2 0 1.2 14; l 10 0 10 14; l 1.2 7.2 10 7.2"},
    {'I', 3.6, "l 1.8 0 1.8 14"},
    {'J', 7.5, "l 6.3 14 6.3 4; a 3.4 4 2.9 4 0 -150"},
    {'K', 10, "l 1.2 0 1.2 14; l 9.3 14 1.2 5.3; l 4.2 8.5 9.7 0"},
    {'L', 8.4, "l 1.2 14 1.2 0 8 0"},
    {'M', 13, "l 1.2 0 1.2 14 6.5 3 11.8 14 11.8 0"},
    {'N', 11.2, "l 1.2 0 1.2 14 10 0 10 14"},
    {'O', 12.2, "a 6.1 7 5.3 7 0 360"},
    {'P', 9.8, "l 1.2 0 1.2 14 5 14; a 5 10.3 4 3.7 90 -90; l 5 6.6 1.2 6.6"},
    {'Q', 12.2, "a 6.1 7 5.3 7 0 360; l 7.2 3.8 11 -1"},
    {'R', 10, "l 1.2 0 1.2 14 5 14; a 5 10.4 3.9 3.6 90 -90; l 5 6.8 1.2 6.8; l 5 6.8 9.4 0"},
    {'S', 9.8, "s 8.7 11.3 7.5 13.3 5 14 2.2 13.2 1.1 10.8 2.2 8.4 5 7.3 7.9 6 9.1 3.6 7.9 1 5 0 2 .7 .6 3"},
    {'T', 9.8, "l .3 14 9.5 14; l 4.9 14 4.9 0"},
    {'U', 11, "l 1.2 14 1.2 4.5; a 5.5 4.5 4.3 4.5 180 360; l 9.8 4.5 9.8 14"},
    {'V', 10.4, "l .4 14 5.2 0 10 14"},
    {'W', 15, "l .4 14 3.9 0 7.5 13.5 11.1 0 14.6 14"},
    {'X', 10, "l .6 14 9.4 0; l 9.4 14 .6 0"},
    {'Y', 10, "l .4 14 5 7 9.6 14; l 5 7 5 0"},
    {'Z', 9.8, "l .9 14 9 14 .7 0 9.2 0"},
    {'[', 5, "l 4 16 1.5 16 1.5 -4 4 -4"},
    {'\\', 6, "l .3 15 5.7 -1.5"},
    {']', 5, "l 1 16 3.5 16 3.5 -4 1 -4"},
    {'^', 8, "l 1 9.5 4 14 7 9.5"},
    {'_', 9, "l 0 -2 9 -2"},
    {'`', 4, "l 1 14 3 11.5"},
    {'a', 9.4, "a 4.4 5 3.7 5 0 360; l 8.1 10 8.1 0"},
    {'b', 9.4, "l 1.2 14 1.2 0; a 4.9 5 3.7 5 0 360"},
    {'c', 8.4, "a 4.7 5 3.9 5 50 310"},
    {'d', 9.4, "a 4.4 5 3.7 5 0 360; l 8.1 14 8.1 0"},
    {'e', 9, "l .8 5.2 8.3 5.2; a 4.6 5 3.8 5 3 312"},
    {'f', 5.8, "s 6 13.7 4.4 13.8 3.2 12.6 2.9 10; l 2.9 10.2 2.9 0; l .4 10 5.5 10"},
    {'g', 9.4, "a 4.4 5 3.7 5 0 360; l 8.1 10 8.1 -.5; a 4.6 -.5 3.5 3.5 0 -150"},
    {'h', 9.2, "l 1.2 14 1.2 0; a 4.6 6.2 3.4 3.8 180 0; l 8 6.2 8 0"},
    {'i', 3.2, "l 1.6 10 1.6 0; l 1.6 13.2 1.6 13.5"},
    {'j', 3.6, "l 2 10 2 -1.5; a .3 -1.5 1.7 2.5 0 -80; l 2 13.2 2 13.5"},
    {'k', 8.2, "l 1.2 14 1.2 0; l 7.4 10 1.2 3.8; l 3.8 6.2 7.9 0"},
    {'l', 3.2, "l 1.6 14 1.6 0"},
    {'m', 13.6,
     "l 1.2 10 1.2 0; a 4 6.8 2.8 3.2 180 0; l 6.8 6.8 6.8 0; a 9.6 6.8 2.8 3.2 180 0; l 12.4 6.8 12.4 0"},
    {'n', 9.2, "l 1.2 10 1.2 0; a 4.6 6.2 3.4 3.8 180 0; l 8 6.2 8 0"},
    {'o', 9.2, "a 4.6 5 3.8 5 0 360"},
    {'p', 9.4, "l 1.2 10 1.2 -4; a 4.9 5 3.7 5 0 360"},
    {'q', 9.4, "a 4.4 5 3.7 5 0 360; l 8.1 10 8.1 -4"},
    {'r', 6, "l 1.2 10 1.2 0; a 4.8 5.8 3.6 4.2 180 75"},
    {'s', 7.7, "s 6.8 7.9 5.7 9.6 3.8 10 1.7 9.3 1.1 7.6 2 6 4 5.2 6.2 4.3 7.1 2.6 6.2 .7 4 0 1.6 .6 .5 2.3"},
    {'t', 6.2, "l 2.9 13.2 2.9 3; s 2.9 3 3.2 .8 4.5 0 6 .3; l .4 10 5.6 10"},
    {'u', 9.2, "l 1.2 10 1.2 3.8; a 4.6 3.8 3.4 3.8 180 360; l 8 10 8 0"},
    {'v', 8.4, "l .5 10 4.2 0 7.9 10"},
    {'w', 12, "l .5 10 3.2 0 6 9.6 8.8 0 11.5 10"},
    {'x', 8, "l .7 10 7.3 0; l 7.3 10 .7 0"},
    {'y', 8.4, "l .5 10 4.3 0; l 7.9 10 4.3 0 3 -3 1.8 -4 .8 -4"},
    {'z', 8, "l .9 10 7.1 10 .7 0 7.4 0"},
    {'{', 6, "s 5 16 3.3 15 3.2 8 1.2 6 3.2 4 3.3 -3 5 -4"},
    {'|', 4, "l 2 16 2 -4"},
    {'}', 6, "s 1 16 2.7 15 2.8 8 4.8 6 2.8 4 2.7 -3 1 -4"},
    {'~', 10, "s .8 5 2.8 7 5 6 7.2 5 9.2 7"},
    {kDegreeSign, 6, "a 3 11.6 2.2 2.4 0 360"},
};

// Catmull-Rom spline through the points, ends doubled.
std::vector<Point> smooth(const std::vector<Point>& points) {
  constexpr int pieces = 8;
  std::vector<Point> curve;
  const auto at = [&](std::ptrdiff_t k) {
    const auto last = static_cast<std::ptrdiff_t>(points.size()) - 1;
    return points[static_cast<std::size_t>(k < 0 ? 0 : k > last ? last : k)];
  };
  for (std::ptrdiff_t k = 0; k + 1 < static_cast<std::ptrdiff_t>(points.size()); ++k) {
    const Point a = at(k - 1), b = at(k), c = at(k + 1), d = at(k + 2);
    for (int piece = 0; piece < pieces; ++piece) {
      const double t = static_cast<double>(piece) / pieces;
      const auto blend = [t](double p, double q, double r, double s) {
        return 0.5 * (2 * q + (r - p) * t + (2 * p - 5 * q + 4 * r - s) * t * t +
                      (3 * q - p - 3 * r + s) * t * t * t);
      };
      curve.push_back({blend(a.x, b.x, c.x, d.x), blend(a.y, b.y, c.y, d.y)});
    }
  }
  curve.push_back(points.back());
  return curve;
}

std::vector<Point> arc(double cx, double cy, double rx, double ry, double from, double to) {
  constexpr int pieces = 28;
  std::vector<Point> curve;
  for (int piece = 0; piece <= pieces; ++piece) {
    const double angle = (from + (to - from) * piece / pieces) * std::numbers::pi / 180;
    curve.push_back({cx + rx * std::cos(angle), cy + ry * std::sin(angle)});
  }
  return curve;
}

Glyph compile(const Drawing& drawing) {
  Glyph glyph{drawing.advance, {}};
  std::istringstream strokes(drawing.strokes);
  for (std::string stroke; std::getline(strokes, stroke, ';');) {
    std::istringstream in(stroke);
    char kind = 0;
    in >> kind;
    std::vector<double> v;
    for (double value; in >> value;) v.push_back(value);
    if (kind == 'a') {
      glyph.strokes.push_back(arc(v[0], v[1], v[2], v[3], v[4], v[5]));
      continue;
    }
    std::vector<Point> points;
    for (std::size_t k = 0; k + 1 < v.size(); k += 2) points.push_back({v[k], v[k + 1]});
    glyph.strokes.push_back(kind == 's' ? smooth(points) : points);
  }
  return glyph;
}

const std::array<Glyph, 128>& font() {
  static const std::array<Glyph, 128> table = [] {
    std::array<Glyph, 128> made;
    for (const auto& drawing : kDrawings)
      made[static_cast<unsigned char>(drawing.character)] = compile(drawing);
    return made;
  }();
  return table;
}

}  // namespace

std::vector<const Glyph*> glyphs(std::string_view words) {
  std::vector<const Glyph*> found;
  for (std::size_t k = 0; k < words.size(); ++k) {
    const auto byte = static_cast<unsigned char>(words[k]);
    std::size_t code = byte;
    if (byte >= 0x80) {
      const bool degree =
          byte == 0xC2 && k + 1 < words.size() && static_cast<unsigned char>(words[k + 1]) == 0xB0;
      code = degree ? static_cast<std::size_t>(kDegreeSign) : '?';
      while (k + 1 < words.size() && (static_cast<unsigned char>(words[k + 1]) & 0xC0) == 0x80) ++k;
    } else if (byte < 32 || byte == 127) {
      code = '?';
    }
    found.push_back(&font()[code]);
  }
  return found;
}

}  // namespace io::draw
