// SPDX-License-Identifier: Apache-2.0
// Direct solver for Poisson's equation on one fixed box: for the pressure, which Flow needs in every time
// step. For the few dozen cells across a channel it is faster than a fast Fourier transform.
#pragma once
#include <cstddef>
#include <vector>

namespace flow {

/// Five points, nx x ny cells: a cosine transform in y (as a product with a small dense matrix) and one
/// tridiagonal system in x per mode, factored once.
///
/// The normal derivative is 0 on all sides; with `open_east` the value is 0 on the eastern side instead. In a
/// closed box the right-hand side must add up to 0, and the solution's mean over the first column is 0.
class Poisson {
 public:
  /// hx, hy: width of a cell. Throws std::invalid_argument unless sizes are positive.
  Poisson(int nx, int ny, double hx, double hy, bool open_east);

  /// Distance in memory between columns of constant x: ny, padded for vector instructions.
  int stride() const { return 2 * width_; }
  /// Where cell (i, j) is in memory.
  std::size_t at(int i, int j) const { return in_rows(i, stride(), j); }
  /// In place: right-hand side in, solution out; cell (i, j) at [at(i, j)], nx * stride() values.
  /// What the padding holds does not matter. Not for two threads at once.
  void solve(std::vector<double>& values);

 private:
  static std::size_t in_rows(int row, int width, int column) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(width) + static_cast<std::size_t>(column);
  }
  void make_cosines();

  int nx_, ny_;
  // Cosines are even or odd about the middle, which halves the products: cells j and ny - 1 - j are added up
  // for the even modes and subtracted for the odd ones. A row in memory: half_ even, then half_ odd, both
  // padded to width_.
  int half_, width_;
  std::vector<double> even_, odd_, even_back_, odd_back_;  // half_ x width_: cell -> mode, mode -> cell
  std::vector<double> pivot_, upper_;                      // nx x stride: the factored tridiagonal systems
  double off_;                                             // their constant entry beside the diagonal
  std::vector<double> folded_, modes_;
};

}  // namespace flow
