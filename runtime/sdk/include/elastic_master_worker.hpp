// SPDX-License-Identifier: Apache-2.0
// elastic::MasterWorker: a loop over independent tasks, done by workers that come and go while it runs.
//
//   elastic::MasterWorker job(argc, argv);                        // MPI_Init_adapt; MPI_Finalize at the end
//   auto energy = job.map(n, [&](std::int64_t i) {                // instead of: for (i = 0; i < n; ++i)
//     return simulate(parameters[i]);
//   });
//   if (job.master()) write(energy);                              // by index, as the loop would have given
//
// Several phases, where what is to be done next depends on the results so far:
//
//   std::vector<Point> points;  Grid grid;
//   if (!job.joining()) points = first_points();
//   job.replicate(points, grid.nodes);                            // joiners get these; see replicate
//   while (!job.left() && !points.empty()) {
//     auto values = job.map(std::ssize(points), [&](std::int64_t i) { return model(points[i]); });
//     if (!job.left()) points = grid.refine(points, values);      // on all ranks alike
//   }
//
// One rank keeps the queue of tasks, and computes as well; the others ask it. A rank that joins begins at
// once, in the middle of a phase; one that leaves does so after the task in hand; no other rank stops for
// either. The tasks of a rank that is lost are given to others, and when the rank with the queue leaves or is
// lost, another takes it over: a rank on another pod mirrors it. A task may be done more than once but its
// result is taken once, so that results are bitwise the same whichever ranks there were, provided a task
// depends on its index and replicated values only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "elastic_mpi.hpp"

namespace elastic {

/// Runs phases of independent tasks. One per program; not copyable; not together with an elastic::Loop.
///
/// Every rank runs the same program and calls the same phases with the same arguments. Between phases each
/// rank computes for itself: what follows from the results is the same everywhere, and what is expensive is
/// another phase. MPI_COMM_WORLD is the world of the ranks that the job was started with (of those that came
/// together, on joiners): it may be used between phases only in a job whose size has not changed(), or after
/// use_world().
class MasterWorker {
 public:
  /// MPI_Init_adapt. On an agent the process may be one that joins a running job. Collective over the ranks
  /// that start together. Throws Error when the rank with the queue cannot be reached.
  MasterWorker(int& argc, char**& argv);
  /// Waits until the other ranks have ended their last phase too, and the master has come here, then
  /// MPI_Finalize. Ends the job (MPI_Abort) when the master is lost after the last phase: what it alone does
  /// there nobody else does. While an exception passes it ends the job (MPI_Abort).
  ~MasterWorker();
  MasterWorker(const MasterWorker&) = delete;
  MasterWorker& operator=(const MasterWorker&) = delete;

  /// Registers what changes from phase to phase and is the same on every rank: trivially copyable objects,
  /// and std::vector and std::string of such. On a joiner they have, when the call returns, the values that
  /// the others have in the phase in hand (the call waits for that), so that the program goes on from there
  /// as the others did. All ranks register the same in the same order before their first phase, and do not
  /// change the values within a phase. They must outlive the last phase. Throws Error when a joiner's do not
  /// fit.
  template <class... T>
  void replicate(T&... values) {
    (add(make_value(values)), ...);
    receive_values();
  }

  /// Writes checkpoints of all that is registered by replicate(), between phases, and lets a new start of the
  /// program go on from the newest whole one, on any number of ranks: true when the values are now those of a
  /// checkpoint. After the last replicate() and before the first phase, on all ranks alike, joining ones too;
  /// collective over the ranks that start together, local and false on joiners. folder: on a volume that all
  /// ranks share; what the job says (spec.checkpoint) goes before it; with neither there are none. They come
  /// as often as their cost and failures of nodes ask for, 10 s to 10 min, written by a thread of the master;
  /// a volume that fails costs the checkpoint, never the run. What is lost with the job is the phase in hand.
  /// Programs that call it link ElasticMPI::checkpoint and HDF5. Throws Error on all ranks when the file that
  /// the job is to go on from cannot be used.
  bool checkpoint(const std::string& folder = {});

