// SPDX-License-Identifier: Apache-2.0
// What is behind elastic::Loop::checkpoint.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/file.hpp"
#include "runtime/checkpoint/writer.hpp"
#include "runtime/sdk/checkpoint_settings.hpp"
#include "runtime/sdk/loop_state.hpp"

namespace elastic {

/// One of each rank. Collective where Checkpoints says so.
class Checkpointer final : public Checkpoints {
 public:
  Checkpointer(Loop::State& loop, CheckpointSettings settings)
      : loop_(loop), settings_(std::move(settings)) {}

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
  bool all_well(std::string& why);
  void trouble(const std::string& text);
  static std::int64_t wall_millis();

  Loop::State& loop_;
  const CheckpointSettings settings_;
  checkpoint::Beside beside_;

  // The same on all ranks.
  std::int64_t until_look_ = 1, next_number_ = 1, last_millis_ = 0, last_iteration_ = 0;
  bool writing_ = false;  // a checkpoint was taken, and not all were known to have written it
  checkpoint::Contents contents_;
  checkpoint::Places places_;
  std::string part_;

  // Of this rank.
  std::shared_ptr<checkpoint::Share> share_;  // of the last one; its memory serves the next
  bool laid_out_here_ = false;                // this rank was rank 0 when the last one was taken
  bool finishing_ = false, told_slow_ = false;
  std::string error_;
  std::string last_trouble_;
  double cost_ = 0, taken_at_ = 0, written_seconds_ = 0;
  std::int64_t iterations_at_look_ = 0;
  double time_of_look_ = 0;
};

}  // namespace elastic
