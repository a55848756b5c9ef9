// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "apps/spe10/field/field.hpp"
#include "runtime/base/hash.hpp"

namespace spe10 {
namespace {

// About normal, mean 0, variance 1: twelve uniform numbers. Without the libraries' transcendental functions
// they are the same on every machine; exp() below may differ in a last digit.
double normal(std::uint64_t seed, std::uint64_t counter) {
  double sum = -6;
  for (std::uint64_t n = 0; n < 12; ++n)
    sum += static_cast<double>(empi::split_mix64(seed ^ empi::split_mix64(12 * counter + n)) >> 11) * 0x1p-53;
  return sum;
}

// Running mean of 2 * radius + 1 values along one direction, scaled to keep the variance at 1.
void smooth(std::vector<double>& v, std::size_t lines, std::size_t length, std::size_t stride,
            std::size_t block, int radius) {
  std::vector<double> line(length);
  for (std::size_t l = 0; l < lines; ++l) {
    const std::size_t begin = l / stride * block + l % stride;
    for (std::size_t n = 0; n < length; ++n) line[n] = v[begin + n * stride];
    for (std::size_t n = 0; n < length; ++n) {
      double sum = 0;
      int count = 0;
      for (int d = -radius; d <= radius; ++d) {
        const auto m = static_cast<std::ptrdiff_t>(n) + d;
        if (m >= 0 && m < static_cast<std::ptrdiff_t>(length))
          sum += line[static_cast<std::size_t>(m)], ++count;
      }
      v[begin + n * stride] = sum / std::sqrt(count);
    }
  }
}

}  // namespace

Field synthetic_field(int nx, int ny, int nz, std::uint64_t seed) {
  constexpr double mean_log = 2.3, deviation_log = 2.0;  // natural logarithms of mD: a median of 10 mD
  Field field;
  field.nx = nx, field.ny = ny, field.nz = nz;
  const auto x = static_cast<std::size_t>(nx), y = static_cast<std::size_t>(ny),
             z = static_cast<std::size_t>(nz), blocks = x * y * z;
  std::vector<double> log_k(blocks);
  for (std::size_t b = 0; b < blocks; ++b) log_k[b] = normal(seed, b);
  for (int pass = 0; pass < 2; ++pass) {
    smooth(log_k, y * z, x, 1, x, 3);
    smooth(log_k, x * z, y, x, x * y, 6);
  }
  smooth(log_k, x * y, z, x * y, blocks, 1);
  double mean = 0, square = 0;
  for (const double v : log_k) mean += v, square += v * v;
  mean /= static_cast<double>(blocks);
  const double scale =
      deviation_log / std::sqrt(std::max(1e-300, square / static_cast<double>(blocks) - mean * mean));
  field.kx.resize(blocks), field.kz.resize(blocks);
  for (std::size_t b = 0; b < blocks; ++b) {
    field.kx[b] = static_cast<float>(std::exp(mean_log + scale * (log_k[b] - mean)));
    field.kz[b] = 0.1F * field.kx[b];
  }
  field.description = "SYNTHETIC log-normal field, seed " + std::to_string(seed) + ", " + std::to_string(nz) +
                      " layers, porosity 0.2";
  return field;
}

}  // namespace spe10
