// SPDX-License-Identifier: Apache-2.0
// Where a distributed sequence is cut, and who sends what to whom: plain values, no MPI.
//
// The cut positions depend only on the sequence (its weights and the places where it may be cut) and on the
// capacities, never on how the elements lie on the ranks before. So weights are summed as integers: every
// weight is rounded once to a fixed-point unit common to the whole sequence, and integer sums are exact in
// any order.
#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace elastic {

/// The fixed-point unit of a sequence of `count` weights (all ranks together) with maximum `largest`:
/// a power of two such that the sum of all weights times the scale stays below 2^62.
class WeightScale {
 public:
  WeightScale(double largest, std::int64_t count);

  /// A weight in units. Requires 0 <= weight <= largest and largest >= kNegligibleWeight.
  std::int64_t units(double weight) const { return std::llround(weight * scale_); }

 private:
  double scale_;
};

/// Sequences whose weights are all below this count as without weights: 1 each.
inline constexpr double kNegligibleWeight = 1e-280;

/// A place to cut: before element `position`, `distance` units of weight away from the wanted place.
struct Candidate {
  std::int64_t distance;
  std::int64_t position;
};

/// The wanted places of the cuts, in units of weight from the start: capacity.size() + 1 values from 0 to
/// `total`. Part r is wanted in [result[r], result[r+1]), in proportion to capacity[r].
/// Requires at least one capacity > 0, all of them finite and >= 0.
std::vector<std::int64_t> wanted_cuts(std::int64_t total, std::span<const double> capacity);

/// The best place to cut for each wanted place among the positions of one stretch of the sequence: elements
/// first_position, first_position + 1, ..., with the weights given in `weight` (empty = 1 each, `count`
/// elements) and `first_weight` units before the first of them. The lowest position wins a tie.
/// may_cut as in move_sequence. A stretch without an allowed position gives distances of INT64_MAX.
std::vector<Candidate> nearest_cuts(std::span<const std::int64_t> wanted, std::int64_t first_position,
                                    std::int64_t first_weight, std::int64_t count,
                                    std::span<const double> weight, const WeightScale& scale,
                                    std::span<const std::uint8_t> may_cut);

/// Combines the best candidates of all stretches with the two ends of the sequence (always allowed) into the
/// final cuts: wanted.size() positions, never decreasing, from 0 to `count`. Parts without capacity are
/// empty.
std::vector<std::int64_t> choose_cuts(std::span<const std::int64_t> wanted, std::span<const Candidate> best,
                                      std::int64_t count);

/// The cuts of a sequence without weights that may be cut anywhere: what the functions above come to, at
/// once. Requires count > 0 and capacities as for wanted_cuts.
std::vector<std::int64_t> even_cuts(std::int64_t count, std::span<const double> capacity);

/// The cuts of a whole sequence that lies in one place: part r gets elements [result[r], result[r+1]).
/// weight: one per element or empty (1 each); all finite and >= 0; if all are 0 they count
/// as 1 each.
/// Each part's weight differs from its share by at most the heaviest unbreakable group of elements.
/// Throws std::invalid_argument for bad sizes, weights or capacities.
std::vector<std::int64_t> cuts(std::int64_t count, std::span<const double> weight,
                               std::span<const double> capacity, std::span<const std::uint8_t> may_cut = {});

/// A stretch of the sequence that goes to, or comes from, one rank. Positions are global.
struct Transfer {
  int peer;
  std::int64_t begin;
  std::int64_t count;
};

/// The parts of [begin, end) that fall to each rank when rank r holds [offsets[r], offsets[r+1]); ascending,
/// without empty ones. Applied to my old range and the new cuts it says what I send; applied to my new range
/// and the old cuts, what I receive.
std::vector<Transfer> overlaps(std::int64_t begin, std::int64_t end, std::span<const std::int64_t> offsets);

}  // namespace elastic
