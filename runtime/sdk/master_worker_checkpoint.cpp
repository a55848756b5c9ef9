// SPDX-License-Identifier: Apache-2.0
// elastic::MasterWorker::checkpoint. Between phases all ranks have the same values: the master alone writes.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <utility>

#include "elastic_mpi/comm.hpp"
#include "elastic_mpi/replicate.hpp"
#include "runtime/checkpoint/file.hpp"
#include "runtime/checkpoint/series.hpp"
#include "runtime/checkpoint/writer.hpp"
#include "runtime/sdk/checkpoint_settings.hpp"
#include "runtime/sdk/master_worker_state.hpp"

namespace elastic {

using empi::queue::Bytes;

class PhaseCheckpointer final : public PhaseCheckpoints {
 public:
  PhaseCheckpointer(MasterWorker::State& job, CheckpointSettings settings)
      : job_(job), settings_(std::move(settings)) {}

  // Collective over the world.
  bool restore();
  void before_phase(const MasterWorker& job) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Chosen {
    std::string path, trouble;  // trouble: nothing can be gone on from, and it must
    std::int64_t phases = 0;
    Bytes values;
  };
  checkpoint::Contents contents(std::size_t bytes) const;
  Chosen choose();
  bool take(const std::string& path, Chosen& chosen, std::string& why) const;
  void settle();
  void write();
  void trouble(const std::string& why);

