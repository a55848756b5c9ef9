// SPDX-License-Identifier: Apache-2.0
// elastic::Loop: a malleable MPI program in ten lines more than a rigid one.
//
//   elastic::Loop loop(argc, argv);                         // MPI_Init_adapt; MPI_Finalize at the end
//   std::vector<double> u;
//   int step = 0;
//   loop.replicate(step);                                   // the same on every rank
//   const elastic::Block& mine = loop.block(u, rows, columns);  // u: this rank's rows
//   loop.on_rebuild([&](MPI_Comm world) { ... });           // what depends on the world: neighbours, dups
//   loop.run([&](MPI_Comm world) {
//     iterate(world, u, mine);
//     return ++step < steps;                                // the same answer on every rank
//   });
//   if (!loop.left()) write_result(u);
//
// Everything registered moves to its new owners whenever the job grows, shrinks or does both, between two
// iterations. A change that fails is rolled back: the old world and the old data stay, and the loop goes on.
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

#include "elastic_error.hpp"
#include "elastic_mpi.h"

namespace elastic {

/// This rank's rows [first(), first() + count()) of a row-block array. Changes with the world.
class Block {
 public:
  std::int64_t first() const { return first_; }
  std::int64_t count() const { return count_; }
  std::int64_t rows() const { return rows_; }        ///< of all ranks together
  std::int64_t columns() const { return columns_; }  ///< values per row

 private:
  friend class Loop;
  friend class BlockItem;
  std::int64_t first_ = 0, count_ = 0, rows_ = 0, columns_ = 0;
};

namespace detail {

/// What kind of number T is and its bytes, as checkpoints have it ("f8", "i4"); "" for all that is no number.
template <class T>
constexpr const char* number_type() {
  constexpr std::size_t bytes = sizeof(T);
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    return bytes == 4 ? "f4" : "f8";
  else if constexpr (!std::is_integral_v<T>)
    return "";
  else if constexpr (std::is_signed_v<T>)
    return bytes == 1 ? "i1" : bytes == 2 ? "i2" : bytes == 4 ? "i4" : "i8";
  else
    return bytes == 1 ? "u1" : bytes == 2 ? "u2" : bytes == 4 ? "u4" : "u8";
}

/// The user's vector, seen as bytes: `fresh` is a second vector that becomes the user's when a change
/// commits.
class Array {
 public:
  virtual ~Array() = default;
  virtual std::size_t element_bytes() const = 0;
  virtual const char* element_type() const = 0;  // number_type
  virtual std::size_t size() const = 0;
  virtual const std::byte* bytes() const = 0;
  virtual std::byte* make_fresh(std::size_t size) = 0;
  virtual void accept() noexcept = 0;                   // fresh becomes the user's
  virtual std::shared_ptr<void> accept_and_keep() = 0;  // the same, and what was the user's is returned
  virtual void drop() noexcept = 0;                     // fresh is not needed
  virtual void abandon_fresh() noexcept = 0;            // fresh must live on: MPI may still write to it
  virtual void resize(std::size_t size) = 0;
};

template <class T>
class VectorArray final : public Array {
 public:
  explicit VectorArray(std::vector<T>& user) : user_(user) {}
  std::size_t element_bytes() const override { return sizeof(T); }
  const char* element_type() const override { return number_type<T>(); }
  std::size_t size() const override { return user_.size(); }
  const std::byte* bytes() const override { return reinterpret_cast<const std::byte*>(user_.data()); }
  std::byte* make_fresh(std::size_t size) override {
    fresh_ = std::make_unique<std::vector<T>>(size);
    return reinterpret_cast<std::byte*>(fresh_->data());
  }
  void accept() noexcept override {
    if (fresh_) user_.swap(*fresh_);
    fresh_.reset();
  }
  std::shared_ptr<void> accept_and_keep() override {
    if (fresh_) user_.swap(*fresh_);
    return std::shared_ptr<std::vector<T>>(std::move(fresh_));
  }
  void drop() noexcept override { fresh_.reset(); }
  void abandon_fresh() noexcept override { static_cast<void>(fresh_.release()); }
  void resize(std::size_t size) override { user_.resize(size); }

