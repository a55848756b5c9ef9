// SPDX-License-Identifier: Apache-2.0
// Going on from a checkpoint.
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "elastic_mpi/blocks.hpp"
#include "elastic_mpi/comm.hpp"
#include "elastic_mpi/replicate.hpp"
#include "runtime/checkpoint/series.hpp"
#include "runtime/sdk/checkpointer.hpp"

namespace elastic {
namespace {

// The text of rank 0.
std::string same_text(MPI_Comm world, const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  std::vector<std::byte> bytes(begin, begin + text.size());
  broadcast_bytes(world, 0, bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

// Whether no rank has a reason against. Of those that have, the first keeps it, and says it.
bool Checkpointer::all_well(std::string& why) {
  const int rank = rank_of(MPI_COMM_WORLD), nobody = size_of(MPI_COMM_WORLD);
  const int mine = why.empty() ? nobody : rank;
  int first = nobody;
  check_mpi(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD), "agreeing on a checkpoint");
  if (first != rank) why.clear();
  return first == nobody;
}

bool Checkpointer::restore() {
  const MPI_Comm world = MPI_COMM_WORLD;
  const bool first = rank_of(world) == 0;
  std::string list;
  std::int64_t next = 1;
  if (first && !settings_.folder.empty()) {
    std::string error;
    const auto found = checkpoint::list(settings_.folder, error);
    if (!error.empty()) trouble(error);
    next = checkpoint::next_number(settings_.program, found);
    for (const std::string& name : checkpoint::newest_first(settings_.program, found))
      list += settings_.path_of(name) + "\n";
    for (const std::string& name : found)  // nobody writes them any more
      if (checkpoint::part_number(settings_.program, name)) unlink(settings_.path_of(name).c_str());
  }
  if (!settings_.from.empty()) list = settings_.from;
  std::string why, taken;
  for (const std::string& path : lines_of(same_text(world, list))) {
    why.clear();
    if (try_one(path, why)) {
      taken = path;
      break;
    }
    if (!why.empty())
      std::fprintf(stderr, "elastic::Loop: the checkpoint %s is refused: %s\n", path.c_str(), why.c_str());
    if (!settings_.from.empty())
      throw Error("the checkpoint " + path + " that the job is to go on from is refused" +
                  (why.empty() ? "; another rank says why" : ": " + why));
  }
  check_mpi(MPI_Bcast(&next, 1, MPI_INT64_T, 0, world), "sharing the number of the next checkpoint");
  until_look_ = 1;
  next_number_ = next;
  last_iteration_ = loop_.iterations;
  last_millis_ = wall_millis();
  if (taken.empty()) return false;
  if (first) {
    std::fprintf(stderr, "elastic::Loop: goes on from %s, iteration %lld, written by %zu ranks\n",
                 taken.c_str(), static_cast<long long>(loop_.iterations), contents_.ranks());
    MPIX_Checkpoint_restored_adapt(loop_.iterations, taken.c_str());
  }
  return true;
}

// Whether all ranks have all of it. If not, nothing has changed, and `why` is said where it is known.
bool Checkpointer::try_one(const std::string& path, std::string& why) {
  auto found = checkpoint::inspect(path);
  if (!found)
    why = found.error();
  else
    why = checkpoint::difference(found.value().contents, settings_.program, parts());
  if (!all_well(why)) return false;
  try {
    fetch(path, found.value());
  } catch (const std::exception& e) {
    why = e.what();
  }
  if (!all_well(why)) {
    loop_.drop_items();
    return false;
  }
  // Each is collective, and may throw anywhere.
  for (const auto& item : loop_.items) {
    try {
      item->load(MPI_COMM_WORLD);
    } catch (const std::exception& e) {
      why = e.what();
    }
    if (all_well(why)) continue;
    loop_.drop_items();
    return false;
  }
  loop_.values.accept();
  for (const auto& item : loop_.items) item->accept();
  loop_.cut_anew(MPI_COMM_WORLD);
  contents_ = std::move(found.value().contents);
  return true;
}

void Checkpointer::fetch(const std::string& path, const checkpoint::Found& found) {
  std::vector<std::byte> values(found.contents.parts[0].total());
  if (const auto why = read_elements(path, found, 0, 0, values.size(), values.data()); !why.empty())
    throw Error(why);
  loop_.values.restore(values);
  for (std::size_t p = 1; p < found.contents.parts.size(); ++p) fetch_item(path, found, p);
}

void Checkpointer::fetch_item(const std::string& path, const checkpoint::Found& found, std::size_t p) {
  const std::vector<std::uint64_t>& written = found.contents.parts[p].counts;
  const std::vector<std::int64_t> counts(written.begin(), written.end());
  Item& item = *loop_.items[p - 1];
  const Taken taken = Loop::State::taken_of(item, counts, size_of(MPI_COMM_WORLD), rank_of(MPI_COMM_WORLD));
  std::byte* room = item.make_room_for(taken);
  const auto why = read_elements(path, found, p, static_cast<std::uint64_t>(taken.first),
                                 static_cast<std::uint64_t>(taken.count), room);
  if (!why.empty()) throw Error(why);
}

}  // namespace elastic
