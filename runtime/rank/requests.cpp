// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/requests.hpp"

#include <map>
#include <string_view>
#include <utility>

namespace empi::rank {

namespace {

constexpr std::size_t kFirstPlaces = 64;  // a power of two, as all sizes of the table

bool is_persistent(std::string_view by) { return by.ends_with("_init"); }

bool is_complete(MPI_Request request) {
  int complete = 0;
  PMPI_Request_get_status(request, &complete, MPI_STATUS_IGNORE);
  return complete != 0;
}

}  // namespace

WorldRequests& world_requests() {
  static WorldRequests& instance = *new WorldRequests;  // threads may call MPI while the process exits
  return instance;
}

// Where it is, or where it would be put. Linear probing; the table is never more than half full.
std::size_t WorldRequests::place_of(MPI_Request request) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t place = (reinterpret_cast<std::uintptr_t>(request) * 0x9E3779B97F4A7C15ull >> 32) & mask;
  while (table_[place].handle && table_[place].handle != request) place = (place + 1) & mask;
  return place;
}

void WorldRequests::grow() {
  std::vector<Entry> old(table_.empty() ? kFirstPlaces : table_.size() * 2);
  old.swap(table_);
  for (const Entry& entry : old)
    if (entry.handle) table_[place_of(entry.handle)] = entry;
}

void WorldRequests::keep(MPI_Request request, const char* by) {
  if (request == MPI_REQUEST_NULL || !request) return;
  const std::lock_guard lock(mutex_);
  const std::size_t kept = kept_.load(std::memory_order_relaxed);
  if (table_.size() < 2 * (kept + 1)) grow();
  Entry& entry = table_[place_of(request)];
  // A handle that is there already was ended where this library does not look (Fortran, PMPI_ calls), or is
  // the one that Open MPI gives for everything that was complete at once.
  if (!entry.handle) kept_.store(kept + 1, std::memory_order_release);
  entry = {request, by, ++last_number_};
}

std::uint64_t WorldRequests::number_of(MPI_Request request) const {
  if (!request || kept_.load(std::memory_order_acquire) == 0) return 0;
  const std::lock_guard lock(mutex_);
  if (table_.empty()) return 0;
  const Entry& entry = table_[place_of(request)];
  return entry.handle ? entry.number : 0;
}

void WorldRequests::end(MPI_Request request, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (table_.empty()) return;
  std::size_t hole = place_of(request);
  if (!table_[hole].handle || table_[hole].number != number) return;
  table_[hole] = {};
  kept_.fetch_sub(1, std::memory_order_release);
  // Those behind it that were put there because it was taken move up.
  const std::size_t mask = table_.size() - 1;
  for (std::size_t next = (hole + 1) & mask; table_[next].handle; next = (next + 1) & mask) {
    const Entry moved = std::exchange(table_[next], {});
    table_[place_of(moved.handle)] = moved;
  }
}

std::vector<std::string> WorldRequests::live() {
  std::map<std::string_view, int> made_by;
  {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : table_)
      if (entry.handle && (is_persistent(entry.by) || !is_complete(entry.handle))) ++made_by[entry.by];
  }
  std::vector<std::string> found;
  for (const auto& [by, number] : made_by)
    found.push_back((number == 1 ? "a" : std::to_string(number)) +
                    (is_persistent(by) ? " persistent request" : " pending request") +
                    (number == 1 ? "" : "s") + " of " + std::string(by));
  return found;
}

void WorldRequests::forget() {
  const std::lock_guard lock(mutex_);
  table_.clear();
  kept_.store(0, std::memory_order_release);
}

WorldRequests::Ending::Ending(int count, MPI_Request* requests) : requests_(requests) {
  const WorldRequests& all = world_requests();
  if (!requests || count <= 0 || all.kept_.load(std::memory_order_acquire) == 0) return;
  count_ = count;
  if (count == 1) {
    one_ = {*requests, all.number_of(*requests)};
    return;
  }
  many_.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) many_.push_back({requests[i], all.number_of(requests[i])});
}

WorldRequests::Ending::~Ending() {
  for (int i = 0; i < count_; ++i) {
    const Watched& watched = count_ == 1 ? one_ : many_[static_cast<std::size_t>(i)];
    if (watched.number != 0 && requests_[i] == MPI_REQUEST_NULL)
      world_requests().end(watched.handle, watched.number);
  }
}

}  // namespace empi::rank
