// SPDX-License-Identifier: Apache-2.0
#include "runtime/sdk/items.hpp"

#include <cstring>

#include "elastic_mpi/blocks.hpp"
#include "elastic_mpi/comm.hpp"
#include "elastic_mpi/replicate.hpp"
#include "elastic_mpi/sequence.hpp"

namespace elastic {
namespace {

// Moves `plan`'s elements of the array into its fresh vector.
void move_array(const SequencePlan& plan, MPI_Comm everybody, detail::Array& data, std::size_t element_bytes,
                std::byte* fresh) {
  const auto abandon = [](void* array) { static_cast<detail::Array*>(array)->abandon_fresh(); };
  plan.move_bytes(everybody, element_bytes, data.bytes(), fresh, abandon, &data);
}

void append(std::vector<std::byte>& out, const void* data, std::size_t size) {
  const auto* begin = static_cast<const std::byte*>(data);
  out.insert(out.end(), begin, begin + size);
}

void append_part(std::vector<std::byte>& out, const void* data, std::size_t size) {
  const auto length = static_cast<std::uint64_t>(size);
  append(out, &length, sizeof(length));
  append(out, data, size);
}

// The part at `at`, which moves behind it.
std::span<const std::byte> next_part(const std::vector<std::byte>& packed, std::size_t& at) {
  std::uint64_t length = 0;
  std::memcpy(&length, packed.data() + at, sizeof(length));
  at += sizeof(length) + length;
  return std::span(packed).subspan(at - length, length);
}

}  // namespace

BlockItem::BlockItem(std::unique_ptr<detail::Array> data, std::int64_t rows, std::int64_t columns)
    : data_(std::move(data)) {
  if (rows < 0 || columns <= 0)
    throw Error("registering a block of " + std::to_string(rows) + " x " + std::to_string(columns) +
                " values: expected rows >= 0 and columns > 0");
  block_.rows_ = rows;
  block_.columns_ = columns;
}

void BlockItem::start(int ranks, int rank) {
  const RowRange mine = equal_rows(block_.rows_, ranks, rank);
  block_.first_ = mine.first;
  block_.count_ = mine.count;
  const auto values = static_cast<std::size_t>(mine.count * block_.columns_);
  if (data_->size() == 0) data_->resize(values);
  if (data_->size() != values)
    throw Error("registering a block: the vector has " + std::to_string(data_->size()) + " values, rank " +
                std::to_string(rank) + " of " + std::to_string(ranks) + " has " + std::to_string(mine.count) +
                " rows of " + std::to_string(block_.columns_) + "; pass an empty vector to have it sized");
}

std::string BlockItem::describe() const {
  return "block of " + std::to_string(block_.rows_) + " x " + std::to_string(block_.columns_) +
         " values of " + std::to_string(data_->element_bytes()) + " bytes";
}

void BlockItem::prepare(MPI_Comm everybody, double capacity) {
  const auto columns = static_cast<std::size_t>(block_.columns_);
  const bool intact = data_->size() == static_cast<std::size_t>(block_.count_) * columns;
  // A rank whose vector no longer fits still takes part, so that every rank sees the error.
  const std::size_t row_bytes = intact ? columns * data_->element_bytes() : SequencePlan::bad_size;
  plan_.emplace(everybody, block_.count_, row_bytes, std::span<const double>{}, capacity);
  next_first_ = plan_->new_offsets()[static_cast<std::size_t>(rank_of(everybody))];
  next_count_ = plan_->new_count();
}

void BlockItem::make_room() {
  fresh_ = data_->make_fresh(static_cast<std::size_t>(plan_->new_count() * block_.columns_));
}

std::int64_t BlockItem::transfer(MPI_Comm everybody, double) {
  const std::size_t row_bytes = static_cast<std::size_t>(block_.columns_) * data_->element_bytes();
  move_array(*plan_, everybody, *data_, row_bytes, fresh_);
  return plan_->sent_bytes(row_bytes);
}

void BlockItem::accept() noexcept {
  data_->accept();
  block_.first_ = next_first_;
  block_.count_ = next_count_;
}

std::shared_ptr<void> BlockItem::accept_and_keep() {
  std::shared_ptr<void> kept = data_->accept_and_keep();
  accept();
  return kept;
}

Shape BlockItem::shape() const {
  const auto columns = static_cast<std::size_t>(block_.columns_);
  return {data_->element_type(), columns * data_->element_bytes(), columns};
}

Stored BlockItem::store() {
  const auto columns = static_cast<std::size_t>(block_.columns_);
  if (data_->size() != static_cast<std::size_t>(block_.count_) * columns)
    throw Error("a block has " + std::to_string(data_->size()) + " values where it should have " +
                std::to_string(block_.count_) + " rows of " + std::to_string(columns));
  return {.bytes = {data_->bytes(), data_->size() * data_->element_bytes()}, .made = {}};
}

std::byte* BlockItem::make_room_for(const Taken& taken) {
  next_first_ = taken.first;
  next_count_ = taken.count;
  return data_->make_fresh(static_cast<std::size_t>(taken.count * block_.columns_));
}

std::string SequenceItem::describe() const {
  return "sequence of elements of " + std::to_string(data_->element_bytes()) + " bytes" +
         (weights_of_ ? ", weighted" : "") + (marks_of_ ? ", with cut marks" : "");
}

void SequenceItem::measure() {
  weights_.clear();
  marks_.clear();
  if (weights_of_) weights_of_(weights_);
  if (marks_of_) marks_of_(marks_);
}

void SequenceItem::prepare(MPI_Comm everybody, double capacity) {
  plan_.emplace(everybody, static_cast<std::int64_t>(data_->size()), data_->element_bytes(), weights_,
                capacity, marks_);
}

void SequenceItem::make_room() { fresh_ = data_->make_fresh(static_cast<std::size_t>(plan_->new_count())); }

std::int64_t SequenceItem::transfer(MPI_Comm everybody, double) {
  move_array(*plan_, everybody, *data_, data_->element_bytes(), fresh_);
  return plan_->sent_bytes(data_->element_bytes());
}

Shape SequenceItem::shape() const { return {data_->element_type(), data_->element_bytes(), 1}; }

Stored SequenceItem::store() {
  return {.bytes = {data_->bytes(), data_->size() * data_->element_bytes()}, .made = {}};
}

std::byte* SequenceItem::make_room_for(const Taken& taken) {
  return data_->make_fresh(static_cast<std::size_t>(taken.count));
}

Stored CustomItem::store() {
  if (!save_ || !load_) throw Error("data that moves itself was registered without `save` and `load`");
  Stored stored;
  stored.made = save_();
  stored.bytes = stored.made;
  return stored;
}

std::byte* CustomItem::make_room_for(const Taken& taken) {
  parts_ = taken.parts;
  loaded_.resize(static_cast<std::size_t>(taken.count));
  return loaded_.data();
}

void CustomItem::load(MPI_Comm world) {
  std::vector<std::span<const std::byte>> parts;
  std::size_t at = 0;
  for (const std::int64_t bytes : parts_) {
    parts.push_back(std::span(loaded_).subspan(at, static_cast<std::size_t>(bytes)));
    at += static_cast<std::size_t>(bytes);
  }
  load_(world, parts);
}

std::string ReplicatedValues::describe() const {
  std::string list;
  for (const auto& value : values_) list += (list.empty() ? "" : "; ") + value->kind();
  return list;
}

std::vector<std::byte> ReplicatedValues::pack(const std::string& registered) const {
  std::vector<std::byte> packed;
  append_part(packed, registered.data(), registered.size());
  for (const auto& value : values_) append_part(packed, value->bytes().data(), value->bytes().size());
  return packed;
}

void ReplicatedValues::stage(const std::vector<std::byte>& packed, std::size_t at) {
  for (const auto& value : values_) value->stage(next_part(packed, at));
}

std::int64_t ReplicatedValues::move(MPI_Comm everybody, const std::string& registered, bool joining) {
  const bool root = rank_of(everybody) == 0;
  std::vector<std::byte> packed;
  if (root) packed = pack(registered);
  broadcast_bytes(everybody, 0, packed);
  std::size_t at = 0;
  const auto first = next_part(packed, at);
  const std::string of_root(reinterpret_cast<const char*>(first.data()), first.size());
  const int same = of_root == registered;
  int all_same = 0;
  check_mpi(MPI_Allreduce(&same, &all_same, 1, MPI_INT, MPI_MIN, everybody),
            "comparing what ranks registered");
  if (!same)
    throw Error("this rank registered [" + registered + "] and rank 0 [" + of_root +
                "]; all ranks, joining ones too, must register the same things in the same order");
  if (!all_same)
    throw Error("another rank did not register [" + registered +
                "]; all ranks, joining ones too, must register the same things in the same order");
  if (joining) stage(packed, at);
  return root ? static_cast<std::int64_t>(packed.size()) : 0;
}

void ReplicatedValues::restore(const std::vector<std::byte>& saved) {
  std::size_t at = 0;
  next_part(saved, at);  // where a change says what is registered
  stage(saved, at);
}

void ReplicatedValues::accept() noexcept {
  for (const auto& value : values_) value->accept();
}

}  // namespace elastic
