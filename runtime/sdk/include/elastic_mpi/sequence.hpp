// SPDX-License-Identifier: Apache-2.0
// Moves distributed sequences between ranks: load balancing and resizing are the same call.
//
// A distributed sequence is the concatenation, in rank order, of one array per rank. It is cut anew in
// proportion to a capacity per rank; a capacity of 0 means that a rank receives nothing (it leaves, say), and
// a rank without elements is a joiner or just empty. Every element goes straight to its final owner. The new
// cuts depend on the sequence and the capacities only, not on how the elements were distributed before.
#pragma once
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <elastic_error.hpp>
#include <span>
#include <type_traits>
#include <vector>

namespace elastic {

/// How a sequence is cut now and how it will be: made once, used for every array with one entry per element.
class SequencePlan {
 public:
  /// An element size no rank can have: a rank that gives it makes the constructor throw on every rank.
  static constexpr std::size_t bad_size = static_cast<std::size_t>(-1) / 2;

  /// Agrees on new cuts. Collective on comm; `element_bytes` (or 0: not known yet) must agree everywhere.
  /// count: elements on this rank. weight: load of each of them in any unit, finite and >= 0; empty = 1 each,
  /// and then it must be empty on every rank that has elements; all zero counts as 1 each.
  /// capacity: this rank's share is capacity / sum of capacities; finite and >= 0; at least one must be > 0
  /// unless there are no elements at all. may_cut[i] != 0: a part may begin at local element i; empty =
  /// anywhere. Each part's weight is within the heaviest unbreakable group of elements of its share.
  /// Throws Error on every rank if arguments are bad or disagree on any, and where an MPI call fails. Only
  /// small messages; the ones with the elements come in move.
  SequencePlan(MPI_Comm comm, std::int64_t count, std::size_t element_bytes, std::span<const double> weight,
               double capacity, std::span<const std::uint8_t> may_cut = {});

  /// Elements on this rank before and after.
  std::int64_t old_count() const { return old_offsets_[rank_ + 1] - old_offsets_[rank_]; }
  std::int64_t new_count() const { return new_offsets_[rank_ + 1] - new_offsets_[rank_]; }
  /// Global number of the first element of every rank, and the total: size of comm + 1 values.
  const std::vector<std::int64_t>& old_offsets() const { return old_offsets_; }
  const std::vector<std::int64_t>& new_offsets() const { return new_offsets_; }
  /// Bytes this rank sends to others when elements have `element_bytes` bytes.
  std::int64_t sent_bytes(std::size_t element_bytes) const;

  /// Moves raw elements: old_count() of them at `from` to new_count() of them at `to`; no overlap.
  /// Collective on the communicator of the plan, given again here. Messages only between ranks whose old and
  /// new ranges overlap. If MPI fails, it revokes the communicator and throws Error; before that it calls
  /// `on_failure`, which must keep `to` alive for good, because MPI may still write to it.
  void move_bytes(MPI_Comm comm, std::size_t element_bytes, const void* from, void* to,
                  void (*on_failure)(void* context), void* context) const;

  /// Moves one array that has an entry per element. Collective on comm (the plan's communicator).
  /// mine: old_count() x width values (width > 1: a row per element), untouched. Returns new_count() x width.
  /// Throws Error as above.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  std::vector<T> move(MPI_Comm comm, std::span<const T> mine, std::size_t width = 1) const {
    check_count(mine.size(), width);
    std::vector<T> fresh(static_cast<std::size_t>(new_count()) * width);
    const auto keep = [](void* kept) { new std::vector<T>(std::move(*static_cast<std::vector<T>*>(kept))); };
    move_bytes(comm, sizeof(T) * width, mine.data(), fresh.data(), keep, &fresh);
    return fresh;
  }

 private:
  void check_count(std::size_t size, std::size_t width) const;

  std::size_t rank_ = 0;
  std::vector<std::int64_t> old_offsets_, new_offsets_;
};

/// Moves a distributed sequence (the concatenation of `mine` in rank order of comm) to new contiguous cuts in
/// proportion to capacity, with one move straight to the final owners. Arguments, collectivity and errors as
/// for SequencePlan. Returns this rank's new part.
template <class T>
  requires std::is_trivially_copyable_v<T>
std::vector<T> move_sequence(MPI_Comm comm, std::span<const T> mine, std::span<const double> weight,
                             double capacity, std::span<const std::uint8_t> may_cut = {}) {
  const SequencePlan plan(comm, static_cast<std::int64_t>(mine.size()), sizeof(T), weight, capacity, may_cut);
  return plan.move(comm, mine);
}

}  // namespace elastic
