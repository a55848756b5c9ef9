// SPDX-License-Identifier: Apache-2.0
// Exchange of values with the cells across halo edges, by plain point-to-point messages.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace mesh {

// One slot per halo edge, sorted by (rank, edge): both ranks of a pair see their shared edges in the same
// order.
class Halo {
 public:
  struct Neighbour {
    int rank;
    std::int32_t begin, end;  // slots
  };

  Halo() = default;
  Halo(MPI_Comm comm, std::vector<Neighbour> neighbours, std::vector<std::int32_t> cells)
      : comm_(comm), neighbours_(std::move(neighbours)), cells_(std::move(cells)) {}

  std::size_t size() const { return cells_.size(); }
  std::span<const Neighbour> neighbours() const { return neighbours_; }
  // This rank's cell at each slot.
  std::span<const std::int32_t> cells() const { return cells_; }

  // Starts sending fields[f][send[slot]] and receiving fields[f][receive[slot]] for every field and slot.
  // Collective with the neighbours. finish() must follow, with the arrays unmoved, before the next start().
  // Of doubles, or of floats; on their way all are doubles.
  template <class Stored>
  void start(std::span<Stored* const> fields, std::span<const std::int32_t> send,
             std::span<const std::int32_t> receive);
  void finish();

  // Sends send[slot] and returns what the other side of each slot sent. Collective with the neighbours.
  std::vector<std::uint64_t> exchange(std::span<const std::uint64_t> send) const;
  std::vector<std::uint8_t> exchange(std::span<const std::uint8_t> send) const;

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<Neighbour> neighbours_;
  std::vector<std::int32_t> cells_;
  std::vector<double> send_, receive_;
  std::vector<MPI_Request> requests_;
  std::tuple<std::vector<double*>, std::vector<float*>> targets_;  // one of them is empty
  std::vector<std::int32_t> receive_at_;
};

}  // namespace mesh
