// SPDX-License-Identifier: Apache-2.0
// The set itself, where it is known: the main cardioid and the disc of period 2 belong to it, what is farther
// from 0 than 2 does not.
#include "apps/mandelbrot/mandelbrot.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace mandelbrot {
namespace {

float value_at(std::complex<double> c, std::int64_t iterations) {
  View view{.centre = c, .span = 1e-9, .width = 1, .height = 1, .iterations = iterations};
  float value = 0;
  compute_row(view, 0, std::span(&value, 1));
  return value;
}

TEST(Mandelbrot, KnownPoints) {
  for (const std::complex<double> inside : {std::complex<double>(0, 0), {-1, 0}, {-2, 0}, {0, 1}, {0.25, 0}})
    EXPECT_EQ(value_at(inside, 2000), -1) << inside;
  for (int i = 0; i < 16; ++i) {  // just inside of the cardioid: c = mu/2 (1 - mu/2), |mu| < 1
    const std::complex<double> mu = std::polar(0.99, 0.4 * i);
    EXPECT_EQ(value_at(mu / 2.0 * (1.0 - mu / 2.0), 2000), -1);
  }
  for (int i = 0; i < 16; ++i) EXPECT_GE(value_at(std::polar(2.01, 0.4 * i), 2000), 0);
}

// Near 0.25 + e the number of iterations is pi / sqrt(e) (D. Boll, 1991).
TEST(Mandelbrot, EscapeTimeNearTheCusp) {
  for (const double e : {1e-4, 1e-6})
    EXPECT_NEAR(value_at(0.25 + e, 1'000'000) * std::sqrt(e), 3.14159, 0.1) << e;
}

TEST(Mandelbrot, RowsRunFromTopToBottomAndLeftToRight) {
  const View view{.centre = {-0.5, 0.3}, .span = 3, .width = 30, .height = 20, .iterations = 100};
  std::vector<float> first(30), last(30);
  compute_row(view, 0, first);
  compute_row(view, 19, last);
  EXPECT_EQ(first[15], value_at({-0.5 + 0.05, 0.3 + 0.95}, 100));
  EXPECT_EQ(last[0], value_at({-0.5 - 1.45, 0.3 - 0.95}, 100));
}

}  // namespace
}  // namespace mandelbrot
