// SPDX-License-Identifier: Apache-2.0
// The highest that the water has been, on a regular raster: what hazard maps are drawn from.
#pragma once
#include <mpi.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/tsunami/app/options.hpp"
#include "apps/tsunami/solver/solver.hpp"

namespace tsunami {

/// Of each cell, over all steps: highest surface, highest speed, deepest flood of what is land, arrival. A
/// point of the raster has what the cells around it had. Cells keep theirs until they change; then it goes
/// into this rank's raster. The same on any number of ranks, to the bit. All local but where it is said.
class Maxima {
 public:
  /// Points are the middles of squares of options.maxima degrees that fill the domain from its south-west; 0:
  /// nothing is kept.
  Maxima(const Options& options, const swe::Parameters& setup, const swe::Metric& metric);

  bool kept() const { return !points_.empty(); }
  /// After each step (and at the start).
  template <class Stored>
  void note(const swe::BasicSolver<Stored>& solver);
  /// Before cells change or move, and before the raster is read.
  template <class Stored>
  void settle(const swe::BasicSolver<Stored>& solver);
  /// Instead, where the solver is not whole: what was noted since the last settle() is lost.
  void forget();

  /// What elastic::Loop::data() wants. move() is collective over `everybody`: what a leaver knows, the others
  /// know after it. load() merges what ranks have saved.
  std::int64_t move(MPI_Comm everybody, double capacity);
  void accept();
  std::vector<std::byte> save() const;
  void load(const std::vector<std::span<const std::byte>>& parts);

  /// After settle(): a netCDF file by the CF conventions 1.8, written by rank 0. Collective over world.
  /// Throws io::FileError on all ranks.
  void write(MPI_Comm world, const std::string& path, const std::string& title) const;

 private:
  // Each the larger the more; minus infinity: never. Of the speed its square.
  enum Field { kElevation, kSpeed, kFlood, kMinusArrival, kFields };
  using Values = std::array<float, kFields>;
  struct Point {
    std::uint64_t key;  // of the finest cell that it lies in
    std::size_t place;  // in the raster
  };
  static void merge(Values& into, const Values& other);

  double west_ = 0, south_ = 0, spacing_ = 0, sea_level_ = 0, dry_ = 0, radius_ = 0;
  std::size_t nx_ = 0, ny_ = 0;
  std::vector<Point> points_;  // in the order of the cells
  std::vector<Values> raster_, next_;
  std::vector<Values> cells_;
};

}  // namespace tsunami
