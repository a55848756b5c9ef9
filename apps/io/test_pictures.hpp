// SPDX-License-Identifier: Apache-2.0
// What tests of pictures share.
#pragma once
#include <cstdlib>
#include <string>

#include "apps/io/draw/canvas.hpp"

namespace io::test {

/// The sum of what is dark in a box: 1 for each black pixel.
inline double darkness(const draw::Canvas& canvas, const draw::Box& box) {
  double sum = 0;
  for (int y = static_cast<int>(box.top); y < static_cast<int>(box.bottom); ++y) {
    for (int x = static_cast<int>(box.left); x < static_cast<int>(box.right); ++x)
      sum += 1 - canvas.pixel(x, y).g;
  }
  return sum;
}

/// Pictures are kept in IO_TEST_PICTURES, if set, for a look with one's own eyes.
inline void keep(const draw::Canvas& canvas, const std::string& name) {
  if (const char* folder = std::getenv("IO_TEST_PICTURES"))
    canvas.write_png(std::string(folder) + "/" + name);
}

}  // namespace io::test