 private:
  std::vector<T>& user_;
  std::unique_ptr<std::vector<T>> fresh_;
};

/// A replicated value as bytes.
class Value {
 public:
  virtual ~Value() = default;
  virtual std::string kind() const = 0;         // for comparing registrations
  virtual std::size_t fixed_bytes() const = 0;  // 0: any length
  virtual std::span<const std::byte> bytes() const = 0;
  virtual void stage(std::span<const std::byte> bytes) = 0;  // into fresh storage
  virtual void accept() noexcept = 0;
};

/// So many bytes, without pointers.
class BytesValue : public Value {
 public:
  BytesValue(void* user, std::size_t size) : user_(static_cast<std::byte*>(user)), size_(size) {}
  std::string kind() const override { return "value of " + std::to_string(size_) + " bytes"; }
  std::size_t fixed_bytes() const override { return size_; }
  std::span<const std::byte> bytes() const override { return {user_, size_}; }
  void stage(std::span<const std::byte> bytes) override { staged_.assign(bytes.begin(), bytes.end()); }
  void accept() noexcept override {
    if (!staged_.empty()) std::memcpy(user_, staged_.data(), size_);
    staged_.clear();
  }

 private:
  std::byte* user_;
  std::size_t size_;
  std::vector<std::byte> staged_;
};

template <class T>
  requires std::is_trivially_copyable_v<T>
class PlainValue final : public BytesValue {
 public:
  static_assert(!std::is_pointer_v<T>,
                "a pointer means nothing on another rank; replicate what it points to");
  explicit PlainValue(T& user) : BytesValue(std::addressof(user), sizeof(T)) {}
};

/// std::vector or std::string of trivially copyable elements.
template <class Container>
class ListValue final : public Value {
 public:
  using T = typename Container::value_type;
  static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>,
                "only lists of trivially copyable elements can be replicated");
  explicit ListValue(Container& user) : user_(user) {}
  std::string kind() const override { return "list of values of " + std::to_string(sizeof(T)) + " bytes"; }
  std::size_t fixed_bytes() const override { return 0; }
  std::span<const std::byte> bytes() const override {
    return std::as_bytes(std::span(user_.data(), user_.size()));
  }
  void stage(std::span<const std::byte> bytes) override {
    staged_ = Container(bytes.size() / sizeof(T), T{});
    if (!bytes.empty()) std::memcpy(static_cast<void*>(staged_.data()), bytes.data(), bytes.size());
    full_ = true;
  }
  void accept() noexcept override {
    if (full_) user_.swap(staged_);
    full_ = false;
  }

 private:
  Container& user_;
  Container staged_;
  bool full_ = false;
};

}  // namespace detail

/// Runs an iteration again and again and adapts between two iterations. One per program; not copyable.
///
/// Collective rules. All ranks register the same things in the same order, before run(). The iteration and
/// the hooks are called on all ranks of the world they are given, together. The iteration returns the same
/// answer on all of them. Code between construction and run() runs on joining ranks too: let it not
/// communicate unless joining() is false. Objects made from the old world (duplicates, windows, files, solver
/// objects) are freed in on_release and made again in on_rebuild.
class Loop {
 public:
  /// MPI_Init_adapt. On an agent the process may be one that joins a running job. Collective.
  Loop(int& argc, char**& argv);
  /// MPI_Finalize; collective over the current world (a rank that left finalises alone). While an exception
  /// passes it calls MPI_Abort instead: the other ranks would wait for this one for ever.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Registers values that are the same on every rank; joiners receive those of rank 0. Trivially copyable
  /// objects, and std::vector and std::string of such. They must outlive run(). Local.
  template <class... T>
  void replicate(T&... values) {
    (add_value(make_value(values)), ...);
  }

