// SPDX-License-Identifier: Apache-2.0
// Going back to a snapshot, on other ranks than took it.
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include "elastic_mpi/comm.hpp"
#include "elastic_mpi/replicate.hpp"
#include "runtime/sdk/requests.hpp"
#include "runtime/sdk/snapshots.hpp"
#include "runtime/sdk/tags.hpp"

namespace elastic {

std::shared_ptr<Snapshots::Snapshot> Snapshots::find(std::int64_t number) const {
  for (const auto& snapshot : {newest_, before_})
    if (snapshot && snapshot->number == number) return snapshot;
  return nullptr;
}

Snapshots::Holding Snapshots::holding_of(const std::shared_ptr<Snapshot>& snapshot) const {
  if (!snapshot) return {};
  Holding holding{snapshot->number, snapshot->ranks, snapshot->own.rank >= 0, {}};
  for (const Copy* copy : {&snapshot->own, &snapshot->ward})
    if (copy->rank >= 0) holding.copies.push_back(copy->rank);
  for (const Copy& copy : snapshot->given) holding.copies.push_back(copy.rank);
  return holding;
}

std::vector<Snapshots::Holdings> Snapshots::all_holdings(MPI_Comm comm) const {
  std::vector<std::int64_t> mine;
  for (const auto& snapshot : {newest_, before_}) {
    const Holding h = holding_of(snapshot);
    mine.insert(mine.end(), {h.number, h.ranks, h.has_own, static_cast<std::int64_t>(h.copies.size())});
    mine.insert(mine.end(), h.copies.begin(), h.copies.end());
  }
  const auto ranks = static_cast<std::size_t>(size_of(comm));
  const int words = static_cast<int>(mine.size());
  std::vector<int> lengths(ranks), begins(ranks);
  check_mpi(MPI_Allgather(&words, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm),
            "asking who has which snapshot");
  std::exclusive_scan(lengths.begin(), lengths.end(), begins.begin(), 0);
  std::vector<std::int64_t> all(static_cast<std::size_t>(begins.back() + lengths.back()));
  check_mpi(MPI_Allgatherv(mine.data(), words, MPI_INT64_T, all.data(), lengths.data(), begins.data(),
                           MPI_INT64_T, comm),
            "asking who has which snapshot");
  std::vector<Holdings> holdings(ranks);
  auto at = all.begin();
  for (Holdings& of_rank : holdings)
    for (Holding& h : of_rank) {
      h = {at[0], static_cast<int>(at[1]), at[2] != 0, {}};
      const auto copies = at[3];
      h.copies.assign(at + 4, at + 4 + copies);
      at += 4 + copies;
    }
  return holdings;
}

Snapshots::Choice Snapshots::choose(MPI_Comm world) const {
  const auto all = all_holdings(world);
  std::vector<Holding> newest_first;
  for (const Holdings& holdings : all)
    for (const Holding& h : holdings)
      if (h.number > 0) newest_first.push_back(h);
  std::ranges::sort(newest_first, [](const Holding& a, const Holding& b) { return a.number > b.number; });
  const auto last = std::ranges::unique(newest_first, {}, &Holding::number);
  newest_first.erase(last.begin(), last.end());
  int lost = 0;
  for (const Holding& candidate : newest_first) {
    Choice choice{candidate.number, std::vector<int>(static_cast<std::size_t>(candidate.ranks), -1)};
    for (const bool own : {false, true})  // rather from the rank itself than from another that has a copy
      for (std::size_t rank = 0; rank < all.size(); ++rank)
        for (const Holding& h : all[rank]) {
          if (h.number != candidate.number) continue;
          for (std::size_t i = 0; i < h.copies.size(); ++i)
            if ((h.has_own && i == 0) == own)
              choice.givers[static_cast<std::size_t>(h.copies[i])] = static_cast<int>(rank);
        }
    const auto missing = std::ranges::find(choice.givers, -1);
    if (missing == choice.givers.end()) return choice;
    lost = static_cast<int>(missing - choice.givers.begin());
  }
  throw Error("no copy is left of what rank " + std::to_string(lost) +
              " had: its pod and the one with the copy are both lost");
}

const Snapshots::Copy* Snapshots::copy_of(const Snapshot& s, int rank) const {
  for (const Copy* copy : {&s.own, &s.ward})
    if (copy->rank == rank) return copy;
  const auto given = std::ranges::find(s.given, rank, &Copy::rank);
  return given == s.given.end() ? nullptr : &*given;
}

void Snapshots::restore(MPI_Comm world) {
  const Choice choice = choose(world);
  std::shared_ptr<Snapshot> chosen = find(choice.number);
  // Who has joined since has none of it, and who is first has.
  int knows = chosen ? rank_of(world) : size_of(world), first = 0;
  check_mpi(MPI_Allreduce(&knows, &first, 1, MPI_INT, MPI_MIN, world),
            "asking who knows the sizes of a snapshot");
  chosen = known_to_all({choice.number, static_cast<int>(choice.givers.size()), false, {}}, first, world);
  fetch_values(*chosen, choice, world);
  for (std::size_t part = 1; part < parts(); ++part) fetch_item(*chosen, choice, part, world);
  for (const auto& item : loop_.items) agree(world, [&] { item->load(world); });
  loop_.values.accept();
  for (const auto& item : loop_.items) in_doubt_.push_back(item->accept_and_keep());
  loop_.cut_anew(world);
  newest_ = chosen;
  before_.reset();  // of another iteration than the others' under this number, perhaps
  iteration_taken_ = loop_.iterations;
  taken_at_ = 0;
}

void Snapshots::fetch_values(const Snapshot& s, const Choice& choice, MPI_Comm world) {
  std::vector<std::byte> values;
  if (const Copy* copy = choice.givers[0] == rank_of(world) ? copy_of(s, 0) : nullptr)
    values.assign(copy->bytes.begin(), copy->bytes.begin() + s.counts_of(0, parts())[0]);
  broadcast_bytes(world, choice.givers[0], values);
  loop_.values.restore(values);
}

void Snapshots::fetch_item(const Snapshot& s, const Choice& choice, std::size_t part, MPI_Comm world) {
  Item& item = *loop_.items[part - 1];
  const auto element = static_cast<std::int64_t>(item.shape().element_bytes);
  const int here = rank_of(world), ranks = size_of(world);
  std::vector<std::int64_t> counts;
  for (int rank = 0; rank < s.ranks; ++rank) counts.push_back(s.counts_of(rank, parts())[part]);
  const Taken mine = Loop::State::taken_of(item, counts, ranks, here);
  std::byte* room = nullptr;
  agree(world, [&] { room = item.make_room_for(mine); });
  Requests requests(world, tags::kRestore);
  // What `rank` of the world then has of [first, first + count) and where it begins in that.
  struct Overlap {
    std::int64_t begin, count, at;
  };
  std::int64_t before = 0;
  const auto overlap = [&](int rank, const Taken& wanted) {
    const std::int64_t begin = std::max(before, wanted.first);
    const std::int64_t end =
        std::min(before + counts[static_cast<std::size_t>(rank)], wanted.first + wanted.count);
    return Overlap{begin - before, std::max<std::int64_t>(end - begin, 0), begin - wanted.first};
  };
  for (int rank = 0; rank < s.ranks; before += counts[static_cast<std::size_t>(rank++)]) {
    const int giver = choice.givers[static_cast<std::size_t>(rank)];
    if (const Overlap o = overlap(rank, mine); o.count > 0 && giver != here)
      requests.receive(room + o.at * element, o.count * element, giver);
    if (giver != here) continue;
    const std::byte* from = copy_of(s, rank)->bytes.data() + bytes_before(s, rank, part);
    for (int taker = 0; taker < ranks; ++taker) {
      const Overlap o = overlap(rank, Loop::State::taken_of(item, counts, ranks, taker));
      if (o.count > 0 && taker != here) requests.send(from + o.begin * element, o.count * element, taker);
      if (o.count > 0 && taker == here)
        std::memcpy(room + o.at * element, from + o.begin * element,
                    static_cast<std::size_t>(o.count * element));
    }
  }
  const int code = requests.wait();
  if (code != MPI_SUCCESS) {
    item.abandon();
    in_doubt_.push_back(newest_);
    in_doubt_.push_back(before_);
  }
  check_mpi(code, "fetching the parts of a snapshot");
}

}  // namespace elastic
