// SPDX-License-Identifier: Apache-2.0
#include "runtime/sdk/snapshots.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <utility>

#include "elastic_mpi/comm.hpp"
#include "elastic_mpi/replicate.hpp"
#include "runtime/rank/recovery_api.h"
#include "runtime/sdk/guardians.hpp"
#include "runtime/sdk/requests.hpp"
#include "runtime/sdk/tags.hpp"

namespace elastic {
namespace {

constexpr double kShareOfRun = .01, kSoonest = 1;  // s

// Errors on the communicator come back as codes: an exception of the error handler would leave buffers behind
// that MPI still writes to.
class ReturningErrors {
 public:
  explicit ReturningErrors(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_get_errhandler(comm, &before_);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  ~ReturningErrors() {
    MPI_Comm_set_errhandler(comm_, before_);
    MPI_Errhandler_free(&before_);
  }
  ReturningErrors(const ReturningErrors&) = delete;
  ReturningErrors& operator=(const ReturningErrors&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

}  // namespace

void Snapshots::after_iteration() {
  if (--until_next_ <= 0) take();
}

void Snapshots::take() {
  const double begin = MPI_Wtime();
  const MPI_Comm world = MPI_COMM_WORLD;
  std::string why;
  // Its hooks are the program's, and what they make is to have the error handler of the world.
  StoredAll stored = loop_.store_all(true, why);
  const ReturningErrors returning(world);
  if (loop_.items.empty() && !ready_)
    throw Error(
        "elastic::Loop::recoverable: nothing is registered but replicated values; register with block(), "
        "sequence() or data() what a lost rank would take along");
  enum { kNumber, kGood, kNext, kNode, kHead };
  std::vector<std::int64_t> mine{newest_ ? newest_->number : 0, why.empty(),
                                 iterations_until_next(begin - taken_at_), static_cast<std::int64_t>(node_)};
  mine.insert(mine.end(), stored.counts.begin(), stored.counts.end());
  const auto words = mine.size();
  const int ranks = size_of(world);
  std::vector<std::int64_t> all(words * static_cast<std::size_t>(ranks));
  check_mpi(MPI_Allgather(mine.data(), static_cast<int>(words), MPI_INT64_T, all.data(),
                          static_cast<int>(words), MPI_INT64_T, world),
            "gathering the sizes of a snapshot");
  until_next_ = all[kNext];
  auto fresh = std::make_shared<Snapshot>();
  fresh->ranks = ranks;
  bool good = true;
  std::vector<std::uint64_t> nodes;  // of the pods
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    const auto of_rank = std::span(all).subspan(rank * words, words);
    fresh->number = std::max(fresh->number, of_rank[kNumber] + 1);
    good = good && of_rank[kGood] != 0;
    if (rank % static_cast<std::size_t>(slots_) == 0)
      nodes.push_back(static_cast<std::uint64_t>(of_rank[kNode]));
    fresh->counts.insert(fresh->counts.end(), of_rank.begin() + kHead, of_rank.end());
  }
  if (!good) {
    if (!why.empty() && !std::exchange(told_why_, true))
      std::fprintf(stderr, "elastic::Loop: no snapshot, the loss of a rank ends the job: %s\n", why.c_str());
    return;
  }
  fresh->own = {rank_of(world), std::move(stored.bytes)};
  before_ = std::exchange(newest_, fresh);
  exchange(*fresh, nodes, world);
  int here = 1, everywhere = 0;
  check_mpi(MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, world),
            "asking whether all have a snapshot");
  if (before_) before_->given.clear();
  long_in_doubt_ = std::exchange(in_doubt_, {});
  if (!std::exchange(ready_, true)) MPIX_Recovery_ready();
  taken_at_ = MPI_Wtime();
  cost_ = taken_at_ - begin;
  iteration_taken_ = loop_.iterations;
}

void Snapshots::exchange(Snapshot& fresh, const std::vector<std::uint64_t>& nodes, MPI_Comm world) {
  if (nodes.size() < 2) return;
  const std::vector<int> of_pods = guardians(nodes);
  const int pod = fresh.own.rank / slots_, slot = fresh.own.rank % slots_;
  const auto pod_of_ward = std::ranges::find(of_pods, pod) - of_pods.begin();
  const int guardian = of_pods[static_cast<std::size_t>(pod)] * slots_ + slot;
  const int ward = static_cast<int>(pod_of_ward) * slots_ + slot;
  empi::LargeBytes copy(bytes_of(fresh, ward));
  Requests requests(world, tags::kCopies);
  requests.receive(copy.data(), static_cast<std::int64_t>(copy.size()), ward);
  requests.send(fresh.own.bytes.data(), static_cast<std::int64_t>(fresh.own.bytes.size()), guardian);
  const int code = requests.wait();
  if (code == MPI_SUCCESS) {
    fresh.ward = {ward, std::move(copy)};
    return;
  }
  in_doubt_.push_back(std::make_shared<empi::LargeBytes>(std::move(copy)));
  in_doubt_.push_back(newest_);
  check_mpi(code, "exchanging the copies of a snapshot");
}

std::vector<std::int64_t> Snapshots::bytes_of_parts(const Snapshot& s, int rank) const {
  const auto counts = s.counts_of(rank, parts());
  std::vector<std::int64_t> bytes{counts[0]};
  for (std::size_t i = 0; i < loop_.items.size(); ++i)
    bytes.push_back(counts[i + 1] * static_cast<std::int64_t>(loop_.items[i]->shape().element_bytes));
  return bytes;
}

std::size_t Snapshots::bytes_of(const Snapshot& s, int rank) const {
  const auto bytes = bytes_of_parts(s, rank);
  return static_cast<std::size_t>(std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}));
}

std::int64_t Snapshots::bytes_before(const Snapshot& s, int rank, std::size_t part) const {
  const auto bytes = bytes_of_parts(s, rank);
  return std::accumulate(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(part), std::int64_t{0});
}

// By what this rank knows; that of rank 0 counts.
std::int64_t Snapshots::iterations_until_next(double since_last) const {
  if (every_ > 0) return every_;
  const std::int64_t done = loop_.iterations - iteration_taken_;
  if (taken_at_ == 0 || done <= 0 || since_last <= 0) return 1;
  const double iteration = since_last / static_cast<double>(done);
  const double wanted = std::max(kSoonest, cost_ / kShareOfRun) / iteration;
  return static_cast<std::int64_t>(std::clamp(std::ceil(wanted), 1.0, 1e9));
}

}  // namespace elastic
