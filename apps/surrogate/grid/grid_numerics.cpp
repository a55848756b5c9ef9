// SPDX-License-Identifier: Apache-2.0
// Hierarchisation and evaluation.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "apps/surrogate/grid/grid.hpp"
#include "runtime/base/target_clones.hpp"

namespace sparse {
namespace {

// row -= fa * a + fb * b
EMPI_TARGET_CLONES void subtract(double* __restrict row, const double* __restrict a, double fa,
                                 const double* __restrict b, double fb, std::size_t count) {
#pragma omp simd
  for (std::size_t k = 0; k < count; ++k) row[k] -= fa * a[k] + fb * b[k];
}

EMPI_TARGET_CLONES void subtract(double* __restrict row, const double* __restrict a, double fa,
                                 std::size_t count) {
#pragma omp simd
  for (std::size_t k = 0; k < count; ++k) row[k] -= fa * a[k];
}

struct Term {
  std::int32_t point;
  double weight;
};

constexpr std::size_t kLanes = 8;

// Blocks * 8 outputs at a time stay in registers while all terms are added.
template <std::size_t Blocks>
[[gnu::always_inline]] inline void add_block(const Term* terms, std::size_t count, const double* surpluses,
                                             std::size_t stride, double* out) {
  double sum[Blocks][kLanes] = {};
  for (std::size_t t = 0; t < count; ++t) {
    const double* __restrict row = surpluses + static_cast<std::size_t>(terms[t].point) * stride;
    const double weight = terms[t].weight;
    for (std::size_t b = 0; b < Blocks; ++b)
#pragma omp simd
      for (std::size_t k = 0; k < kLanes; ++k) sum[b][k] += weight * row[b * kLanes + k];
  }
  for (std::size_t b = 0; b < Blocks; ++b)
    for (std::size_t k = 0; k < kLanes; ++k) out[b * kLanes + k] = sum[b][k];
}

EMPI_TARGET_CLONES void add_terms(const Term* terms, std::size_t count, const double* surpluses,
                                  std::size_t stride, double* out) {
  std::size_t at = 0;
  for (; at + 5 * kLanes <= stride; at += 5 * kLanes)
    add_block<5>(terms, count, surpluses + at, stride, out + at);
  for (; at + 2 * kLanes <= stride; at += 2 * kLanes)
    add_block<2>(terms, count, surpluses + at, stride, out + at);
  for (; at < stride; at += kLanes) add_block<1>(terms, count, surpluses + at, stride, out + at);
}

}  // namespace

// `around`: the nearest ancestors left and right along the dimension (-1: none), and the next ones beyond
// them. Descendants first: they need their ancestors' values as they were.
void Grid::lift(std::int32_t point, std::size_t dimension, const std::int32_t (&around)[4], std::size_t first,
                std::size_t last) {
  const auto [left, right, left2, right2] = around;
  const std::int32_t* child = &children_[(static_cast<std::size_t>(point) * dimensions_ + dimension) * 2];
  if (child[0] >= 0) lift(child[0], dimension, {left, point, left2, right}, first, last);
  if (child[1] >= 0) lift(child[1], dimension, {point, right, left, right2}, first, last);

  const auto row = [&](std::int32_t p) {
    return surpluses_.data() + static_cast<std::size_t>(p) * stride_ + first;
  };
  const std::size_t count = last - first;
  if (left >= 0 && right >= 0) {
    subtract(row(point), row(left), 0.5, row(right), 0.5, count);
    return;
  }
  const std::int32_t near = left >= 0 ? left : right, far = left >= 0 ? left2 : right2;
  if (near < 0) return;
  if (boundary_ == Boundary::None)
    subtract(row(point), row(near), 0.5, count);
  else if (far < 0)
    subtract(row(point), row(near), 1, count);
  else
    subtract(row(point), row(near), 1.5, row(far), -0.5, count);
}

void Grid::hierarchise() { hierarchise(0, outputs()); }

void Grid::hierarchise(int first, int last) {
  if (!complete()) throw std::logic_error("sparse::Grid: values are missing");
  if (first < 0 || last > outputs() || first >= last)
    throw std::invalid_argument("sparse::Grid: no such range of outputs");
  const auto from = static_cast<std::size_t>(first), to = static_cast<std::size_t>(last);
  surpluses_.resize(values_.size(), 0.0);
  for (std::size_t p = 0; p < size(); ++p)
    std::copy_n(values_.data() + p * stride_ + from, to - from, surpluses_.data() + p * stride_ + from);
  for (std::size_t k = 0; k < dimensions_; ++k)
    for (std::size_t p = 0; p < size(); ++p)
      if (nodes_[p * dimensions_ + k] == kRoot)
        lift(static_cast<std::int32_t>(p), k, {-1, -1, -1, -1}, from, to);
}

std::vector<double> Grid::surpluses(int first, int last) const {
  std::vector<double> rows;
  for (std::size_t p = 0; p < size(); ++p) {
    const auto row = surplus(p);
    rows.insert(rows.end(), row.begin() + first, row.begin() + last);
  }
  return rows;
}

void Grid::set_surpluses(int first, int last, std::span<const double> rows) {
  const auto width = static_cast<std::size_t>(last - first);
  if (!complete() || rows.size() != size() * width)
    throw std::invalid_argument("sparse::Grid: surpluses of all points expected");
  surpluses_.resize(values_.size(), 0.0);
  for (std::size_t p = 0; p < size(); ++p)
    std::copy_n(rows.data() + p * width, width,
                surpluses_.data() + p * stride_ + static_cast<std::size_t>(first));
}

// In each dimension one function per depth is not 0 at x, on one path down the tree. The points whose product
// is not 0 are found by going down these paths, the dimensions of a point in ascending order.
struct Grid::Walk {
  const Grid& grid;
  double value[64][kDeepest + 1];       // of the function at a depth
  std::uint8_t side[64][kDeepest + 1];  // where the path goes on from a depth
  double rest[65];                      // product of the roots' values from a dimension on
  std::vector<Term>& terms;

