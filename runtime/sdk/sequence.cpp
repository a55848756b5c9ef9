// SPDX-License-Identifier: Apache-2.0
#include "elastic_mpi/sequence.hpp"

#include <mpi-ext.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "elastic_mpi/comm.hpp"
#include "elastic_mpi/cuts.hpp"
#include "runtime/sdk/requests.hpp"
#include "runtime/sdk/tags.hpp"

namespace elastic {
namespace {

// What every rank tells the others before anything moves. Plain 64-bit fields: sent as bytes.
struct Offer {
  std::int64_t count;
  double capacity;
  double largest_weight;
  std::int64_t element_bytes;
  std::int64_t faults;     // bits of Fault
  std::int64_t weighting;  // bits of Weighting
  std::int64_t marked;     // whether there are cut marks
};
enum Fault : std::int64_t { weight_size = 1, weight_value = 2, capacity_value = 4, mark_size = 8 };
enum Weighting : std::int64_t { given = 1, absent = 2 };

bool valid(double x) { return std::isfinite(x) && x >= 0; }

Offer offer(std::int64_t count, std::size_t element_bytes, std::span<const double> weight, double capacity,
            std::span<const std::uint8_t> may_cut) {
  Offer o{count, capacity, 1.0, static_cast<std::int64_t>(element_bytes), 0, 0, !may_cut.empty()};
  const auto size = static_cast<std::size_t>(count);
  if (!weight.empty() && weight.size() != size) o.faults |= weight_size;
  if (!may_cut.empty() && may_cut.size() != size) o.faults |= mark_size;
  if (!valid(capacity)) o.faults |= capacity_value;
  if (!std::ranges::all_of(weight, valid)) o.faults |= weight_value;
  if (!weight.empty()) o.largest_weight = *std::ranges::max_element(weight);
  if (count > 0) o.weighting = weight.empty() ? absent : given;
  return o;
}

// Everybody sees the same offers, so everybody throws, or nobody.
void check(const std::vector<Offer>& offers) {
  const auto fail = [](std::size_t rank, const std::string& what) {
    throw Error("moving a sequence: rank " + std::to_string(rank) + " of the communicator " + what);
  };
  std::int64_t weighting = 0, total = 0;
  double capacity = 0;
  for (std::size_t r = 0; r < offers.size(); ++r) {
    const Offer& o = offers[r];
    if (o.faults & weight_size) fail(r, "gave neither one weight for each element nor none");
    if (o.faults & mark_size) fail(r, "gave neither one cut mark for each element nor none");
    if (o.faults & weight_value) fail(r, "gave a weight that is negative or not finite");
    if (o.faults & capacity_value)
      fail(r, "gave the capacity " + std::to_string(o.capacity) + ", expected a finite number >= 0");
    if (o.element_bytes == static_cast<std::int64_t>(SequencePlan::bad_size))
      fail(r, "holds part of a row only, or gave a row length that is not above 0");
    if (o.element_bytes != offers[0].element_bytes)
      fail(r, "has elements of " + std::to_string(o.element_bytes) + " bytes, rank 0 of " +
                  std::to_string(offers[0].element_bytes) + "; all ranks must move the same type");
    weighting |= o.weighting;
    if (weighting == (given | absent))
      fail(r, o.weighting == given ? "gave weights and a rank before it did not; all or none must"
                                   : "gave no weights and a rank before it did; all or none must");
    total += o.count;
    capacity += o.capacity;
  }
  if (total > 0 && capacity == 0)
    throw Error("moving a sequence: all ranks have capacity 0, nobody can receive its " +
                std::to_string(total) + " elements");
}

template <class T>
std::vector<T> gather_all(MPI_Comm comm, int size, const T& mine) {
  std::vector<T> all(static_cast<std::size_t>(size));
  check_mpi(MPI_Allgather(&mine, sizeof(T), MPI_BYTE, all.data(), sizeof(T), MPI_BYTE, comm),
            "moving a sequence: gathering the sizes");
  return all;
}

// Keeps, for every cut, the candidate that is nearest over all ranks; the lowest position wins a tie.
std::vector<Candidate> nearest_of_all(MPI_Comm comm, const std::vector<Candidate>& mine) {
  const auto reduce = [&](std::vector<std::int64_t>& values) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT64_T,
                            MPI_MIN, comm),
              "moving a sequence: choosing the cuts");
  };
  std::vector<std::int64_t> distance, position;
  for (const auto& c : mine) distance.push_back(c.distance);
  reduce(distance);
  for (std::size_t i = 0; i < mine.size(); ++i)
    position.push_back(mine[i].distance == distance[i] ? mine[i].position : INT64_MAX);
  reduce(position);
  std::vector<Candidate> best;
  for (std::size_t i = 0; i < mine.size(); ++i) best.push_back({distance[i], position[i]});
  return best;
}

}  // namespace

