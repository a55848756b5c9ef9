// SPDX-License-Identifier: Apache-2.0
// Where points are added.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>

#include "apps/surrogate/grid/grid.hpp"

namespace sparse {
namespace {

// A surplus may be 0 by chance, at an inflection or in the middle of something odd. In a mean of logarithms
// it counts as this part of the outputs' root mean square, so that it does not close the way for good.
constexpr double kByChance = 1e-6;

}  // namespace

std::vector<double> Grid::scores() const {
  double squares = 0;
  for (std::size_t k = 0; k < filled_ * stride_; ++k) squares += values_[k] * values_[k];
  const double scale = std::sqrt(squares / static_cast<double>(std::max<std::size_t>(1, filled_ * outputs_)));
  std::vector<double> result(filled_);
  for (std::size_t point = 0; point < filled_; ++point) {
    double largest = 0;
    for (const double s : surplus(point)) largest = std::max(largest, std::abs(s));
    result[point] = scale > 0 ? largest / scale : 0;
  }
  return result;
}

// Logarithms of the surpluses' Euclidean norms, in units of the outputs' root mean square.
std::vector<double> Grid::log_norms() const {
  double squares = 0;
  for (std::size_t k = 0; k < filled_ * stride_; ++k) squares += values_[k] * values_[k];
  const double unit = std::sqrt(squares / static_cast<double>(std::max<std::size_t>(1, filled_)));
  std::vector<double> result(filled_);
  for (std::size_t point = 0; point < filled_; ++point) {
    double sum = 0;
    for (const double s : surplus(point)) sum += s * s;
    result[point] = std::log(std::max(unit > 0 ? std::sqrt(sum) / unit : 0, kByChance));
  }
  return result;
}

// Logarithm of the mean of a point's basis function over samples.
double Grid::log_mean(std::span<const Node1> key, std::span<const double> samples) const {
  if (samples.empty()) return 0;
  double sum = 0;
  for (std::size_t at = 0; at < samples.size(); at += dimensions_) {
    double product = 1;
    for (std::size_t k = 0; k < dimensions_ && product > 0; ++k)
      product *= value_of(boundary_, key[k], samples[at + k]);
    sum += product;
  }
  return std::log(
      std::max(sum * static_cast<double>(dimensions_) / static_cast<double>(samples.size()), kByChance));
}

// call(key) for each child that a point may have; points may be added meanwhile.
template <class Call>
void Grid::each_child(std::size_t point, int deepest, Call&& call) const {
  std::vector<Node1> key(nodes(point).begin(), nodes(point).end());
  for (std::size_t k = 0; k < dimensions_; ++k) {
    const Node1 node = key[k];
    if (depth_of(node) >= deepest) continue;
    for (int side = 0; side < 2; ++side) {
      key[k] = child_of(boundary_, node, side);
      if (key[k] != 0) call(key);
    }
    key[k] = node;
  }
}

// Points with the largest surplus get all their children.
std::size_t Grid::refine_points(const Refinement& by) {
  const std::vector<double> score = scores();
  std::vector<double> rank(size());
  for (std::size_t p = 0; p < size(); ++p) rank[p] = std::log(score[p]) + log_mean(nodes(p), by.samples);
  std::vector<std::size_t> order(size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return rank[a] > rank[b]; });
  const std::size_t before = size();
  for (const std::size_t point : order) {
    if (size() - before >= by.most_points) break;
    if (score[point] <= by.tolerance) continue;
    each_child(point, by.deepest, [this](std::vector<Node1>& key) { add(key); });
  }
  return size() - before;
}

// The largest expected surpluses of points that are not there.
std::size_t Grid::refine_children(const Refinement& by) {
  const std::vector<double> score = scores();
  const std::vector<double> norms = log_norms();
  struct Candidate {
    double rank;
    std::vector<Node1> key;
  };
  std::vector<Candidate> candidates;
  std::set<std::vector<Node1>> seen;
  // Of the parents of the point at `key`: whether all are there, and one has a surplus; and their mean.
  const auto consider = [&](std::vector<Node1> key) {
    if (find(key) >= 0 || !seen.insert(key).second) return;
    double sum = 0, largest = 0;
    int parents = 0;
    std::vector<Node1> parent = key;
    for (std::size_t k = 0; k < dimensions_; ++k) {
      if (key[k] == kRoot) continue;
      parent[k] = parent_of(key[k]);
      const std::int32_t there = find(parent);
      parent[k] = key[k];
      if (there < 0) return;
      sum += norms[static_cast<std::size_t>(there)];
      largest = std::max(largest, score[static_cast<std::size_t>(there)]);
      ++parents;
    }
    if (largest > by.tolerance)
      candidates.push_back({sum / parents + log_mean(key, by.samples), std::move(key)});
  };
  for (std::size_t point = 0; point < size(); ++point) each_child(point, by.deepest, consider);
  std::ranges::stable_sort(candidates,
                           [](const Candidate& a, const Candidate& b) { return a.rank > b.rank; });
  candidates.resize(std::min(candidates.size(), by.most_points));
  for (Candidate& candidate : candidates) add(candidate.key);
  return candidates.size();
}

std::size_t Grid::refine(const Refinement& by) {
  if (!complete() || surpluses_.size() != values_.size())
    throw std::logic_error("sparse::Grid: refining needs all values, and hierarchise()");
  if (by.samples.size() % dimensions_ != 0)
    throw std::invalid_argument("sparse::Grid: samples of d coordinates each expected");
  return by.by == Indicator::Surplus ? refine_points(by) : refine_children(by);
}

}  // namespace sparse
