#include "apps/surrogate/flow/poisson.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>

// The same source for every kind of vector unit, without contraction: the same bits on every machine.
#define FLOW_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))

namespace flow {
namespace {

constexpr int kLanes = 8, kRows = 4;

// out = in * matrix, for rows of `stride` numbers of which `depth` count; nx rows, rounded up by the caller.
FLOW_CLONES void multiply(const double* __restrict in, const double* __restrict matrix,
                          double* __restrict out, int rows, int depth, int stride) {
  for (int i = 0; i < rows; i += kRows)
    for (int k = 0; k < stride; k += kLanes) {
      double sum[kRows][kLanes] = {};
      for (int j = 0; j < depth; ++j) {
        const double* __restrict line = matrix + static_cast<long>(j) * stride + k;
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
FLOW_CLONES void solve_columns(double* __restrict f, const double* __restrict pivot,
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
    : nx_(nx), ny_(ny), stride_(rounded_up(ny, kLanes)), off_(1 / (hx * hx)) {
  if (nx < 2 || ny < 2 || !(hx > 0) || !(hy > 0))
    throw std::invalid_argument("flow::Poisson: at least 2 x 2 cells of positive size expected");
  const auto square = static_cast<std::size_t>(stride_) * static_cast<std::size_t>(stride_);
  const auto at = [this](int row, int column) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(stride_) +
           static_cast<std::size_t>(column);
  };
  forward_.assign(square, 0);
  backward_.assign(square, 0);
  for (int k = 0; k < ny; ++k)
    for (int j = 0; j < ny; ++j) {
      const double norm = std::sqrt((k == 0 ? 1.0 : 2.0) / ny);
      // The angle is reduced in integers: the cosine's bits do not depend on how large arguments are reduced.
      const int turn = (k * (2 * j + 1)) % (4 * ny);
      forward_[at(j, k)] = norm * std::cos(std::numbers::pi * turn / (2.0 * ny));
      backward_[at(k, j)] = forward_[at(j, k)];
    }
  pivot_.assign(static_cast<std::size_t>(nx) * static_cast<std::size_t>(stride_), 1);
  upper_.assign(pivot_.size(), 0);
  for (int k = 0; k < ny; ++k) {
    const double s = std::sin(std::numbers::pi * k / (2.0 * ny));
    const double eigenvalue = -4 * s * s / (hy * hy);
    for (int i = 0; i < nx; ++i) {
      double diagonal = -2 * off_ + eigenvalue;
      if (i == 0 && (k > 0 || open_east)) diagonal += off_;  // (a closed box: the constant mode is pinned)
      if (i == nx - 1) diagonal += open_east ? -off_ : off_;
      if (i > 0) diagonal -= off_ * upper_[at(i - 1, k)];
      pivot_[at(i, k)] = 1 / diagonal;
      upper_[at(i, k)] = off_ / diagonal;
    }
  }
  modes_.assign(at(rounded_up(nx, kRows), 0), 0);
}

void Poisson::solve(std::vector<double>& values) {
  values.resize(modes_.size());
  const int rows = rounded_up(nx_, kRows);
  multiply(values.data(), forward_.data(), modes_.data(), rows, ny_, stride_);
  solve_columns(modes_.data(), pivot_.data(), upper_.data(), off_, nx_, stride_);
  multiply(modes_.data(), backward_.data(), values.data(), rows, ny_, stride_);
}

}  // namespace flow