SequencePlan::SequencePlan(MPI_Comm comm, std::int64_t count, std::size_t element_bytes,
                           std::span<const double> weight, double capacity,
                           std::span<const std::uint8_t> may_cut) {
  const int size = size_of(comm);
  rank_ = static_cast<std::size_t>(rank_of(comm));
  const auto offers = gather_all(comm, size, offer(count, element_bytes, weight, capacity, may_cut));
  check(offers);

  std::vector<double> capacities;
  double largest = 0;
  bool weighted = false, marked = false;
  old_offsets_ = {0};
  for (const auto& o : offers) {
    capacities.push_back(o.capacity);
    if (o.count > 0) largest = std::max(largest, o.largest_weight);
    weighted = weighted || o.weighting == given;
    marked = marked || o.marked != 0;
    old_offsets_.push_back(old_offsets_.back() + o.count);
  }
  const std::int64_t total_count = old_offsets_.back();
  if (total_count == 0) {
    new_offsets_ = old_offsets_;
    return;
  }
  if (largest < kNegligibleWeight) {
    weight = {};
    largest = 1;
    weighted = false;
  }
  if (!weighted && !marked) {
    new_offsets_ = even_cuts(total_count, capacities);
    return;
  }

  const WeightScale scale(largest, total_count);
  std::int64_t here = 0;
  if (weight.empty()) here = count * scale.units(1.0);
  for (const double w : weight) here += scale.units(w);
  std::int64_t before = 0, total = 0, at = 0;
  for (const auto sum : gather_all(comm, size, here)) {
    if (at++ < static_cast<int>(rank_)) before += sum;
    total += sum;
  }
  const auto wanted = wanted_cuts(total, capacities);
  const auto mine = nearest_cuts(wanted, old_offsets_[rank_], before, count, weight, scale, may_cut);
  new_offsets_ = choose_cuts(wanted, nearest_of_all(comm, mine), total_count);
}

std::int64_t SequencePlan::sent_bytes(std::size_t element_bytes) const {
  std::int64_t sum = 0;
  for (const auto& t : overlaps(old_offsets_[rank_], old_offsets_[rank_ + 1], new_offsets_))
    if (static_cast<std::size_t>(t.peer) != rank_) sum += t.count;
  return sum * static_cast<std::int64_t>(element_bytes);
}

void SequencePlan::check_count(std::size_t size, std::size_t width) const {
  if (size != static_cast<std::size_t>(old_count()) * width)
    throw Error("moving a sequence: the array has " + std::to_string(size) +
                " values, the plan was made for " + std::to_string(old_count()) + " elements of " +
                std::to_string(width));
}

void SequencePlan::move_bytes(MPI_Comm comm, std::size_t element_bytes, const void* from, void* to,
                              void (*on_failure)(void*), void* context) const {
  const auto bytes = static_cast<std::int64_t>(element_bytes);
  const std::int64_t old_begin = old_offsets_[rank_], new_begin = new_offsets_[rank_];
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  const auto outgoing = overlaps(old_begin, old_offsets_[rank_ + 1], new_offsets_);
  const auto incoming = overlaps(new_begin, new_offsets_[rank_ + 1], old_offsets_);

  Requests requests(comm, tags::kSequence);
  for (const auto& t : incoming)
    if (static_cast<std::size_t>(t.peer) != rank_)
      requests.receive(target + (t.begin - new_begin) * bytes, t.count * bytes, t.peer);
  for (const auto& t : outgoing)
    if (static_cast<std::size_t>(t.peer) != rank_)
      requests.send(source + (t.begin - old_begin) * bytes, t.count * bytes, t.peer);
  for (const auto& t : outgoing)
    if (static_cast<std::size_t>(t.peer) == rank_)
      std::memcpy(target + (t.begin - new_begin) * bytes, source + (t.begin - old_begin) * bytes,
                  static_cast<std::size_t>(t.count * bytes));
  const int code = requests.wait();
  if (code == MPI_SUCCESS) return;
  MPIX_Comm_revoke(comm);  // the others may wait for messages that this rank did not send
  on_failure(context);
  check_mpi(code, "moving a sequence: exchanging the elements");
}

}  // namespace elastic
