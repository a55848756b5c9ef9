// SPDX-License-Identifier: Apache-2.0
// The Mandelbrot set: c belongs to it when z -> z^2 + c, from z = 0, stays bounded.
#pragma once
#include <complex>
#include <cstdint>
#include <span>

namespace mandelbrot {

struct View {
  std::complex<double> centre{-0.743643887037151, 0.131825904205330};
  double span = 0.01;  ///< width of the picture in the complex plane
  std::int64_t width = 1024, height = 768, iterations = 5000;
};

/// Values of the pixels of one row, top row first: the number of iterations until |z| > 256, made continuous
/// (n + 1 - log2(ln|z|)), or -1 where that takes more than view.iterations.
void compute_row(const View& view, std::int64_t row, std::span<float> values);

/// FNV-1a over the bits of the values.
std::uint64_t fingerprint(std::span<const float> values);

}  // namespace mandelbrot
