// SPDX-License-Identifier: Apache-2.0
// Copies of all that is registered, in memory, on this rank and on one of another pod (decision R18).
//
// A snapshot is taken by all ranks after the same iteration. Each keeps its own bytes and those of its ward,
// the rank of the same slot on the pod that its own is the guardian of (guardians.hpp); so what one pod had
// is there when it is lost, and what one node had where the job is on several. Two snapshots are kept: while
// one is under way the one before is whole. Memory: at most four times what is registered.
#pragma once
#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/sdk/gifts.hpp"
#include "runtime/sdk/loop_state.hpp"

namespace elastic {

/// Where a rank is.
struct Place {
  int slots = 1;           // ranks in a pod
  std::uint64_t node = 0;  // a number for its pod's node, the same on all ranks of it
};

/// One of each rank. Collective where it says so.
class Snapshots {
 public:
  /// every: iterations between two; 0: so that they cost about a hundredth of the run, a second apart or
  /// more.
  Snapshots(Loop::State& loop, std::int64_t every, Place place)
      : loop_(loop), every_(every), slots_(place.slots), node_(place.node) {}

  /// Collective over the world. Throws Error when ranks of it are lost, and where nothing is registered.
  void take();
  /// Takes one when it is time. Collective over the world.
  void after_iteration();
  /// In the window of a change, before it is certain: gives those who stay what is not on two of their pods,
  /// so that a loss is borne before the new world has copied anything. Collective over stayers, leavers and
  /// joiners, in this order. Returns the bytes that this rank sent. Throws Error: with a code of MPI when
  /// ranks are lost, else on all of them.
  std::int64_t hand_over(MPI_Comm everybody, bool leaving);
  /// Makes everything registered what it was in the newest snapshot that is all there. Collective over
  /// `world`, of those who are left. Throws Error: on all of them alike when a part is lost, with a code of
  /// MPI when ranks of this world are lost, too.
  void restore(MPI_Comm world);

 private:
  struct Copy {
    int rank = -1;  // of the world then; -1: none
    empi::LargeBytes bytes;
  };
  struct Snapshot {
    std::int64_t number = 0;
    int ranks = 0;
    std::vector<std::int64_t> counts;  // of each rank, of each part
    Copy own, ward;
    std::vector<Copy> given;  // by leavers, until the next snapshot
    std::span<const std::int64_t> counts_of(int rank, std::size_t parts) const {
      return std::span(counts).subspan(static_cast<std::size_t>(rank) * parts, parts);
    }
  };
  // What a rank has of a snapshot, as others are told. Its own copy is the first one.
  struct Holding {
    std::int64_t number = 0;
    int ranks = 0;
    bool has_own = false;
    std::vector<int> copies;  // of ranks of the world then
  };
  using Holdings = std::array<Holding, 2>;  // the newest one, the one before
  // The snapshot to go back to: who gives the part of each rank of its world.
  struct Choice {
    std::int64_t number = 0;
    std::vector<int> givers;  // ranks of the present world
  };

  std::size_t parts() const { return loop_.items.size() + 1; }
  std::vector<std::int64_t> bytes_of_parts(const Snapshot& s, int rank) const;
  std::size_t bytes_of(const Snapshot& s, int rank) const;
  std::int64_t bytes_before(const Snapshot& s, int rank, std::size_t part) const;
  void exchange(Snapshot& fresh, const std::vector<std::uint64_t>& nodes, MPI_Comm world);
  std::int64_t iterations_until_next(double since_last) const;
  std::shared_ptr<Snapshot> find(std::int64_t number) const;
  Holding holding_of(const std::shared_ptr<Snapshot>& snapshot) const;
  std::vector<Holdings> all_holdings(MPI_Comm comm) const;
  Choice choose(MPI_Comm world) const;
  std::shared_ptr<Snapshot> known_to_all(const Holding& which, int first, MPI_Comm comm) const;
  std::int64_t give(const std::vector<Gift>& plan, Snapshot& snapshot, MPI_Comm everybody);
  void fetch_values(const Snapshot& s, const Choice& choice, MPI_Comm world);
  void fetch_item(const Snapshot& s, const Choice& choice, std::size_t part, MPI_Comm world);
  const Copy* copy_of(const Snapshot& s, int rank) const;

  Loop::State& loop_;
  const std::int64_t every_;
  const int slots_;
  const std::uint64_t node_;
  std::shared_ptr<Snapshot> newest_, before_;
  std::int64_t until_next_ = 1;  // the same on all ranks
  bool ready_ = false, told_why_ = false;
  double taken_at_ = 0, cost_ = 0;  // s
  std::int64_t iteration_taken_ = 0;
  // What messages of a world that was lost may still arrive in: for two more snapshots (quirk
  // requests-freed).
  std::vector<std::shared_ptr<void>> in_doubt_, long_in_doubt_;
};

}  // namespace elastic