  Walk(const Grid& of, std::span<const double> x, std::vector<Term>& into) : grid(of), terms(into) {
    const std::size_t d = grid.dimensions_;
    for (std::size_t k = 0; k < d; ++k) {
      const double at = std::clamp(x[k], 0.0, 1.0);
      Node1 node = kRoot;
      for (int depth = 0; depth <= grid.depth_; ++depth) {
        value[k][depth] = value_of(grid.boundary_, node, at);
        int towards = at < position_of(grid.boundary_, node) ? 0 : 1;
        if (grid.boundary_ == Boundary::Points && depth == 1) towards = node == 2 ? 1 : 0;
        side[k][depth] = static_cast<std::uint8_t>(towards);
        node = 2 * node + static_cast<Node1>(towards);
      }
    }
    rest[d] = 1;
    for (std::size_t k = d; k-- > 0;) rest[k] = rest[k + 1] * value[k][0];
  }

  // before: product over the dimensions before k, in which the point is final.
  void visit(std::int32_t point, std::size_t k, int depth, double before) {
    const double here = before * value[k][depth];
    if (here == 0) return;
    terms.push_back({point, here * rest[k + 1]});
    const std::int32_t* children = &grid.children_[static_cast<std::size_t>(point) * grid.dimensions_ * 2];
    const std::int32_t below = children[2 * k + side[k][depth]];
    if (below >= 0) visit(below, k, depth + 1, before);
    double product = here;
    for (std::size_t next = k + 1; next < grid.dimensions_; ++next) {
      const std::int32_t child = children[2 * next + side[next][0]];
      if (child >= 0) visit(child, next, 1, product);
      product *= value[next][0];
    }
  }
};

void Grid::evaluate(std::span<const double> x, std::span<double> out) const {
  if (x.size() != dimensions_ || out.size() != outputs_)
    throw std::invalid_argument("sparse::Grid: evaluate takes d coordinates and m outputs");
  if (surpluses_.size() != values_.size() || surpluses_.empty())
    throw std::logic_error("sparse::Grid: hierarchise() before evaluate()");
  thread_local std::vector<Term> terms;
  thread_local std::vector<double> row;
  terms.clear();
  row.resize(stride_);
  Walk walk(*this, x, terms);
  walk.visit(0, 0, 0, 1);
  if (!complete())
    std::erase_if(terms, [this](const Term& t) { return static_cast<std::size_t>(t.point) >= filled_; });
  add_terms(terms.data(), terms.size(), surpluses_.data(), stride_, row.data());
  std::copy_n(row.begin(), outputs_, out.begin());
}

}  // namespace sparse
