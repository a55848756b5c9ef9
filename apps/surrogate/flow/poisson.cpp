// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/flow/poisson.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "runtime/base/target_clones.hpp"

namespace flow {
namespace {

constexpr int kLanes = 4, kRows = 4;

// out = in * matrix: `depth` numbers of each row of `in` make `width` of each row of `out`. The rows of both
// are `stride` numbers apart; rows is a multiple of kRows, width of kLanes.
EMPI_TARGET_CLONES void multiply(const double* __restrict in, const double* __restrict matrix,
                                 double* __restrict out, int rows, int depth, int width, int stride) {
  for (int i = 0; i < rows; i += kRows)
    for (int k = 0; k < width; k += kLanes) {
      double sum[kRows][kLanes] = {};
      for (int j = 0; j < depth; ++j) {
        const double* __restrict line = matrix + static_cast<long>(j) * width + k;
        for (int r = 0; r < kRows; ++r) {
          const double factor = in[static_cast<long>(i + r) * stride + j];
#pragma omp simd
          for (int l = 0; l < kLanes; ++l) sum[r][l] += factor * line[l];
        }
      }
      for (int r = 0; r < kRows; ++r)
        for (int l = 0; l < kLanes; ++l) out[static_cast<long>(i + r) * stride + k + l] = sum[r][l];
    }
}

// Thomas' algorithm, all modes at a time.
EMPI_TARGET_CLONES void solve_columns(double* __restrict f, const double* __restrict pivot,
                                      const double* __restrict upper, double off, int nx, int stride) {
  for (int k = 0; k < stride; ++k) f[k] *= pivot[k];
  for (int i = 1; i < nx; ++i) {
    double* __restrict here = f + static_cast<long>(i) * stride;
    const double* __restrict before = here - stride;
    const double* __restrict inverse = pivot + static_cast<long>(i) * stride;
#pragma omp simd
    for (int k = 0; k < stride; ++k) here[k] = (here[k] - off * before[k]) * inverse[k];
  }
  for (int i = nx - 2; i >= 0; --i) {
    double* __restrict here = f + static_cast<long>(i) * stride;
    const double* __restrict after = here + stride;
    const double* __restrict factor = upper + static_cast<long>(i) * stride;
#pragma omp simd
    for (int k = 0; k < stride; ++k) here[k] -= factor[k] * after[k];
  }
}

int rounded_up(int n, int unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

Poisson::Poisson(int nx, int ny, double hx, double hy, bool open_east)
    : nx_(nx), ny_(ny), half_((ny + 1) / 2), width_(rounded_up(half_, kLanes)), off_(1 / (hx * hx)) {
  if (nx < 2 || ny < 2 || !(hx > 0) || !(hy > 0))
    throw std::invalid_argument("flow::Poisson: at least 2 x 2 cells of positive size expected");
  make_cosines();
  const auto size = static_cast<std::size_t>(rounded_up(nx, kRows)) * static_cast<std::size_t>(stride());
  folded_.assign(size, 0);
  modes_.assign(size, 0);
  pivot_.assign(static_cast<std::size_t>(nx) * static_cast<std::size_t>(stride()), 1);
  upper_.assign(pivot_.size(), 0);
  for (int k = 0; k < ny; ++k) {
    const double s = std::sin(std::numbers::pi * k / (2.0 * ny));
    const double eigenvalue = -4 * s * s / (hy * hy);
    const auto of_mode = [&](int i) { return at(i, (k % 2) * width_ + k / 2); };
    for (int i = 0; i < nx; ++i) {
      double diagonal = -2 * off_ + eigenvalue;
      if (i == 0 && (k > 0 || open_east)) diagonal += off_;  // (a closed box: the constant mode is pinned)
      if (i == nx - 1) diagonal += open_east ? -off_ : off_;
      if (i > 0) diagonal -= off_ * upper_[of_mode(i - 1)];
      pivot_[of_mode(i)] = 1 / diagonal;
      upper_[of_mode(i)] = off_ / diagonal;
    }
  }
}

void Poisson::make_cosines() {
  for (auto* matrix : {&even_, &odd_, &even_back_, &odd_back_})
    matrix->assign(static_cast<std::size_t>(half_) * static_cast<std::size_t>(width_), 0);
  for (int k = 0; k < ny_; ++k)
    for (int j = 0; j < half_; ++j) {
      const double norm = std::sqrt((k == 0 ? 1.0 : 2.0) / ny_);
      // The angle is reduced in integers: the cosine's bits do not depend on how large arguments are reduced.
      const int turn = (k * (2 * j + 1)) % (4 * ny_);
      const double value = norm * std::cos(std::numbers::pi * turn / (2.0 * ny_));
      (k % 2 == 0 ? even_ : odd_)[in_rows(j, width_, k / 2)] = value;
      (k % 2 == 0 ? even_back_ : odd_back_)[in_rows(k / 2, width_, j)] = value;
    }
}

void Poisson::solve(std::vector<double>& values) {
  const auto row = [this](std::vector<double>& of, int i) {
    return of.data() + static_cast<std::ptrdiff_t>(i) * stride();
  };
  const int pairs = ny_ / 2, rows = rounded_up(nx_, kRows);
  for (int i = 0; i < nx_; ++i) {
    const double* f = row(values, i);
    double* g = row(folded_, i);
    for (int j = 0; j < pairs; ++j) g[j] = f[j] + f[ny_ - 1 - j];
    for (int j = 0; j < pairs; ++j) g[width_ + j] = f[j] - f[ny_ - 1 - j];
    if (pairs < half_) g[pairs] = f[pairs], g[width_ + pairs] = 0;
  }
  multiply(folded_.data(), even_.data(), modes_.data(), rows, half_, width_, stride());
  multiply(folded_.data() + width_, odd_.data(), modes_.data() + width_, rows, pairs, width_, stride());
  solve_columns(modes_.data(), pivot_.data(), upper_.data(), off_, nx_, stride());
  multiply(modes_.data(), even_back_.data(), folded_.data(), rows, half_, width_, stride());
  multiply(modes_.data() + width_, odd_back_.data(), folded_.data() + width_, rows, pairs, width_, stride());
  for (int i = 0; i < nx_; ++i) {
    const double* g = row(folded_, i);
    double* f = row(values, i);
    for (int j = 0; j < half_; ++j) f[j] = g[j] + g[width_ + j];
    for (int j = 0; j < pairs; ++j) f[ny_ - 1 - j] = g[j] - g[width_ + j];
  }
}

}  // namespace flow
