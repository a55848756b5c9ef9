// SPDX-License-Identifier: Apache-2.0
// For tests: an inverse problem with three parameters, whose model is cheap and whose truth is known.
#pragma once
#include <cmath>
#include <span>

#include "apps/surrogate/app/inversion.hpp"

namespace surrogate::test {

/// The model of docs/surrogate.md: a damped oscillation, seen 24 times.
inline Problem oscillator() {
  Problem p;
  p.parameters = {{"amplitude", 0.5, 2}, {"frequency", 0.8, 1.6}, {"damping", 0, 0.5}};
  p.outputs = 24;
  p.model = [](std::span<const double> x, std::span<double> y) {
    for (std::size_t k = 0; k < y.size(); ++k) {
      const double t = 0.25 * static_cast<double>(k + 1);
      y[k] = x[0] * std::exp(-x[2] * t) * std::cos(x[1] * t);
    }
  };
  p.truth = {1.2, 1.1, 0.2};
  return p;
}

}  // namespace surrogate::test
