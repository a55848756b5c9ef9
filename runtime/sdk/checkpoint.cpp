// SPDX-License-Identifier: Apache-2.0
// Taking checkpoints: what all ranks agree on; files and threads are in runtime/checkpoint.
//
// At a look, a reduction of four numbers, ranks learn alike whether all have written, whether to take a
// checkpoint now, and after how many iterations they look again. Taking one copies what is registered; each
// rank's thread then writes its share into a file of which rank 0 has made the layout in memory. When all
// have, rank 0's thread gives the file its name.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "elastic_mpi/comm.hpp"
#include "elastic_mpi/replicate.hpp"
#include "runtime/checkpoint/series.hpp"
#include "runtime/sdk/checkpointer.hpp"

namespace elastic {
namespace {

constexpr double kLongestLook = 30;    // s: iterations may become longer meanwhile
constexpr double kWritingLook = 0.05;  // s: until a file that is written gets its name
constexpr double kSlow = 300;          // s: writing one for longer is told

}  // namespace

void Loop::checkpoint(std::int64_t every, const std::string& folder) {
  if (every < 0)
    throw Error("elastic::Loop::checkpoint(" + std::to_string(every) + "): expected 0 or more iterations");
  CheckpointSettings settings(every, folder);
  if (!settings.wanted()) return;
  const bool writes = !settings.folder.empty();
  auto checkpointer = std::make_unique<Checkpointer>(*state_, std::move(settings));
  if (writes)
    checkpointer->register_with(*this);  // the file to go on from may be named to the first start only
  state_->checkpoints = std::move(checkpointer);
}

std::int64_t Checkpointer::wall_millis() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

void Checkpointer::after_iteration() {
  if (settings_.folder.empty() || --until_look_ > 0) return;
  look();
}

void Checkpointer::look() {
  const bool first = rank_of(MPI_COMM_WORLD) == 0;
  if (finishing_ && !beside_.busy()) {
    finishing_ = false;
    const std::string why = beside_.result();
    if (!why.empty()) {
      trouble(why);
    } else {
      last_trouble_.clear();
      MPIX_Checkpoint_adapt(contents_.number, contents_.iteration, static_cast<long long>(contents_.bytes()),
                            written_seconds_ + beside_.seconds(), nullptr);
    }
  }
  const bool busy = beside_.busy();
  if (writing_ && !busy && error_.empty()) error_ = beside_.result();
  std::array<std::int64_t, kWords> mine{busy, writing_ && !error_.empty(), 0, 0}, all{};
  if (first) mine[kTake] = is_due();
  if (first) mine[kLook] = next_look();
  check_mpi(MPI_Allreduce(mine.data(), all.data(), kWords, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD),
            "looking whether a checkpoint is due");
  until_look_ = all[kLook];
  iterations_at_look_ = loop_.iterations;
  time_of_look_ = MPI_Wtime();
  if (all[kBusy]) {
    if (first && MPI_Wtime() - taken_at_ > kSlow && !std::exchange(told_slow_, true))
      trouble("the volume is slow or gone: " + settings_.path_of(part_) + " has been written for more than " +
              std::to_string(static_cast<int>(kSlow)) + " s");
    return;
  }
  if (writing_)
    settle_writing(all[kFailed] != 0);
  else if (all[kTake])
    take();
}

bool Checkpointer::is_due() const {
  if (settings_.cadence.every_iterations > 0)
    return loop_.iterations - last_iteration_ >= settings_.cadence.every_iterations;
  const int nodes = settings_.nodes(size_of(MPI_COMM_WORLD));
  return static_cast<double>(wall_millis() - last_millis_) / 1e3 >=
         checkpoint::interval(settings_.cadence, cost_, nodes);
}

std::int64_t Checkpointer::next_look() const {
  const bool writing = writing_ || beside_.busy() || is_due();
  const std::int64_t done = loop_.iterations - iterations_at_look_;
  const double elapsed = time_of_look_ > 0 ? MPI_Wtime() - time_of_look_ : 0;
  const int nodes = settings_.nodes(size_of(MPI_COMM_WORLD));
  const double left = checkpoint::interval(settings_.cadence, cost_, nodes) -
                      static_cast<double>(wall_millis() - last_millis_) / 1e3;
  const bool by_count = settings_.cadence.every_iterations > 0;
  const std::int64_t soon = checkpoint::next_look(writing    ? kWritingLook
                                                  : by_count ? kLongestLook
                                                             : left,
                                                  done, elapsed, writing ? kWritingLook : kLongestLook);
  if (!by_count) return soon;
  // Exactly at the iteration that was asked for.
  const std::int64_t due = last_iteration_ + settings_.cadence.every_iterations - loop_.iterations;
  return due > 0 ? (writing ? std::min(soon, due) : due) : std::min(soon, settings_.cadence.every_iterations);
}

// All ranks have ended with their shares.
void Checkpointer::settle_writing(bool failed) {
  writing_ = false;
  const std::string mine = std::exchange(error_, {});
  if (!mine.empty()) trouble(mine);
  if (rank_of(MPI_COMM_WORLD) != 0) {
    if (!failed) last_trouble_.clear();
    return;
  }
  written_seconds_ = beside_.seconds();
  if (failed) {
    beside_.start([path = settings_.path_of(part_)](const checkpoint::Abandoned&) {
      unlink(path.c_str());
      return std::string();
    });
    return;
  }
  finishing_ = true;
  beside_.start([folder = settings_.folder, part = part_, contents = contents_, places = places_,
                 keep = settings_.keep](const checkpoint::Abandoned& abandoned) {
    return checkpoint::finish(folder, part, contents, places, keep, abandoned);
  });
}

void Checkpointer::take() {
  const double begin = MPI_Wtime();
  const MPI_Comm world = MPI_COMM_WORLD;
  const bool first = rank_of(world) == 0;
  const auto ranks = static_cast<std::size_t>(size_of(world));
  empi::LargeBytes memory = share_ ? std::move(share_->data) : empi::LargeBytes();
  share_ = std::make_shared<checkpoint::Share>();
  checkpoint::Share& share = *share_;
  share.rank = static_cast<std::size_t>(rank_of(world));
  std::string why;
  StoredAll stored = loop_.store_all(first, why, std::move(memory));
  share.data = std::move(stored.bytes);
  const std::vector<std::int64_t> mine = std::move(stored.counts);
  std::vector<std::int64_t> counts;
  const auto n = static_cast<int>(mine.size());
  counts.resize(mine.size() * ranks);
  check_mpi(MPI_Allgather(mine.data(), n, MPI_INT64_T, counts.data(), n, MPI_INT64_T, world),
            "gathering the sizes of a checkpoint");
  contents_ = contents(counts, ranks);
  contents_.number = next_number_++;
  contents_.iteration = loop_.iterations;

  // What rank 0 has laid out: nonce, file_bytes, checksums, parts; the last place says where things are.
  std::vector<std::uint64_t> laid(contents_.parts.size() + 3);
  if (first && why.empty()) {
    try {
      auto [places, header] = checkpoint::lay_out(contents_);
      share.header = std::move(header);
      laid[0] = std::random_device()();
      laid[1] = places.file_bytes;
      laid[2] = places.checksums;
      std::ranges::copy(places.parts, laid.begin() + 3);
    } catch (const std::exception& e) {
      why = e.what();
    }
  }
  std::int64_t when = wall_millis();
  check_mpi(MPI_Bcast(laid.data(), static_cast<int>(laid.size()), MPI_UINT64_T, 0, world),
            "sharing the layout of a checkpoint");
  check_mpi(MPI_Bcast(&when, 1, MPI_INT64_T, 0, world), "sharing the time of a checkpoint");
  last_millis_ = when;
  last_iteration_ = loop_.iterations;
  if (!all_well(why)) {
    if (!why.empty()) trouble(why);
    return;
  }
  places_ = {.parts = {laid.begin() + 3, laid.end()}, .checksums = laid[2], .file_bytes = laid[1]};
  part_ = checkpoint::part_name(settings_.program, contents_.number, static_cast<std::uint32_t>(laid[0]));
  laid_out_here_ = first;
  share.path = settings_.path_of(part_);
  share.contents = contents_;
  share.places = places_;
  beside_.start(
      [share = share_](const checkpoint::Abandoned& abandoned) { return write_share(*share, abandoned); });
  writing_ = true;
  told_slow_ = false;
  taken_at_ = MPI_Wtime();
  cost_ = taken_at_ - begin;
}

std::vector<checkpoint::Part> Checkpointer::parts() const {
  std::vector<checkpoint::Part> parts{{.description = loop_.values.describe(), .type = "", .counts = {}}};
  for (const auto& item : loop_.items) {
    const Shape shape = item->shape();
    parts.push_back({.description = item->describe(),
                     .type = shape.type,
                     .element_bytes = shape.element_bytes,
                     .columns = shape.columns,
                     .counts = {}});
  }
  return parts;
}

checkpoint::Contents Checkpointer::contents(const std::vector<std::int64_t>& counts,
                                            std::size_t ranks) const {
  checkpoint::Contents c{.program = settings_.program, .parts = parts()};
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (std::size_t p = 0; p < c.parts.size(); ++p)
      c.parts[p].counts.push_back(static_cast<std::uint64_t>(counts[rank * c.parts.size() + p]));
  return c;
}

void Checkpointer::interrupt() {
  error_.clear();
  share_.reset();  // may be read still
  const bool unnamed = std::exchange(writing_, false);
  if (unnamed) beside_.abandon();
  // What others may still write to is deleted all the same: it is gone when they close it.
  if (unnamed && laid_out_here_)
    beside_.start([path = settings_.path_of(part_)](const checkpoint::Abandoned&) {
      unlink(path.c_str());
      return std::string();
    });
}

// Said once for as long as it is the same, whatever the file's name.
void Checkpointer::trouble(const std::string& why) {
  std::string words = why;
  if (const auto at = part_.empty() ? words.npos : words.find(settings_.path_of(part_)); at != why.npos)
    words.replace(at, settings_.path_of(part_).size(), "a file in " + settings_.folder);
  if (words == last_trouble_) return;
  last_trouble_ = words;
  std::fprintf(stderr, "elastic::Loop: no checkpoint: %s; the run goes on\n", words.c_str());
  MPIX_Checkpoint_adapt(0, 0, 0, 0, words.c_str());
}

}  // namespace elastic
