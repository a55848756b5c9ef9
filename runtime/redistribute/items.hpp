// What elastic::Loop moves: each registered thing behind one small interface.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/include/elastic_mpi.hpp"

namespace elastic {

/// One registered thing. move puts new data aside; accept or drop follows.
class Item {
 public:
  virtual ~Item() = default;
  /// What every rank must have registered alike, for comparing and for the error message.
  virtual std::string describe() const = 0;
  /// Collective over `everybody`; capacity 0 = this rank leaves. Returns the bytes sent to other ranks.
  virtual std::int64_t move(MPI_Comm everybody, double capacity) = 0;
  virtual void accept() noexcept = 0;
  virtual void drop() noexcept = 0;
};

class BlockItem final : public Item {
 public:
  BlockItem(std::unique_ptr<detail::Array> data, std::int64_t rows, std::int64_t columns);
  const Block& block() const { return block_; }
  /// On ranks that start with the job: takes this rank's equal share, and sizes the data if it is empty.
  void start(int ranks, int rank);

  std::string describe() const override;
  std::int64_t move(MPI_Comm everybody, double capacity) override;
  void accept() noexcept override;
  void drop() noexcept override { data_->drop(); }

 private:
  std::unique_ptr<detail::Array> data_;
  Block block_;
  std::int64_t next_first_ = 0, next_count_ = 0;
};

class SequenceItem final : public Item {
 public:
  using WeightsOf = std::function<void(std::vector<double>&)>;
  using MarksOf = std::function<void(std::vector<std::uint8_t>&)>;
  SequenceItem(std::unique_ptr<detail::Array> data, WeightsOf weights, MarksOf marks)
      : data_(std::move(data)), weights_(std::move(weights)), marks_(std::move(marks)) {}

  std::string describe() const override;
  std::int64_t move(MPI_Comm everybody, double capacity) override;
  void accept() noexcept override { data_->accept(); }
  void drop() noexcept override { data_->drop(); }

 private:
  std::unique_ptr<detail::Array> data_;
  WeightsOf weights_;
  MarksOf marks_;
};

class CustomItem final : public Item {
 public:
  CustomItem(Loop::Move move, std::function<void()> accept)
      : move_(std::move(move)), accept_(std::move(accept)) {}
  std::string describe() const override { return "data that moves itself"; }
  std::int64_t move(MPI_Comm everybody, double capacity) override { return move_(everybody, capacity); }
  void accept() noexcept override { accept_(); }
  void drop() noexcept override {}

 private:
  Loop::Move move_;
  std::function<void()> accept_;
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

 private:
  std::vector<std::byte> pack(const std::string& registered) const;
  void stage(const std::vector<std::byte>& packed, std::size_t at);

  std::vector<std::unique_ptr<detail::Value>> values_;
};

}  // namespace elastic
