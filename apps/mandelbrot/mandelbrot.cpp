// SPDX-License-Identifier: Apache-2.0
#include "apps/mandelbrot/mandelbrot.hpp"

#include <cmath>
#include <cstring>

#include "runtime/base/hash.hpp"

namespace mandelbrot {
namespace {

constexpr double kFarAway = 256.0 * 256.0;  // |z|^2: so large that the continuous value is smooth

float escape_time(std::complex<double> c, std::int64_t iterations) {
  double x = 0, y = 0;
  for (std::int64_t n = 0; n < iterations; ++n) {
    const double x2 = x * x, y2 = y * y;
    if (x2 + y2 > kFarAway)
      return static_cast<float>(static_cast<double>(n) + 1 - std::log2(0.5 * std::log(x2 + y2)));
    y = 2 * x * y + c.imag();
    x = x2 - y2 + c.real();
  }
  return -1;
}

}  // namespace

void compute_row(const View& view, std::int64_t row, std::span<float> values) {
  const double pixel = view.span / static_cast<double>(view.width);
  const double y =
      view.centre.imag() + pixel * (static_cast<double>(view.height - 1) / 2 - static_cast<double>(row));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x =
        view.centre.real() + pixel * (static_cast<double>(i) - static_cast<double>(view.width - 1) / 2);
    values[i] = escape_time({x, y}, view.iterations);
  }
}

std::uint64_t fingerprint(std::span<const float> values) { return empi::fnv1a(std::as_bytes(values)); }

}  // namespace mandelbrot
