// SPDX-License-Identifier: Apache-2.0
// What elastic::Loop moves: each registered thing behind one small interface.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "elastic_mpi.hpp"
#include "elastic_mpi/sequence.hpp"

namespace elastic {

/// The elements of a registered thing, the same on all ranks.
struct Shape {
  const char* type = "";  // detail::number_type
  std::size_t element_bytes = 1, columns = 1;
};

/// This rank's elements, as a checkpoint holds them.
struct Stored {
  std::span<const std::byte> bytes;
  std::vector<std::byte> made;  // what `bytes` shows, where it had to be made
};

/// What this rank takes of the elements of a checkpoint: [first, first + count) of `total`.
struct Taken {
  std::int64_t first = 0, count = 0, total = 0;
  std::vector<std::int64_t> parts;  // of an item that goes by ranks: elements of each rank that is taken
};

/// One registered thing. A change calls measure, prepare and transfer on all ranks, then accept or drop.
class Item {
 public:
  virtual ~Item() = default;
  /// What every rank must have registered alike, for comparing and for the error message.
  virtual std::string describe() const = 0;
  /// Runs the user's code that looks at the data. Local; may throw on some ranks only.
  virtual void measure() {}
  /// Agrees on the new parts. Collective over `everybody`, small messages only; capacity 0 = this rank
  /// leaves.
  virtual void prepare(MPI_Comm, double /*capacity*/) {}
  /// Makes room for the new part. Local; may throw on some ranks only.
  virtual void make_room() {}
  /// Moves the data into fresh storage. Collective. Returns the bytes sent to other ranks.
  virtual std::int64_t transfer(MPI_Comm everybody, double capacity) = 0;
  /// Whether transfer runs the user's code, which may throw on some ranks only.
  virtual bool transfer_may_throw() const { return false; }
  virtual void accept() noexcept = 0;
  virtual void drop() noexcept = 0;
  /// As accept; what was current before lives on with what is returned, for messages may still arrive there.
  virtual std::shared_ptr<void> accept_and_keep() {
    accept();
    return nullptr;
  }
  /// As drop, and the fresh storage lives on: MPI may still write to it.
  virtual void abandon() noexcept = 0;

  virtual Shape shape() const = 0;
  /// What a checkpoint gets of this rank. Local; may throw on some ranks only.
  virtual Stored store() = 0;
  /// Whether ranks take whole what a rank has stored.
  virtual bool by_ranks() const { return false; }
  /// Fresh storage for what this rank takes of a checkpoint. Local; may throw on some ranks only.
  virtual std::byte* make_room_for(const Taken& taken) = 0;
  /// Runs the user's code on what is there now in the fresh storage. Collective; may throw on some ranks
  /// only.
  virtual void load(MPI_Comm /*world*/) {}
  /// Whether the elements must be cut anew when they are accepted.
  virtual bool cut_after_restoring() const { return false; }
};

class BlockItem final : public Item {
 public:
  BlockItem(std::unique_ptr<detail::Array> data, std::int64_t rows, std::int64_t columns);
  const Block& block() const { return block_; }
  /// On ranks that start with the job: takes this rank's equal share, and sizes the data if it is empty.
  void start(int ranks, int rank);

  std::string describe() const override;
  void prepare(MPI_Comm everybody, double capacity) override;
  void make_room() override;
  std::int64_t transfer(MPI_Comm everybody, double capacity) override;
  void accept() noexcept override;
  void drop() noexcept override { data_->drop(); }
  std::shared_ptr<void> accept_and_keep() override;
  void abandon() noexcept override { data_->abandon_fresh(); }
  Shape shape() const override;
  Stored store() override;
  std::byte* make_room_for(const Taken& taken) override;

 private:
  std::unique_ptr<detail::Array> data_;
  Block block_;
  std::optional<SequencePlan> plan_;
  std::byte* fresh_ = nullptr;
  std::int64_t next_first_ = 0, next_count_ = 0;
};

class SequenceItem final : public Item {
 public:
  using WeightsOf = std::function<void(std::vector<double>&)>;
  using MarksOf = std::function<void(std::vector<std::uint8_t>&)>;
  SequenceItem(std::unique_ptr<detail::Array> data, WeightsOf weights, MarksOf marks)
      : data_(std::move(data)), weights_of_(std::move(weights)), marks_of_(std::move(marks)) {}

  std::string describe() const override;
  void measure() override;
  void prepare(MPI_Comm everybody, double capacity) override;
  void make_room() override;
  std::int64_t transfer(MPI_Comm everybody, double capacity) override;
  void accept() noexcept override { data_->accept(); }
  void drop() noexcept override { data_->drop(); }
  std::shared_ptr<void> accept_and_keep() override { return data_->accept_and_keep(); }
  void abandon() noexcept override { data_->abandon_fresh(); }
  Shape shape() const override;
  Stored store() override;
  std::byte* make_room_for(const Taken& taken) override;
  bool cut_after_restoring() const override { return true; }  // by weight, as a change does

 private:
  std::unique_ptr<detail::Array> data_;
  WeightsOf weights_of_;
  MarksOf marks_of_;
  std::vector<double> weights_;
  std::vector<std::uint8_t> marks_;
  std::optional<SequencePlan> plan_;
  std::byte* fresh_ = nullptr;
};

class CustomItem final : public Item {
 public:
  CustomItem(Loop::Move move, std::function<void()> accept, Loop::Save save, Loop::Load load)
      : move_(std::move(move)), accept_(std::move(accept)), save_(std::move(save)), load_(std::move(load)) {}
  std::string describe() const override { return "data that moves itself"; }
  std::int64_t transfer(MPI_Comm everybody, double capacity) override { return move_(everybody, capacity); }
  bool transfer_may_throw() const override { return true; }
  void accept() noexcept override {
    accept_();
    loaded_.clear();
  }
  void drop() noexcept override { loaded_.clear(); }
  void abandon() noexcept override { static_cast<void>(new (std::nothrow) std::vector(std::move(loaded_))); }
  Shape shape() const override { return {}; }
  Stored store() override;
  bool by_ranks() const override { return true; }
  std::byte* make_room_for(const Taken& taken) override;
  void load(MPI_Comm world) override;

 private:
  Loop::Move move_;
  std::function<void()> accept_;
  Loop::Save save_;
  Loop::Load load_;
  std::vector<std::byte> loaded_;
  std::vector<std::int64_t> parts_;
};

/// All replicated values together: they travel in one broadcast, with the list of what rank 0 registered.
class ReplicatedValues {
 public:
  void add(std::unique_ptr<detail::Value> value) { values_.push_back(std::move(value)); }
  std::string describe() const;

  /// Compares `registered` (this rank's list) on all ranks and gives joiners rank 0's values. Collective.
  /// Throws Error on every rank if a list differs. Returns the bytes of the broadcast on rank 0, else 0.
  std::int64_t move(MPI_Comm everybody, const std::string& registered, bool joining);
  void accept() noexcept;

  /// All values as a checkpoint has them, and back: put aside until accept().
  std::vector<std::byte> save() const { return pack({}); }
  void restore(const std::vector<std::byte>& saved);

 private:
  std::vector<std::byte> pack(const std::string& registered) const;
  void stage(const std::vector<std::byte>& packed, std::size_t at);

  std::vector<std::unique_ptr<detail::Value>> values_;
};

}  // namespace elastic
