// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/grid/grid.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace sparse {
namespace {

constexpr std::size_t kMostPoints = 100'000'000;

}  // namespace

Grid::Grid(int dimensions, int outputs, Boundary boundary)
    : dimensions_(static_cast<std::size_t>(dimensions)),
      outputs_(static_cast<std::size_t>(outputs)),
      stride_((outputs_ + 7) / 8 * 8),
      boundary_(boundary) {
  if (dimensions < 1 || dimensions > 64)
    throw std::invalid_argument("sparse::Grid: 1 to 64 dimensions expected");
  if (outputs < 1 || outputs > 1'000'000)
    throw std::invalid_argument("sparse::Grid: 1 to 1000000 outputs expected");
  rehash(64);
}

void Grid::position(std::size_t point, std::span<double> at) const {
  for (std::size_t k = 0; k < dimensions_; ++k)
    at[k] = position_of(boundary_, nodes_[point * dimensions_ + k]);
}

std::size_t Grid::bucket_of(std::span<const Node1> key) const {
  std::uint64_t hash = 0x9e3779b97f4a7c15ull;
  for (const Node1 node : key) {
    hash = (hash ^ node) * 0xff51afd7ed558ccdull;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash) & (buckets_.size() - 1);
}

void Grid::rehash(std::size_t buckets) {
  buckets_.assign(buckets, -1);
  for (std::size_t point = 0; point < size(); ++point) {
    std::size_t b = bucket_of(nodes(point));
    while (buckets_[b] >= 0) b = (b + 1) & (buckets - 1);
    buckets_[b] = static_cast<std::int32_t>(point);
  }
}

std::int32_t Grid::find(std::span<const Node1> key) const {
  for (std::size_t b = bucket_of(key);; b = (b + 1) & (buckets_.size() - 1)) {
    const std::int32_t point = buckets_[b];
    if (point < 0 || std::ranges::equal(nodes(static_cast<std::size_t>(point)), key)) return point;
  }
}

// Ancestors first: a point is always numbered after those it stands on.
std::int32_t Grid::add(std::vector<Node1>& key) {
  const std::int32_t there = find(key);
  if (there >= 0) return there;
  if (size() >= kMostPoints)
    throw std::length_error(
        "sparse::Grid: more than 100 million points: a lower level or tolerance is needed");
  std::int32_t parents[64];
  for (std::size_t k = 0; k < dimensions_; ++k) {
    parents[k] = -1;
    if (key[k] == kRoot) continue;
    const Node1 node = key[k];
    key[k] = parent_of(node);
    parents[k] = add(key);
    key[k] = node;
  }
  const auto point = static_cast<std::int32_t>(size());
  if (2 * (size() + 1) > buckets_.size()) rehash(2 * buckets_.size());
  nodes_.insert(nodes_.end(), key.begin(), key.end());
  children_.insert(children_.end(), 2 * dimensions_, -1);
  for (std::size_t k = 0; k < dimensions_; ++k) {
    depth_ = std::max(depth_, depth_of(key[k]));
    if (parents[k] >= 0)
      children_[(static_cast<std::size_t>(parents[k]) * dimensions_ + k) * 2 + (key[k] & 1)] = point;
  }
  std::size_t b = bucket_of(key);
  while (buckets_[b] >= 0) b = (b + 1) & (buckets_.size() - 1);
  buckets_[b] = point;
  return point;
}

Grid Grid::of_nodes(int dimensions, int outputs, Boundary boundary, std::span<const Node1> nodes) {
  Grid grid(dimensions, outputs, boundary);
  const std::size_t d = grid.dimensions_;
  if (nodes.size() % d != 0) throw std::invalid_argument("sparse::Grid: nodes of whole points expected");
  std::vector<Node1> key(d);
  for (std::size_t p = 0; p < nodes.size() / d; ++p) {
    for (std::size_t k = 0; k < d; ++k) {
      key[k] = nodes[p * d + k];
      const Node1 node = key[k];
      if (node == 0 || (node != kRoot && child_of(boundary, parent_of(node), node & 1) != node))
        throw std::invalid_argument("sparse::Grid: " + std::to_string(node) + " is no node of a tree");
    }
    if (grid.add(key) != static_cast<std::int32_t>(p))
      throw std::invalid_argument("sparse::Grid: points once and after their ancestors expected");
  }
  return grid;
}

void Grid::add_below(std::vector<Node1>& key, std::size_t from, int depths_left) {
  add(key);
  if (depths_left == 0) return;
  for (std::size_t k = from; k < dimensions_; ++k) {
    const Node1 node = key[k];
    for (int side = 0; side < 2; ++side) {
      key[k] = child_of(boundary_, node, side);
      if (key[k] != 0) add_below(key, k, depths_left - 1);
    }
    key[k] = node;
  }
}

std::size_t Grid::add_regular(int level) {
  if (level < 1 || level > kDeepest) throw std::invalid_argument("sparse::Grid: levels are 1 to 24");
  const std::size_t before = size();
  std::vector<Node1> key(dimensions_, kRoot);
  add_below(key, 0, level - 1);
  return size() - before;
}

void Grid::append_values(std::span<const double> rows) {
  if (rows.size() % outputs_ != 0 || filled_ + rows.size() / outputs_ > size())
    throw std::invalid_argument("sparse::Grid: " + std::to_string(size() - filled_) + " rows of " +
                                std::to_string(outputs_) + " values are missing, " +
                                std::to_string(rows.size()) + " numbers came");
  for (const double value : rows)
    if (!std::isfinite(value)) throw std::invalid_argument("sparse::Grid: a value is not finite");
  for (std::size_t at = 0; at < rows.size(); at += outputs_) {
    values_.insert(values_.end(), rows.begin() + static_cast<std::ptrdiff_t>(at),
                   rows.begin() + static_cast<std::ptrdiff_t>(at + outputs_));
    values_.resize(values_.size() + stride_ - outputs_, 0.0);
  }
  filled_ += rows.size() / outputs_;
}

}  // namespace sparse