  /// Registers a row-block array: `data` holds this rank's rows, each of `columns` values. On ranks that
  /// start with the job an empty `data` is sized for an equal share of the rows and filled with zeros. data
  /// must outlive run(); the result lives as long as the Loop. Local. Throws Error if the sizes do not fit.
  template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>)
  const Block& block(std::vector<T>& data, std::int64_t rows, std::int64_t columns = 1) {
    return add_block(std::make_unique<detail::VectorArray<T>>(data), rows, columns);
  }

  /// Registers a distributed sequence: the concatenation of `data` over the ranks keeps its order, its parts
  /// change. weight(element): its load, any unit, >= 0 (null: 1 each). may_cut(element): whether a part may
  /// begin there (null: anywhere). data must outlive run(). Local.
  template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>)
  void sequence(std::vector<T>& data, std::function<double(const std::type_identity_t<T>&)> weight = nullptr,
                std::function<bool(const std::type_identity_t<T>&)> may_cut = nullptr) {
    WeightsOf weights;
    MarksOf marks;
    if (weight)
      weights = [&data, weight = std::move(weight)](std::vector<double>& out) {
        for (const T& element : data) out.push_back(weight(element));
      };
    if (may_cut)
      marks = [&data, may_cut = std::move(may_cut)](std::vector<std::uint8_t>& out) {
        for (const T& element : data) out.push_back(may_cut(element) ? 1 : 0);
      };
    add_sequence(std::make_unique<detail::VectorArray<T>>(data), std::move(weights), std::move(marks));
  }

  /// Registers data that moves itself. move: collective over `everybody` (stayers, leavers, joiners; old
  /// ranks keep their numbers, joiners follow); capacity 0 = this rank leaves; puts the new data aside,
  /// leaves the old data untouched, returns the bytes this rank sent, throws if it cannot. accept: local,
  /// makes the new data current, must not throw; not called when the change is rolled back.
  using Move = std::function<std::int64_t(MPI_Comm everybody, double capacity)>;
  void data(Move move, std::function<void()> accept);
  /// The same for a program with checkpoints. save: this rank's data as bytes; local. load: collective over
  /// `world`; `parts` are what some of the ranks that wrote the checkpoint have saved, in the order of those
  /// ranks (all of them together on all ranks of the world; a rank may get none). It puts the data aside, as
  /// move does, in a form that the program can go on from after accept(); throws if it cannot.
  using Save = std::function<std::vector<std::byte>()>;
  using Load = std::function<void(MPI_Comm world, const std::vector<std::span<const std::byte>>& parts)>;
  void data(Move move, std::function<void()> accept, Save save, Load load);

  /// Writes checkpoints of all that is registered, and lets a new start of the program go on from the newest
  /// whole one, on any number of ranks: run() then begins where it was. every: iterations from one to the
  /// next; 0: as often as their cost and failures of nodes ask for, 10 s to 10 min. folder: on a volume that
  /// all ranks share. What the job says (spec.checkpoint) goes before both; with neither there are no
  /// checkpoints. A thread writes, beside the loop; a volume that is full, slow or gone costs the checkpoint,
  /// never the run. Before run(), on all ranks alike, joining ones too. Programs that call it link
  /// ElasticMPI::checkpoint and HDF5. Local. Throws Error for every < 0.
  void checkpoint(std::int64_t every = 0, const std::string& folder = {});
  /// Called before what is registered is copied for a checkpoint, where it must be brought up to date first.
  /// Local; may throw. Without such a hook a program with on_release is released and rebuilt around the copy,
  /// as in a change that is rolled back: right for every program, and slower where rebuilding is expensive.
  void on_save(std::function<void()> hook);
  /// Whether run() went on from a checkpoint. Known from the first run() on. Local.
  bool restored() const;

  /// Lets the program go on when ranks are lost: a pod that is killed, a node without power. While it runs,
  /// copies of all that is registered are kept in memory, each rank's on another pod, too, and on another
  /// node where the job is on several; after a loss the ranks that are left make a world of their own, get
  /// their parts of the newest whole copy, and run() goes on at the iteration of that copy, on fewer ranks.
  /// What is computed since then is computed again; what is not registered is not set back. every: iterations
  /// between two copies; 0: so that they cost about a hundredth of the run, a second apart or more. Memory:
  /// up to four times what is registered. Before run(), on all ranks alike, joining ones too; data that moves
  /// itself needs save and load. The iteration is left by an exception of MPI's error handler: let no handler
  /// of the program keep it, and set none on MPI_COMM_WORLD afterwards. It has no effect without an agent, or
  /// where the job says `onWorkerLoss: Fail`. Fewer pods than the job's minReplicas wait for replacements.
  /// Not borne: the loss of a pod and of the one with its copies at once, and a crash of the program, which
  /// would crash again. Local. Throws Error for every < 0.
  void recoverable(std::int64_t every = 0);
  /// How often this process went on without others that were lost. Local.
  int recoveries() const;
  /// Whether it is about to: in on_release, where the iteration was left anywhere and what is registered will
  /// be set back, so that nothing is to be brought up to date or checked; and in on_rebuild, where what is
  /// registered is of an earlier iteration again. Local.
  bool recovering() const;

  /// Called with the old world still there, before data moves: free what was made from it. Not called on
  /// joiners. Must not throw. Several are called in reverse order of registration.
  void on_release(std::function<void()> hook);
  /// Called with the current world before the first iteration and after every change, also one that was
  /// rolled back (the old world then) and on joiners after their data arrived. Collective over `world`.
  void on_rebuild(std::function<void(MPI_Comm world)> hook);

  /// This rank's share of blocks and sequences relative to the others (default 1), for unequal nodes; used at
  /// the next change. Local. Throws Error unless finite and > 0.
  void capacity(double share);
  /// Asks for changes after every n-th iteration only (default 1; the same on every rank). Local.
  void probe_every(int iterations);
  /// Reports work done since the last report (any unit) and progress in 0..1 (negative: unknown). Local.
  void report(double work_units, double progress = -1);
  /// From now on the program can use so many workers, no fewer and no more; 0, 0: as many as the manifest
  /// says. The same on every rank (MPIX_Wish_adapt). Local. Throws Error unless 1 <= least <= most.
  void wish(int least, int most);

  /// Calls iteration(world) until it returns false or this rank has left the job. Collective. Throws what the
  /// iteration or a rebuild hook throws. A program may have several, one after the other: on a rank that
  /// joins in a later one the earlier ones return at once. What is registered, is so before the first.
  void run(const std::function<bool(MPI_Comm world)>& iteration);

  /// This process was started to join a running job and is not in the run() of the others yet. Local.
  bool joining() const;
  /// This process has left the job: its registered data is empty and MPI_COMM_WORLD is not to be used. Local.
  bool left() const;
  /// Changes committed and rolled back so far in this process, and why the last one was rolled back. Local.
  int changes() const;
  int rollbacks() const;
  const std::string& last_rollback() const;

 private:
  using WeightsOf = std::function<void(std::vector<double>&)>;
  using MarksOf = std::function<void(std::vector<std::uint8_t>&)>;

  template <class T>
  static std::unique_ptr<detail::Value> make_value(T& value) {
    if constexpr (std::is_trivially_copyable_v<T>)
      return std::make_unique<detail::PlainValue<T>>(value);
    else
      return std::make_unique<detail::ListValue<T>>(value);
  }
  void add_value(std::unique_ptr<detail::Value> value);
  const Block& add_block(std::unique_ptr<detail::Array> data, std::int64_t rows, std::int64_t columns);
  void add_sequence(std::unique_ptr<detail::Array> data, WeightsOf weights, MarksOf marks);

  friend class Checkpointer;
  friend class Snapshots;
  friend struct LoopInC;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace elastic
