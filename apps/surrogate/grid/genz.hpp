// SPDX-License-Identifier: Apache-2.0
// Genz' six families of test functions on the unit cube: A. Genz, in: Tools, Methods and Languages for
// Scientific and Engineering Computation (1984) 81.
#pragma once
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <span>
#include <vector>

namespace sparse::testing {

inline constexpr int kFamilies = 6;

class Genz {
 public:
  Genz(int dimensions, unsigned seed) {
    std::mt19937 random(seed);
    const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
    double sum = 0;
    for (int k = 0; k < dimensions; ++k) {
      a_.push_back(0.2 + uniform());
      w_.push_back(uniform());
      sum += a_.back();
    }
    for (double& a : a_) a *= 4 / sum;  // about as difficult for any number of dimensions
  }

  double operator()(int family, std::span<const double> x) const {
    double sum = 0, product = 1, squares = 0, distance = 0;
    bool beyond = false;
    for (std::size_t k = 0; k < a_.size(); ++k) {
      const double s = x[k] - w_[k];
      sum += a_[k] * x[k];
      product *= 1 / (1 / (a_[k] * a_[k]) + s * s);
      squares += a_[k] * a_[k] * s * s;
      distance += a_[k] * std::abs(s);
      if (k < 2 && x[k] > w_[k]) beyond = true;
    }
    switch (family) {
      case 0:
        return std::cos(2 * std::numbers::pi * w_[0] + sum);  // oscillatory
      case 1:
        return product;  // product peak
      case 2:
        return std::pow(1 + sum, -static_cast<double>(a_.size()) - 1);  // corner peak
      case 3:
        return std::exp(-squares);  // Gaussian
      case 4:
        return std::exp(-distance);  // continuous
      default:
        return beyond ? 0 : std::exp(sum);  // discontinuous
    }
  }

 private:
  std::vector<double> a_, w_;
};

// rows x dimensions numbers in [0, 1).
inline std::vector<double> random_points(int rows, int dimensions, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> points(static_cast<std::size_t>(rows * dimensions));
  for (double& x : points) x = static_cast<double>(random()) / 4294967296.0;
  return points;
}

}  // namespace sparse::testing