  MasterWorker::State& job_;
  const CheckpointSettings settings_;
  checkpoint::Beside beside_;
  checkpoint::Contents written_;
  bool writing_ = false;
  std::int64_t next_number_ = 0;  // 0: nothing is known of the folder
  std::optional<Clock::time_point> last_;
  double cost_ = 0;
  std::string last_trouble_;
};

bool MasterWorker::checkpoint(const std::string& folder) {
  CheckpointSettings settings(0, folder);
  if (!settings.wanted()) return false;
  const bool writes = !settings.folder.empty();
  auto checkpointer = std::make_unique<PhaseCheckpointer>(*state_, std::move(settings));
  const bool restored = state_->starts && checkpointer->restore();
  if (writes) state_->checkpoints = std::move(checkpointer);
  return restored;
}

// One part of one rank: the values as a joiner would get them.
checkpoint::Contents PhaseCheckpointer::contents(std::size_t bytes) const {
  std::string description = "values of phases:";
  for (const auto& value : job_.values) description += " " + value->kind() + ";";
  return {.program = settings_.program,
          .number = next_number_,
          .iteration = job_.phases,
          .parts = {{.description = std::move(description), .type = "", .counts = {bytes}}}};
}

// --- Going on from one.

bool PhaseCheckpointer::take(const std::string& path, Chosen& chosen, std::string& why) const {
  const auto found = checkpoint::inspect(path);
  why = found ? checkpoint::difference(found.value().contents, settings_.program, contents(0).parts)
              : found.error();
  if (!why.empty()) return false;
  Bytes values(found.value().contents.parts[0].total());
  why = read_elements(path, found.value(), 0, 0, values.size(), values.data());
  if (!why.empty()) return false;
  chosen.path = path;
  chosen.values = std::move(values);
  chosen.phases = found.value().contents.iteration;
  return true;
}

PhaseCheckpointer::Chosen PhaseCheckpointer::choose() {
  Chosen chosen;
  std::string why;
  if (!settings_.from.empty()) {
    if (!take(settings_.from, chosen, why))
      chosen.trouble =
          "the checkpoint " + settings_.from + " that the job is to go on from is refused: " + why;
    return chosen;
  }
  std::string error;
  const auto names = checkpoint::list(settings_.folder, error);
  if (!error.empty()) trouble(error);
  for (const std::string& name : names)  // nobody writes them any more
    if (checkpoint::part_number(settings_.program, name)) unlink(settings_.path_of(name).c_str());
  for (const std::string& name : checkpoint::newest_first(settings_.program, names)) {
    if (take(settings_.path_of(name), chosen, why)) break;
    std::fprintf(stderr, "elastic::MasterWorker: the checkpoint %s is refused: %s\n",
                 settings_.path_of(name).c_str(), why.c_str());
  }
  return chosen;
}

bool PhaseCheckpointer::restore() {
  const MPI_Comm world = MPI_COMM_WORLD;
  const bool first = rank_of(world) == 0;
  Chosen chosen;
  if (first) chosen = choose();
  std::vector<std::byte> words = empi::queue::bytes_of(chosen.trouble);
  broadcast_bytes(world, 0, words);
  if (!words.empty()) throw Error(std::string(reinterpret_cast<const char*>(words.data()), words.size()));
  std::vector<std::byte> values(chosen.values.begin(), chosen.values.end());
  broadcast_bytes(world, 0, values);
  if (values.empty()) return false;
  check_mpi(MPI_Bcast(&chosen.phases, 1, MPI_INT64_T, 0, world), "sharing what a checkpoint is of");
  job_.arrived.assign(values.begin(), values.end());
  job_.arrived_at = 0;
  for (const auto& value : job_.values) job_.take_one(*value);
  job_.arrived.clear();
  job_.phases = chosen.phases;
  if (first) {
    std::fprintf(stderr, "elastic::MasterWorker: goes on from %s, phase %lld\n", chosen.path.c_str(),
                 static_cast<long long>(chosen.phases));
    MPIX_Checkpoint_restored_adapt(chosen.phases, chosen.path.c_str());
  }
  return true;
}

// --- Writing.

void PhaseCheckpointer::before_phase(const MasterWorker& job) {
  settle();
  const Clock::time_point now = Clock::now();
  if (!last_) last_ = now;
  if (!job.master() || writing_) return;
  const double waited = std::chrono::duration<double>(now - *last_).count();
  if (waited >= checkpoint::interval(settings_.cadence, cost_, settings_.nodes(job_.workers))) write();
}

void PhaseCheckpointer::settle() {
  if (!writing_ || beside_.busy()) return;
  writing_ = false;
  if (const std::string why = beside_.result(); !why.empty()) return trouble(why);
  last_trouble_.clear();
  MPIX_Checkpoint_adapt(written_.number, written_.iteration, static_cast<long long>(written_.bytes()),
                        beside_.seconds(), nullptr);
}

void PhaseCheckpointer::write() {
  const Clock::time_point begin = Clock::now();
  last_ = begin;
  try {
    if (next_number_ == 0) {
      std::string error;
      const auto names = checkpoint::list(settings_.folder, error);
      if (!error.empty()) return trouble(error);
      next_number_ = checkpoint::next_number(settings_.program, names);
    }
    const Bytes values = job_.pack();
    checkpoint::Share share;
    share.data.append(std::as_bytes(std::span(values)));
    share.contents = contents(values.size());
    ++next_number_;
    auto [places, header] = checkpoint::lay_out(share.contents);
    share.places = std::move(places);
    share.header = std::move(header);
    const std::string part = checkpoint::part_name(settings_.program, share.contents.number,
                                                   static_cast<std::uint32_t>(std::random_device()()));
    share.path = settings_.path_of(part);
    written_ = share.contents;
    beside_.start([share = std::make_shared<checkpoint::Share>(std::move(share)), part,
                   settings = settings_](const checkpoint::Abandoned& abandoned) {
      std::string why = write_share(*share, abandoned);
      if (why.empty())
        why = checkpoint::finish(settings.folder, part, share->contents, share->places, settings.keep,
                                 abandoned);
      if (!why.empty()) unlink(share->path.c_str());
      return why;
    });
    writing_ = true;
    cost_ = std::chrono::duration<double>(Clock::now() - begin).count();
  } catch (const std::exception& e) {
    trouble(e.what());
  }
}

// Said once for as long as it is the same.
void PhaseCheckpointer::trouble(const std::string& why) {
  if (why == last_trouble_) return;
  last_trouble_ = why;
  std::fprintf(stderr, "elastic::MasterWorker: no checkpoint: %s; the run goes on\n", why.c_str());
  MPIX_Checkpoint_adapt(0, 0, 0, 0, why.c_str());
}

}  // namespace elastic
