// SPDX-License-Identifier: Apache-2.0
// What the program says of its checkpoints, in the status: where the next run begins, and whether that moves
// on.

#include "operator/decide/pass.hpp"

namespace emj {
namespace {

// A checkpoint each ten seconds of a thousand jobs would load the API server (K6').
constexpr Seconds kBetweenWrites{60};

}  // namespace

void update_checkpoint(Pass& pass) {
  const RuntimeView& runtime = pass.seen.runtime;
  if (!runtime.reachable || runtime.lead_silent || pass.status.active_workers.empty()) return;
  auto& status = pass.status.checkpoint;
  const CheckpointStatus& told = runtime.checkpoint;

  const bool failing = !runtime.checkpoint_trouble.empty();
  if (failing || find_condition(pass.status, condition::kCheckpointFailing))
    pass.set_condition(condition::kCheckpointFailing, failing, failing ? "NotWritten" : "Written",
                       runtime.checkpoint_trouble);

  const bool restored_news =
      !told.restored_from.empty() && (!status || status->restored_from != told.restored_from);
  if (restored_news) {
    if (!status) status.emplace();
    status->restored_from = told.restored_from;
    status->restored_iteration = told.restored_iteration;
  }
  if (told.number == 0 || (status && status->number == told.number)) return;
  // The last word counts when the program ends, whenever it was said.
  const bool ended = runtime.program == ProgramState::Failed || pass.spec.suspend;
  if (status && status->time && told.time && *told.time - *status->time < kBetweenWrites && !ended) return;
  const CheckpointStatus before = status.value_or(CheckpointStatus{});
  status = told;
  status->restored_from = before.restored_from;
  status->restored_iteration = before.restored_iteration;
}

}  // namespace emj
