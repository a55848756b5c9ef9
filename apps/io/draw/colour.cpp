// SPDX-License-Identifier: Apache-2.0
#include "apps/io/draw/colour.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace io::draw {
namespace {

constexpr Colour hex(unsigned rgb) {
  return {((rgb >> 16) & 255) / 255.0, ((rgb >> 8) & 255) / 255.0, (rgb & 255) / 255.0};
}

// Linear between equidistant stops; position 0 to 1.
Colour along(std::span<const Colour> stops, double position) {
  const double s = std::clamp(position, 0.0, 1.0) * static_cast<double>(stops.size() - 1);
  const auto k = std::min(static_cast<std::size_t>(s), stops.size() - 2);
  return mix(stops[k], stops[k + 1], s - static_cast<double>(k));
}

Colour from_hue(double hue, double saturation, double value) {
  const auto channel = [&](double n) {
    const double k = std::fmod(n + hue * 6, 6.0);
    return value - value * saturation * std::clamp(std::min(k, 4 - k), 0.0, 1.0);
  };
  return {channel(5), channel(3), channel(1)};
}

}  // namespace

Colour category(std::size_t k) {
  static constexpr std::array<Colour, 12> chosen = {
      hex(0x3b6fb6), hex(0xe8862e), hex(0x4fa34f), hex(0xd1495b), hex(0x8a63b5), hex(0x2ba6a0),
      hex(0xc9a227), hex(0xe07fb0), hex(0x8c6446), hex(0x7db7e0), hex(0x9bb53c), hex(0x56607a)};
  if (k < chosen.size()) return chosen[k];
  const double turn = static_cast<double>(k) * 0.6180339887498949;
  return from_hue(turn - std::floor(turn), k % 2 == 0 ? 0.55 : 0.75, k % 3 == 0 ? 0.62 : 0.85);
}

Colour diverging(double value) {
  static constexpr std::array<Colour, 11> stops = {hex(0x08306b), hex(0x1459a0), hex(0x3484c1), hex(0x78b3d9),
                                                   hex(0xbddcec), hex(0xf6f8f8), hex(0xfbd9c4), hex(0xf4a582),
                                                   hex(0xdb6353), hex(0xb6202f), hex(0x6d0a20)};
  return along(stops, (value + 1) / 2);
}

Colour land(double height) {
  static constexpr std::array<Colour, 6> stops = {hex(0xcfc8ae), hex(0xbcae8c), hex(0xa69478),
                                                  hex(0x958877), hex(0x9c978f), hex(0xc4c2be)};
  return along(stops, height / 5000);
}

}  // namespace io::draw
