// SPDX-License-Identifier: Apache-2.0
// elastic::Loop::checkpoint: what all ranks agree on; files and threads are in runtime/checkpoint.
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

#include "elastic_mpi/blocks.hpp"
#include "elastic_mpi/replicate.hpp"
#include "runtime/checkpoint/cadence.hpp"
#include "runtime/checkpoint/file.hpp"
#include "runtime/checkpoint/series.hpp"
#include "runtime/checkpoint/writer.hpp"
#include "runtime/protocol/names.hpp"
#include "runtime/sdk/loop_state.hpp"

namespace elastic {
namespace {

namespace checkpoint = empi::checkpoint;
namespace names = empi::names;

constexpr double kLongestLook = 30;   // s: iterations may become longer meanwhile
constexpr double kWritingLook = 0.2;  // s: until a file that is written gets its name
constexpr double kSlow = 300;         // s: writing one for longer is told

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

double number_of(const char* name, double otherwise) {
  const std::string text = variable(name);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' || !(value > 0) ? otherwise : value;
}

std::int64_t wall_millis() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

int rank_of(MPI_Comm comm) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "asking for the rank");
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  check_mpi(MPI_Comm_size(comm, &size), "asking for the number of ranks");
  return size;
}

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

class Checkpointer final : public Checkpoints {
 public:
  Checkpointer(Loop::State& loop, std::int64_t every, std::string folder)
      : loop_(loop),
        folder_(std::move(folder)),
        program_(program_invocation_short_name),
        keep_(static_cast<int>(number_of(names::kCheckpointKeep, 2))),
        slots_(static_cast<int>(number_of(names::kSlots, 1))) {
    cadence_.every_seconds = number_of(names::kCheckpointSeconds, 0);
    cadence_.mtbf_hours = number_of(names::kCheckpointMtbfHours, checkpoint::kMtbfHours);
    if (cadence_.every_seconds <= 0) cadence_.every_iterations = every;
  }

  bool restore() override;
  void after_iteration() override;
  void interrupt() override;

  // Moves with a change: joiners do as the others do.
  void register_with(Loop& loop) { loop.replicate(until_look_, next_number_, last_millis_, last_iteration_); }

 private:
  enum Word { kBusy, kFailed, kTake, kLook, kWords };

  void look();
  bool is_due() const;
  std::int64_t next_look() const;
  void settle_writing(bool failed);
  void take();
  checkpoint::Contents contents(const std::vector<std::int64_t>& counts, std::size_t ranks) const;
  std::vector<checkpoint::Part> parts() const;
  bool try_one(const std::string& path, std::string& why);
  void fetch(const std::string& path, const checkpoint::Found& found);
  void fetch_item(const std::string& path, const checkpoint::Found& found, std::size_t part);
  void cut_anew();
  bool all_well(std::string& why);
  void drop();
  void trouble(const std::string& text);
  std::string path_of(const std::string& name) const { return folder_ + "/" + name; }

  Loop::State& loop_;
  const std::string folder_, program_;
  const int keep_, slots_;
  checkpoint::Cadence cadence_;
  checkpoint::Beside beside_;

  // The same on all ranks.
  std::int64_t until_look_ = 1, next_number_ = 1, last_millis_ = 0, last_iteration_ = 0;
  bool writing_ = false;  // a checkpoint was taken, and not all were known to have written it
  checkpoint::Contents contents_;
  checkpoint::Places places_;
  std::string part_;

  // Of this rank.
  bool laid_out_here_ = false;  // this rank was rank 0 when the last one was taken
  bool finishing_ = false, told_slow_ = false;
  std::string error_;
  std::string last_trouble_;
  double cost_ = 0, taken_at_ = 0, written_seconds_ = 0;
  std::int64_t iterations_at_look_ = 0;
  double time_of_look_ = 0;
};

void Loop::checkpoint(std::int64_t every, const std::string& folder) {
  if (every < 0)
    throw Error("elastic::Loop::checkpoint(" + std::to_string(every) + "): expected 0 or more iterations");
  const std::string of_job = variable(names::kCheckpointDir);
  const std::string chosen = of_job.empty() ? folder : of_job;
  if (chosen.empty() && variable(names::kCheckpointFrom).empty()) return;
  auto checkpointer = std::make_unique<Checkpointer>(*state_, every, chosen);
  if (!chosen.empty())
    checkpointer->register_with(*this);  // the file to go on from may be named to the first start only
  state_->checkpoints = std::move(checkpointer);
}

