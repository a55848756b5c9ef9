// SPDX-License-Identifier: Apache-2.0
// All that is registered, as bytes and back: what checkpoints and snapshots have in common.
#include "elastic_mpi/blocks.hpp"
#include "elastic_mpi/comm.hpp"
#include "runtime/sdk/loop_state.hpp"

namespace elastic {

StoredAll Loop::State::store_all(bool with_values, std::string& why, empi::LargeBytes memory) {
  StoredAll all{.bytes = std::move(memory), .counts = {}};
  all.bytes.clear();
  const auto add = [&](std::span<const std::byte> bytes, std::size_t element_bytes) {
    all.bytes.append(bytes);
    all.counts.push_back(static_cast<std::int64_t>(bytes.size() / element_bytes));
  };
  const bool as_in_a_change = save_hooks.empty() && !release_hooks.empty();
  if (as_in_a_change) release();
  try {
    for (const auto& hook : save_hooks) hook();
    add(with_values ? values.save() : std::vector<std::byte>(), 1);
    for (const auto& item : items) {
      const Stored stored = item->store();
      add(stored.bytes, item->shape().element_bytes);
    }
  } catch (const std::exception& e) {
    why = e.what();
  }
  if (as_in_a_change) rebuild();
  all.counts.resize(items.size() + 1);
  return all;
}

Taken Loop::State::taken_of(const Item& item, std::span<const std::int64_t> counts, int ranks, int rank) {
  Taken taken;
  for (const std::int64_t count : counts) taken.total += count;
  if (!item.by_ranks()) {
    const RowRange mine = equal_rows(taken.total, ranks, rank);
    taken.first = mine.first;
    taken.count = mine.count;
    return taken;
  }
  const RowRange writers = equal_rows(static_cast<std::int64_t>(counts.size()), ranks, rank);
  for (std::int64_t w = 0; w < writers.first; ++w) taken.first += counts[static_cast<std::size_t>(w)];
  for (std::int64_t w = writers.first; w < writers.first + writers.count; ++w) {
    taken.parts.push_back(counts[static_cast<std::size_t>(w)]);
    taken.count += taken.parts.back();
  }
  return taken;
}

void Loop::State::cut_anew(MPI_Comm world) {
  for (const auto& item : items) {
    if (!item->cut_after_restoring()) continue;
    agree(world, [&] { item->measure(); });
    item->prepare(world, capacity);
    agree(world, [&] { item->make_room(); });
    item->transfer(world, capacity);
    item->accept();
  }
}

void Loop::State::drop_items() {
  for (const auto& item : items) item->drop();
}

}  // namespace elastic