  /// Makes MPI_COMM_WORLD, whenever a phase has ended, the world of all ranks that have its results: rank 0
  /// is the master(). Where ranks have come or gone it is rebuilt, in the background while the last tasks are
  /// done; map() returns when it is there. Without this call a change costs nothing at the end of a phase,
  /// and MPI_COMM_WORLD is of no use after it. A rank that is lost in a phase is left out; one that is lost
  /// between phases is an error of whatever MPI call waits for it, as in every MPI program. Objects derived
  /// from an old world stay on that: free them before the phase and make them again after it. On all ranks,
  /// joining ones too, before their first phase. Local.
  void use_world();

  /// Does task(0), ..., task(count - 1), each on some rank, and returns the results by index, on every rank;
  /// an empty vector on a rank that has left(). task returns a trivially copyable value. Collective: the same
  /// count on all ranks. Throws Error when ranks disagree, and what a task throws.
  template <class Work>
  auto map(std::int64_t count, Work&& task) {
    using Value = std::decay_t<std::invoke_result_t<Work&, std::int64_t>>;
    static_assert(std::is_trivially_copyable_v<Value> && !std::is_pointer_v<Value>,
                  "a task's result must be trivially copyable; map_rows is for vectors of numbers");
    static_assert(!std::is_same_v<Value, bool>, "let the task return char or int instead of bool");
    const std::span<const std::byte> bytes =
        phase(count, sizeof(Value), [&task](std::int64_t index, std::byte* result) {
          const Value value = task(index);
          std::memcpy(result, &value, sizeof value);
        });
    std::vector<Value> values(bytes.size() / sizeof(Value));
    if (!values.empty()) std::memcpy(static_cast<void*>(values.data()), bytes.data(), bytes.size());
    return values;
  }

  /// The same for tasks with `width` numbers as their result: task(index, row) fills row, width long. Returns
  /// count rows one after the other. width may be found out at run time and must be the same on all ranks.
  template <class Number = double, class Work>
    requires std::is_arithmetic_v<Number>
  std::vector<Number> map_rows(std::int64_t count, std::int64_t width, Work&& task) {
    std::vector<Number> row(static_cast<std::size_t>(width < 0 ? 0 : width));
    const auto row_bytes = static_cast<std::int64_t>(row.size() * sizeof(Number));
    const std::span<const std::byte> bytes =
        phase(count, row_bytes, [&](std::int64_t index, std::byte* result) {
          row.assign(row.size(), Number{});
          task(index, std::span<Number>(row));
          if (row_bytes > 0) std::memcpy(result, row.data(), static_cast<std::size_t>(row_bytes));
        });
    std::vector<Number> rows(bytes.size() / sizeof(Number));
    if (!rows.empty()) std::memcpy(rows.data(), bytes.data(), bytes.size());
    return rows;
  }

  /// This rank keeps the queue: exactly one does, world rank 0 at first. May change within a phase. What the
  /// program does for master() alone it does between phases and after the last one: a loss of that rank there
  /// ends the job, one in a phase does not. Local.
  bool master() const;
  /// This process was started to join a running job and does not take part yet. Local.
  bool joining() const;
  /// This process has left the job: let it fall out of main. Local.
  bool left() const;
  /// Ranks that took part at the end of the last phase, this one included. Local.
  int workers() const;
  /// Whether ranks have joined, left or been lost since the start, as far as this rank knows. Local.
  bool changed() const;
  /// Seconds this rank has spent in tasks, ever. Local.
  double busy_seconds() const;
  /// Seconds this rank has waited for tasks, ever. Local.
  double idle_seconds() const;
  /// Seconds that changes of the size have kept this rank from tasks, ever: as a joiner between its welcome
  /// and its first task, as a leaver after its last one, while the queue was handed over, or while the world
  /// was rebuilt after a phase's last task. What seed 000, table 7.3, adds up for its adaptation windows.
  /// Local.
  double change_seconds() const;

 private:
  template <class T>
  static std::unique_ptr<detail::Value> make_value(T& value) {
    if constexpr (std::is_trivially_copyable_v<T>)
      return std::make_unique<detail::PlainValue<T>>(value);
    else
      return std::make_unique<detail::ListValue<T>>(value);
  }
  void add(std::unique_ptr<detail::Value> value);
  void receive_values();
  // Valid until the next phase.
  std::span<const std::byte> phase(std::int64_t count, std::int64_t result_bytes,
                                   const std::function<void(std::int64_t, std::byte*)>& task);

  friend class PhaseCheckpointer;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace elastic
