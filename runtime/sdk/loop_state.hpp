// SPDX-License-Identifier: Apache-2.0
// What is behind elastic::Loop, for its sources.
#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/large_bytes.hpp"
#include "runtime/sdk/items.hpp"

namespace elastic {

/// What the loop asks of checkpoints. Behind an interface, so that only programs that have them need HDF5.
class Checkpoints {
 public:
  virtual ~Checkpoints() = default;
  /// Before the first iteration of a job that starts. Collective over the world. Returns whether everything
  /// registered is now as it was in a checkpoint. Throws Error on all ranks if it must be and cannot.
  virtual bool restore() = 0;
  /// Collective over the world.
  virtual void after_iteration() = 0;
  /// Nothing that is in hand is needed: the world changes, or the loop is over. On all ranks alike; local.
  virtual void interrupt() = 0;
};

/// All that is registered of one rank: the replicated values, then each item.
struct StoredAll {
  empi::LargeBytes bytes;
  std::vector<std::int64_t> counts;  // elements of each; the values' are bytes
};

class Snapshots;

// Another rank has the cause and says it.
class GivenUpElsewhere : public Error {
 public:
  using Error::Error;
};

// Whether an exception only says that another rank has a cause: it gave something up, or was lost.
bool is_elsewhere(const std::exception& e);

// Does local work on all ranks. Throws on every rank if it throws on any. Collective.
template <class Work>
void agree(MPI_Comm everybody, Work work) {
  std::exception_ptr mine;
  try {
    work();
  } catch (...) {
    mine = std::current_exception();
  }
  const int good = mine ? 0 : 1;
  int all_good = 0;
  const int code = MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, everybody);
  if (mine) std::rethrow_exception(mine);
  check_mpi(code, "asking whether all ranks can go on");
  if (!all_good) throw GivenUpElsewhere("another rank could not go on");
}

struct Loop::State {
  ~State();
  void run(const std::function<bool(MPI_Comm)>& iteration);
  bool window();
  void move_all(MPI_Comm everybody);
  void release();
  void rebuild();
  void settle(bool committed, const std::string& why);
  bool adapt_now();
  std::string registered() const;

  // --- stored.cpp
  /// Without the values where another rank has them. Collective as far as the program's hooks are; `why`: why
  /// it could not be done on this rank. `memory`: for the bytes; what is in it is not needed.
  StoredAll store_all(bool with_values, std::string& why, empi::LargeBytes memory = {});
  /// What this of so many ranks takes of an item that has been stored by as many as there are counts.
  static Taken taken_of(const Item& item, std::span<const std::int64_t> counts, int ranks, int rank);
  /// As a change would: equal numbers of elements are not equal weights. Collective.
  void cut_anew(MPI_Comm world);
  void drop_items();

  // --- recovery.cpp
  /// One iteration, and what is between it and the next. False when it was the last.
  bool go_on(const std::function<bool(MPI_Comm)>& iteration);
  /// The same, of a program that goes on without ranks that are lost in it.
  bool go_on_or_recover(const std::function<bool(MPI_Comm)>& iteration);
  void or_recover(const std::function<void()>& work);
  /// Before the first iteration in a new world. Collective over it.
  void begin_with_others();
  /// Whether this world is smaller than the job wants it at least, as only losses make it. Collective over
  /// it.
  void count_workers();
  /// What is done instead of an iteration in such a world. Collective over it.
  void await_replacements();
  void recover();

  ReplicatedValues values;
  std::unique_ptr<Checkpoints> checkpoints;  // where the program and the job want them
  std::unique_ptr<Snapshots> snapshots;      // where the program wants them
  std::vector<std::unique_ptr<Item>> items;
  std::vector<std::function<void()>> release_hooks, save_hooks;
  std::vector<std::function<void(MPI_Comm)>> rebuild_hooks;
  double capacity = 1;
  int probe_every = 1;
  int unprobed = 0;  // iterations since the last probe; restarts with every change, so joiners agree
  bool joining = false, leaving = false, left = false;
  std::int64_t iterations = 0;  // done; the same on all ranks
  bool restored = false;
  bool snapshot_due = false;  // before anything else
  // Losses have left fewer workers than there are to be at least.
  struct Shortage {
    int fewest = 1;    // that there are to be, when it was last asked
    double since = 0;  // MPI_Wtime()
  };
  std::optional<Shortage> shortage;
  int phase = 0;    // calls of run() that have begun; the same on all ranks, joiners are told
  int entered = 0;  // of these: on this rank
  int changes = 0, rollbacks = 0, recoveries = 0;
  bool recovering = false;
  std::string last_rollback;
  bool built = false;  // the rebuild hooks ran and the release hooks did not since
  int passing_exceptions = 0;
  std::string exception;  // what ended run()
};

}  // namespace elastic
