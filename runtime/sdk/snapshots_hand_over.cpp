// SPDX-License-Identifier: Apache-2.0
// What a snapshot loses when ranks leave, given to others before (gifts.hpp).
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>

#include "elastic_mpi/comm.hpp"
#include "runtime/sdk/gifts.hpp"
#include "runtime/sdk/requests.hpp"
#include "runtime/sdk/snapshots.hpp"
#include "runtime/sdk/tags.hpp"

namespace elastic {

std::int64_t Snapshots::hand_over(MPI_Comm everybody, bool leaving) {
  if (newest_) newest_->given.clear();  // of a change that was rolled back
  enum { kStays, kNode, kWords };
  const std::array<std::int64_t, kWords> mine{leaving ? 0 : 1, static_cast<std::int64_t>(node_)};
  const int ranks = size_of(everybody), here = rank_of(everybody);
  std::vector<std::array<std::int64_t, kWords>> places(static_cast<std::size_t>(ranks));
  check_mpi(MPI_Allgather(mine.data(), kWords, MPI_INT64_T, places.data(), kWords, MPI_INT64_T, everybody),
            "asking who leaves");
  const auto holdings = all_holdings(everybody);
  Holding newest;
  int first = 0;  // who knows its sizes
  for (std::size_t rank = 0; rank < holdings.size(); ++rank)
    if (const Holding& h = holdings[rank][0]; h.number > newest.number) {
      newest = h;
      first = static_cast<int>(rank);
    }
  std::vector<Holder> holders;
  for (std::size_t rank = 0; rank < holdings.size(); ++rank) {
    const Holding& h = holdings[rank][0];
    holders.push_back({h.number == newest.number ? h.copies : std::vector<int>(),
                       static_cast<int>(rank) / slots_, places[rank][kStays] == 0,
                       static_cast<std::uint64_t>(places[rank][kNode])});
  }
  const auto plan = gifts(holders, newest.ranks);
  if (plan.empty()) return 0;
  const auto fresh = known_to_all(newest, first, everybody);
  if (std::ranges::any_of(plan, [&](const Gift& gift) { return gift.taker == here; })) newest_ = fresh;
  return give(plan, *fresh, everybody);
}

// The snapshot as it is here, or without a copy on a rank that has none of it.
std::shared_ptr<Snapshots::Snapshot> Snapshots::known_to_all(const Holding& which, int first,
                                                             MPI_Comm comm) const {
  std::shared_ptr<Snapshot> snapshot = find(which.number);
  if (!snapshot) snapshot = std::make_shared<Snapshot>();
  snapshot->number = which.number;
  snapshot->ranks = which.ranks;
  snapshot->counts.resize(static_cast<std::size_t>(which.ranks) * parts());
  check_mpi(
      MPI_Bcast(snapshot->counts.data(), static_cast<int>(snapshot->counts.size()), MPI_INT64_T, first, comm),
      "sharing the sizes of a snapshot");
  return snapshot;
}

std::int64_t Snapshots::give(const std::vector<Gift>& plan, Snapshot& snapshot, MPI_Comm everybody) {
  const int here = rank_of(everybody);
  std::vector<Copy> taken;
  agree(everybody, [&] {
    for (const Gift& gift : plan)
      if (gift.taker == here) taken.push_back({gift.copy, empi::LargeBytes(bytes_of(snapshot, gift.copy))});
  });
  Requests requests(everybody, tags::kCopies);
  std::int64_t sent = 0;
  auto next = taken.begin();
  for (const Gift& gift : plan) {
    const auto bytes = static_cast<std::int64_t>(bytes_of(snapshot, gift.copy));
    if (gift.taker == here) requests.receive((next++)->bytes.data(), bytes, gift.giver);
    if (gift.giver != here) continue;
    requests.send(copy_of(snapshot, gift.copy)->bytes.data(), bytes, gift.taker);
    sent += bytes;
  }
  const int code = requests.wait();
  if (code == MPI_SUCCESS) {
    snapshot.given = std::move(taken);
  } else {
    in_doubt_.push_back(std::make_shared<std::vector<Copy>>(std::move(taken)));
    in_doubt_.push_back(newest_);
  }
  check_mpi(code, "giving copies to those who stay");
  return sent;
}

}  // namespace elastic
