// SPDX-License-Identifier: Apache-2.0
// Interpolation from the unit cube of d dimensions to m outputs on an adaptive sparse grid: it stands for a
// forward model that costs too much to be asked every time. Nothing here communicates.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "apps/surrogate/grid/basis.hpp"

namespace sparse {

/// What a refinement goes by.
enum class Indicator {
  /// Points with the largest surplus get all their children, and these their ancestors.
  Surplus,
  /// Points that are not there yet, one by one: their own surplus is expected to be as the geometric mean of
  /// their
  /// parents'. Only points all of whose parents are there. Of the 2 d children of a point these are the few
  /// in whose
  /// direction the function bends.
  Children,
};

/// Products of the one-dimensional functions of basis.hpp, seed 000 section 7.2; H.-J. Bungartz, M. Griebel,
/// Acta Numerica 13 (2004) 147.
///
///   sparse::Grid grid(d, m, sparse::Boundary::Modified);
///   grid.add_regular(3);
///   while (!grid.complete()) {
///     grid.append_values(values of the points from grid.filled() on);  // rows of m
///     grid.hierarchise();
///     grid.refine({.tolerance = 1e-2, .most_points = 1000});           // adds points without values
///   }
///   grid.evaluate(x, y);
///
/// With every point the grid holds all its ancestors in every dimension. Points keep their numbers. What a
/// grid holds is the same for the same calls, to the bit.
class Grid {
 public:
  /// Throws std::invalid_argument unless dimensions is 1 to 64 and outputs 1 to 1'000'000.
  Grid(int dimensions, int outputs, Boundary boundary);

  /// The grid of these points (all_nodes() of another one), none of them with values. Throws
  /// std::invalid_argument when they are no nodes of trees, or not after their ancestors.
  static Grid of_nodes(int dimensions, int outputs, Boundary boundary, std::span<const Node1> nodes);

  int dimensions() const { return static_cast<int>(dimensions_); }
  int outputs() const { return static_cast<int>(outputs_); }
  Boundary boundary() const { return boundary_; }
  /// Points, with and without values; those with values are the first filled().
  std::size_t size() const { return nodes_.size() / dimensions_; }
  std::size_t filled() const { return filled_; }
  bool complete() const { return filled_ == size(); }

  /// All points whose depths add up to less than `level` (1: the centre alone): |U_level| of the regular
  /// sparse grid. Returns how many are new. Throws std::length_error beyond 100 million points.
  std::size_t add_regular(int level);
  /// Where a point is; at: d numbers.
  void position(std::size_t point, std::span<double> at) const;
  std::span<const Node1> nodes(std::size_t point) const {
    return {nodes_.data() + point * dimensions_, dimensions_};
  }

  const std::vector<Node1>& all_nodes() const { return nodes_; }

  /// The outputs of the points from filled() on: rows of m numbers. Throws std::invalid_argument when they
  /// are more than are missing, no whole rows, or not finite.
  void append_values(std::span<const double> rows);
  std::span<const double> values(std::size_t point) const {
    return {values_.data() + point * stride_, outputs_};
  }
  /// The coefficient of a point's basis function, m numbers; valid after hierarchise().
  std::span<const double> surplus(std::size_t point) const {
    return {surpluses_.data() + point * stride_, outputs_};
  }

  /// Values to surpluses, for all points; dimension by dimension. Throws std::logic_error when values are
  /// missing.
  void hierarchise();
  /// The same for outputs [first, last) only. Outputs are independent of each other: threads and ranks can
  /// share the work, and set_surpluses() takes what others computed: size() rows of last - first.
  void hierarchise(int first, int last);
  std::vector<double> surpluses(int first, int last) const;
  void set_surpluses(int first, int last, std::span<const double> rows);

  struct Refinement {
    double tolerance = 0;  ///< points whose surplus is larger, in units of the outputs' root mean square
    std::size_t most_points = SIZE_MAX;  ///< about as many points are added, those that matter most first
    int deepest = kDeepest;              ///< no nodes deeper than this, in any dimension
    Indicator by = Indicator::Surplus;
    /// Where the interpolant matters: samples of d coordinates. A surplus is multiplied by the mean of its
    /// basis function over them; without samples by 1.
    std::span<const double> samples = {};
  };
  /// Adds points where the surplus is large. Returns how many are new. Throws std::logic_error unless
  /// complete, and std::invalid_argument for samples that are no rows of d.
  std::size_t refine(const Refinement& by);
  /// Largest surplus of any output of a point, in units of the outputs' root mean square.
  std::vector<double> scores() const;

  /// The interpolant at x (d numbers, moved into the cube if outside) to out (m numbers). Safe for several
  /// threads at once. hierarchise() must have been called.
  void evaluate(std::span<const double> x, std::span<double> out) const;

  /// One self-describing file: a line of JSON with the sizes and `note` (a JSON text of the caller's: what
  /// was computed, with which parameters), nodes and values, a checksum. Written beside `path` and renamed.
  /// Points without values are left out. Throws io::FileError.
  void save(const std::string& path, const std::string& note = "{}") const;
  /// Throws io::FileError when the file is damaged or of another kind. note: as given to save().
  static Grid load(const std::string& path, std::string* note = nullptr);

 private:
  struct Walk;
  std::size_t refine_points(const Refinement& by);
  std::size_t refine_children(const Refinement& by);
  template <class Call>
  void each_child(std::size_t point, int deepest, Call&& call) const;
  std::vector<double> log_norms() const;
  double log_mean(std::span<const Node1> key, std::span<const double> samples) const;
  std::int32_t find(std::span<const Node1> key) const;
  std::int32_t add(std::vector<Node1>& key);
  void add_below(std::vector<Node1>& key, std::size_t from, int depths_left);
  void rehash(std::size_t buckets);
  std::size_t bucket_of(std::span<const Node1> key) const;
  void lift(std::int32_t point, std::size_t dimension, const std::int32_t (&around)[4], std::size_t first,
            std::size_t last);

  std::size_t dimensions_, outputs_, stride_;
  Boundary boundary_;
  std::size_t filled_ = 0;
  int depth_ = 0;                           // of the deepest node in any dimension
  std::vector<Node1> nodes_;                // size x d
  std::vector<std::int32_t> children_;      // size x d x 2; -1: none
  std::vector<std::int32_t> buckets_;       // open addressing; -1: empty
  std::vector<double> values_, surpluses_;  // filled x stride, padding 0
};

}  // namespace sparse
