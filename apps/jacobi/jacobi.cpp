// SPDX-License-Identifier: Apache-2.0
#include "apps/jacobi/jacobi.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <numbers>
#include <thread>

#include "runtime/base/hash.hpp"

namespace jacobi {
namespace {

constexpr double kPi = std::numbers::pi;

// One row of the five-point average; west and east neighbours outside the grid are 0.
// Returns the largest change. Rows do not overlap.
double update_row(const double* __restrict below, const double* __restrict row,
                  const double* __restrict above, double* __restrict next, std::int64_t n) {
  const auto value = [&](std::int64_t i, double west, double east) {
    return 0.25 * ((below[i] + above[i]) + (west + east));
  };
  if (n == 1) {
    next[0] = value(0, 0, 0);
  } else {
    next[0] = value(0, 0, row[1]);
    for (std::int64_t i = 1; i < n - 1; ++i) next[i] = value(i, row[i - 1], row[i + 1]);
    next[n - 1] = value(n - 1, row[n - 2], 0);
  }
  double change = 0;
  for (std::int64_t i = 0; i < n; ++i) change = std::max(change, std::abs(next[i] - row[i]));
  return change;
}

}  // namespace

double exact(double x, double y) { return std::sin(kPi * x) * std::sinh(kPi * y) / std::sinh(kPi); }

Sweep::Sweep(MPI_Comm world, std::int64_t n, std::int64_t first_row, std::int64_t rows)
    : world_(world), n_(n), first_row_(first_row), rows_(rows) {
  int rank = 0, size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  const auto length = static_cast<std::size_t>(n);
  row_below_.assign(length, 0.0);  // u = 0 on y = 0
  row_above_.resize(length);
  for (std::size_t i = 0; i < length; ++i)
    row_above_[i] = std::sin(kPi * static_cast<double>(i + 1) / static_cast<double>(n + 1));
  next_.resize(static_cast<std::size_t>(rows) * length);

  // With more ranks than rows some have none: the neighbours are the nearest ranks that have some.
  std::vector<std::int64_t> all_rows(static_cast<std::size_t>(size));
  MPI_Allgather(&rows, 1, MPI_INT64_T, all_rows.data(), 1, MPI_INT64_T, world);
  if (rows == 0) return;
  for (int r = 0; r < rank; ++r)
    if (all_rows[static_cast<std::size_t>(r)] > 0) below_ = r;
  for (int r = size - 1; r > rank; --r)
    if (all_rows[static_cast<std::size_t>(r)] > 0) above_ = r;
}

void Sweep::exchange_halo(std::span<const double> u) {
  if (rows_ == 0) return;
  const int n = static_cast<int>(n_);
  const double* last = u.data() + (rows_ - 1) * n_;
  MPI_Sendrecv(u.data(), n, MPI_DOUBLE, below_, 1, row_above_.data(), n, MPI_DOUBLE, above_, 1, world_,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(last, n, MPI_DOUBLE, above_, 2, row_below_.data(), n, MPI_DOUBLE, below_, 2, world_,
               MPI_STATUS_IGNORE);
}

double Sweep::update_rows(std::span<const double> u, std::span<double> next) const {
  double change = 0;
  for (std::int64_t r = 0; r < rows_; ++r) {
    const double* row = u.data() + r * n_;
    const double* below = r > 0 ? row - n_ : row_below_.data();
    const double* above = r + 1 < rows_ ? row + n_ : row_above_.data();
    change = std::max(change, update_row(below, row, above, next.data() + r * n_, n_));
  }
  return change;
}

double Sweep::iterate(std::vector<double>& u, const Effort& effort) {
  exchange_halo(u);
  double change = 0;
  const auto end = std::chrono::steady_clock::now() + rows_ * effort.row_time + effort.serial_time;
  for (int repeat = 0; repeat < effort.repeats; ++repeat) change = update_rows(u, next_);
  std::this_thread::sleep_until(end);
  u.swap(next_);
  MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, world_);
  return change;
}

double Sweep::error(const std::vector<double>& u) const {
  const double h = 1.0 / static_cast<double>(n_ + 1);
  double worst = 0;
  for (std::int64_t r = 0; r < rows_; ++r)
    for (std::int64_t i = 0; i < n_; ++i) {
      const double right = exact(static_cast<double>(i + 1) * h, static_cast<double>(first_row_ + r + 1) * h);
      worst = std::max(worst, std::abs(u[static_cast<std::size_t>(r * n_ + i)] - right));
    }
  MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, world_);
  return worst;
}

std::uint64_t Sweep::fingerprint(const std::vector<double>& u) const {
  std::uint64_t sum = 0;
  auto position = static_cast<std::uint64_t>(first_row_ * n_);
  for (const double value : u)
    sum += empi::split_mix64(empi::split_mix64(position++) ^ std::bit_cast<std::uint64_t>(value));
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, world_);
  return sum;
}

}  // namespace jacobi