// --- Writing.

void Checkpointer::after_iteration() {
  if (folder_.empty() || --until_look_ > 0) return;
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
      trouble("the volume is slow or gone: " + path_of(part_) + " has been written for more than " +
              std::to_string(static_cast<int>(kSlow)) + " s");
    return;
  }
  if (writing_)
    settle_writing(all[kFailed] != 0);
  else if (all[kTake])
    take();
}

bool Checkpointer::is_due() const {
  if (cadence_.every_iterations > 0) return loop_.iterations - last_iteration_ >= cadence_.every_iterations;
  const int nodes = (size_of(MPI_COMM_WORLD) + slots_ - 1) / slots_;
  return static_cast<double>(wall_millis() - last_millis_) / 1e3 >=
         checkpoint::interval(cadence_, cost_, nodes);
}

std::int64_t Checkpointer::next_look() const {
  const bool writing = writing_ || beside_.busy() || is_due();
  const std::int64_t done = loop_.iterations - iterations_at_look_;
  const double elapsed = time_of_look_ > 0 ? MPI_Wtime() - time_of_look_ : 0;
  const int nodes = (size_of(MPI_COMM_WORLD) + slots_ - 1) / slots_;
  const double left =
      checkpoint::interval(cadence_, cost_, nodes) - static_cast<double>(wall_millis() - last_millis_) / 1e3;
  const bool by_count = cadence_.every_iterations > 0;
  const std::int64_t soon = checkpoint::next_look(writing    ? kWritingLook
                                                  : by_count ? kLongestLook
                                                             : left,
                                                  done, elapsed, writing ? kWritingLook : kLongestLook);
  if (!by_count) return soon;
  // Exactly at the iteration that was asked for.
  const std::int64_t due = last_iteration_ + cadence_.every_iterations - loop_.iterations;
  return due > 0 ? (writing ? std::min(soon, due) : due) : std::min(soon, cadence_.every_iterations);
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
    beside_.start([path = path_of(part_)](const checkpoint::Abandoned&) {
      unlink(path.c_str());
      return std::string();
    });
    return;
  }
  finishing_ = true;
  beside_.start([folder = folder_, part = part_, contents = contents_, places = places_,
                 keep = keep_](const checkpoint::Abandoned& abandoned) {
    return checkpoint::finish(folder, part, contents, places, keep, abandoned);
  });
}

void Checkpointer::take() {
  const double begin = MPI_Wtime();
  const MPI_Comm world = MPI_COMM_WORLD;
  const bool first = rank_of(world) == 0;
  const auto ranks = static_cast<std::size_t>(size_of(world));
  checkpoint::Share share;
  share.rank = static_cast<std::size_t>(rank_of(world));
  std::vector<std::int64_t> mine, counts;
  std::string why;
  const auto add = [&](std::span<const std::byte> bytes, std::size_t element_bytes) {
    share.data.insert(share.data.end(), bytes.begin(), bytes.end());
    mine.push_back(static_cast<std::int64_t>(bytes.size() / element_bytes));
  };
  const bool as_in_a_change = loop_.save_hooks.empty() && !loop_.release_hooks.empty();
  if (as_in_a_change) loop_.release();
  try {
    for (const auto& hook : loop_.save_hooks) hook();
    add(first ? loop_.values.save() : std::vector<std::byte>(), 1);
    for (const auto& item : loop_.items) {
      const Stored stored = item->store();
      add(stored.bytes, item->shape().element_bytes);
    }
  } catch (const std::exception& e) {
    why = e.what();
  }
  if (as_in_a_change) loop_.rebuild();
  mine.resize(loop_.items.size() + 1);
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
  part_ = checkpoint::part_name(program_, contents_.number, static_cast<std::uint32_t>(laid[0]));
  laid_out_here_ = first;
  share.path = path_of(part_);
  share.contents = contents_;
  share.places = places_;
  beside_.start([share = std::make_shared<checkpoint::Share>(std::move(share))](
                    const checkpoint::Abandoned& abandoned) { return write_share(*share, abandoned); });
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
  checkpoint::Contents c{.program = program_, .parts = parts()};
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (std::size_t p = 0; p < c.parts.size(); ++p)
      c.parts[p].counts.push_back(static_cast<std::uint64_t>(counts[rank * c.parts.size() + p]));
  return c;
}

void Checkpointer::interrupt() {
  error_.clear();
  const bool unnamed = std::exchange(writing_, false);
  if (unnamed) beside_.abandon();
  // What others may still write to is deleted all the same: it is gone when they close it.
  if (unnamed && laid_out_here_)
    beside_.start([path = path_of(part_)](const checkpoint::Abandoned&) {
      unlink(path.c_str());
      return std::string();
    });
}

// Said once for as long as it is the same, whatever the file's name.
void Checkpointer::trouble(const std::string& why) {
  std::string words = why;
  if (const auto at = part_.empty() ? words.npos : words.find(path_of(part_)); at != why.npos)
    words.replace(at, path_of(part_).size(), "a file in " + folder_);
  if (words == last_trouble_) return;
  last_trouble_ = words;
  std::fprintf(stderr, "elastic::Loop: no checkpoint: %s; the run goes on\n", words.c_str());
  MPIX_Checkpoint_adapt(0, 0, 0, 0, words.c_str());
}

// --- Going on from one.

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
  const std::string from = variable(names::kCheckpointFrom);
  std::string list;
  std::int64_t next = 1;
  if (first && !folder_.empty()) {
    std::string error;
    const auto found = checkpoint::list(folder_, error);
    if (!error.empty()) trouble(error);
    next = checkpoint::next_number(program_, found);
    for (const std::string& name : checkpoint::newest_first(program_, found)) list += path_of(name) + "\n";
    for (const std::string& name : found)  // nobody writes them any more
      if (checkpoint::part_number(program_, name)) unlink(path_of(name).c_str());
  }
  if (!from.empty()) list = from;
  std::string why, taken;
  for (const std::string& path : lines_of(same_text(world, list))) {
    why.clear();
    if (try_one(path, why)) {
      taken = path;
      break;
    }
    if (!why.empty())
      std::fprintf(stderr, "elastic::Loop: the checkpoint %s is refused: %s\n", path.c_str(), why.c_str());
    if (!from.empty())
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
    why = checkpoint::difference(found.value().contents, program_, parts());
  if (!all_well(why)) return false;
  try {
    fetch(path, found.value());
  } catch (const std::exception& e) {
    why = e.what();
  }
  if (!all_well(why)) {
    drop();
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
    drop();
    return false;
  }
  loop_.values.accept();
  for (const auto& item : loop_.items) item->accept();
  cut_anew();
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
  const checkpoint::Part& part = found.contents.parts[p];
  Item& item = *loop_.items[p - 1];
  const int ranks = size_of(MPI_COMM_WORLD), rank = rank_of(MPI_COMM_WORLD);
  Taken taken{.first = 0, .count = 0, .total = static_cast<std::int64_t>(part.total()), .parts = {}};
  if (item.by_ranks()) {
    const RowRange writers = equal_rows(static_cast<std::int64_t>(part.counts.size()), ranks, rank);
    taken.first = static_cast<std::int64_t>(part.first(static_cast<std::size_t>(writers.first)));
    for (std::int64_t w = writers.first; w < writers.first + writers.count; ++w) {
      taken.parts.push_back(static_cast<std::int64_t>(part.counts[static_cast<std::size_t>(w)]));
      taken.count += taken.parts.back();
    }
  } else {
    const RowRange mine = equal_rows(taken.total, ranks, rank);
    taken.first = mine.first;
    taken.count = mine.count;
  }
  std::byte* room = item.make_room_for(taken);
  const auto why = read_elements(path, found, p, static_cast<std::uint64_t>(taken.first),
                                 static_cast<std::uint64_t>(taken.count), room);
  if (!why.empty()) throw Error(why);
}

// As a change would: equal numbers of elements are not equal weights.
void Checkpointer::cut_anew() {
  for (const auto& item : loop_.items) {
    if (!item->cut_after_restoring()) continue;
    agree(MPI_COMM_WORLD, [&] { item->measure(); });
    item->prepare(MPI_COMM_WORLD, loop_.capacity);
    agree(MPI_COMM_WORLD, [&] { item->make_room(); });
    item->transfer(MPI_COMM_WORLD, loop_.capacity);
    item->accept();
  }
}

void Checkpointer::drop() {
  for (const auto& item : loop_.items) item->drop();
}

}  // namespace elastic
