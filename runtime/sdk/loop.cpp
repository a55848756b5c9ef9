// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <exception>

#include "elastic_mpi.hpp"
#include "elastic_mpi/comm.hpp"
#include "runtime/sdk/loop_state.hpp"
#include "runtime/sdk/snapshots.hpp"

// clang-format off: needs mpi.h before it
#include <mpi-ext.h>
// clang-format on

namespace elastic {
namespace {

// The class itself may be returned as the code; Open MPI's MPI_Error_class does not know it then.
bool is_roll_back(int code) {
  int error_class = code;
  MPI_Error_class(code, &error_class);
  return code == MPIX_ERR_ADAPT_ROLLED_BACK || error_class == MPIX_ERR_ADAPT_ROLLED_BACK;
}

}  // namespace

Loop::Loop(int& argc, char**& argv) : state_(std::make_unique<State>()) {
  int status = MPI_ADAPT_STATUS_NEW;
  check_mpi(MPI_Init_adapt(&argc, &argv, &status), "MPI_Init_adapt");
  state_->joining = status == MPI_ADAPT_STATUS_JOINING;
  state_->passing_exceptions = std::uncaught_exceptions();
  replicate(state_->phase, state_->iterations);
}

Loop::~Loop() {
  if (std::uncaught_exceptions() > state_->passing_exceptions) {
    // Said here: a handler around the Loop would come too late.
    std::fprintf(stderr, "elastic::Loop: ending the job, an exception leaves the program's main part%s%s\n",
                 state_->exception.empty() ? "" : ": ", state_->exception.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}

void Loop::add_value(std::unique_ptr<detail::Value> value) { state_->values.add(std::move(value)); }

const Block& Loop::add_block(std::unique_ptr<detail::Array> data, std::int64_t rows, std::int64_t columns) {
  auto item = std::make_unique<BlockItem>(std::move(data), rows, columns);
  const Block& block = item->block();
  if (!state_->joining) item->start(size_of(MPI_COMM_WORLD), rank_of(MPI_COMM_WORLD));
  state_->items.push_back(std::move(item));
  return block;
}

void Loop::add_sequence(std::unique_ptr<detail::Array> data, WeightsOf weights, MarksOf marks) {
  state_->items.push_back(
      std::make_unique<SequenceItem>(std::move(data), std::move(weights), std::move(marks)));
}

void Loop::data(Move move, std::function<void()> accept) {
  data(std::move(move), std::move(accept), nullptr, nullptr);
}

void Loop::data(Move move, std::function<void()> accept, Save save, Load load) {
  state_->items.push_back(
      std::make_unique<CustomItem>(std::move(move), std::move(accept), std::move(save), std::move(load)));
}

void Loop::on_release(std::function<void()> hook) { state_->release_hooks.push_back(std::move(hook)); }

void Loop::on_save(std::function<void()> hook) { state_->save_hooks.push_back(std::move(hook)); }

void Loop::on_rebuild(std::function<void(MPI_Comm)> hook) {
  state_->rebuild_hooks.push_back(std::move(hook));
}

void Loop::capacity(double share) {
  if (!std::isfinite(share) || share <= 0)
    throw Error("elastic::Loop::capacity(" + std::to_string(share) + "): expected a finite number above 0");
  state_->capacity = share;
}

void Loop::probe_every(int iterations) {
  if (iterations < 1)
    throw Error("elastic::Loop::probe_every(" + std::to_string(iterations) + "): expected at least 1");
  state_->probe_every = iterations;
}

void Loop::report(double work_units, double progress) { MPIX_Progress_adapt(work_units, progress); }

void Loop::wish(int least, int most) {
  if (MPIX_Wish_adapt(least, most) == MPI_ERR_ARG)
    throw Error("elastic::Loop::wish(" + std::to_string(least) + ", " + std::to_string(most) +
                "): expected 1 <= least <= most, or 0, 0");
}

bool Loop::joining() const { return state_->joining || state_->entered < state_->phase; }
bool Loop::left() const { return state_->left; }
bool Loop::restored() const { return state_->restored; }
int Loop::changes() const { return state_->changes; }
int Loop::rollbacks() const { return state_->rollbacks; }
const std::string& Loop::last_rollback() const { return state_->last_rollback; }

void Loop::run(const std::function<bool(MPI_Comm)>& iteration) {
  try {
    state_->run(iteration);
  } catch (const std::exception& e) {
    state_->exception = e.what();
    throw;
  }
}

void Loop::State::run(const std::function<bool(MPI_Comm)>& iteration) {
  if (left) return;
  ++entered;
  snapshot_due = true;
  if (joining) {
    or_recover([this] {
      if (!window()) throw Error("joining the job: the change was rolled back: " + last_rollback);
    });
    MPIX_Probe_adapt_aligned();  // the others, too, iterate before they probe
  } else if (checkpoints && entered == 1 && checkpoints->restore()) {
    restored = true;
    rebuild();
  } else if (entered > phase) {
    phase = entered;
    rebuild();
  }
  if (entered < phase)
    return;  // this rank has joined in a later one, or what it goes on from is of a later one
  while (!left && (snapshots ? go_on_or_recover(iteration) : go_on(iteration))) {
  }
  if (checkpoints) checkpoints->interrupt();
}

bool Loop::State::adapt_now() {
  if (++unprobed < probe_every) return false;
  unprobed = 0;
  int flag = MPI_ADAPT_FALSE, status = MPI_ADAPT_STATUS_STAYING;
  check_mpi(MPI_Probe_adapt(&flag, &status, nullptr), "MPI_Probe_adapt");
  leaving = status == MPI_ADAPT_STATUS_LEAVING;
  return flag == MPI_ADAPT_TRUE;
}

// Returns whether the change was committed.
bool Loop::State::window() {
  MPI_Comm inter = MPI_COMM_NULL, next = MPI_COMM_NULL, everybody = MPI_COMM_NULL;
  int staying = 0, left_out = 0, joined = 0;
  if (checkpoints) checkpoints->interrupt();
  const int begun = MPI_Comm_adapt_begin(&inter, &next, &staying, &left_out, &joined);
  std::string why;
  bool cause_is_here = false;
  if (begun == MPI_SUCCESS) {
    try {
      check_mpi(MPIX_Comm_adapt_union(&everybody), "MPIX_Comm_adapt_union");
      move_all(everybody);
    } catch (const std::exception& e) {
      why = e.what();
      cause_is_here = !is_elsewhere(e);
    } catch (...) {
      why = "an exception that is not a std::exception";
      cause_is_here = true;
    }
    // Said first: a joiner does not outlive the roll back for long.
    if (cause_is_here) std::fprintf(stderr, "elastic::Loop: change given up on this rank: %s\n", why.c_str());
    if (!why.empty()) MPIX_Comm_adapt_abort();
  }
  int outcome = begun;
  try {
    if (begun == MPI_SUCCESS) outcome = MPI_Comm_adapt_commit();
  } catch (...) {  // ranks were lost while all voted: what there is to go back to are the last copies
    drop_items();
    throw;
  }
  // Any other error than a roll back leaves no world to go on with.
  if (outcome != MPI_SUCCESS && !is_roll_back(outcome))
    check_mpi(outcome, begun == MPI_SUCCESS ? "MPI_Comm_adapt_commit" : "MPI_Comm_adapt_begin");
  settle(outcome == MPI_SUCCESS, why);
  return outcome == MPI_SUCCESS;
}

// What may fail on one rank alone is done before data is under way, and the outcome shared: revoking a
// communicator while large messages are in flight is left to the loss of a process.
void Loop::State::move_all(MPI_Comm everybody) {
  const double start = MPI_Wtime();
  const double share = leaving ? 0.0 : capacity;
  agree(everybody, [&] {
    release();
    for (const auto& item : items) item->measure();
  });
  std::int64_t bytes = values.move(everybody, registered(), joining);
  for (const auto& item : items) item->prepare(everybody, share);
  agree(everybody, [&] {
    for (const auto& item : items) item->make_room();
  });
  for (const auto& item : items)
    if (!item->transfer_may_throw()) bytes += item->transfer(everybody, share);
  for (const auto& item : items) {
    if (!item->transfer_may_throw()) continue;
    agree(everybody, [] {});  // nobody is still busy with what came before
    bytes += item->transfer(everybody, share);
  }
  if (snapshots) bytes += snapshots->hand_over(everybody, leaving);
  MPIX_Comm_adapt_moved((MPI_Wtime() - start) * 1e3, bytes);
}

void Loop::State::settle(bool committed, const std::string& why) {
  unprobed = 0;
  if (!committed) {
    ++rollbacks;
    last_rollback = why.empty() ? "another rank could not go on, or a joining rank was lost" : why;
    for (const auto& item : items) item->drop();
    leaving = false;
    if (joining) return;
    release();  // where it was not reached; rebuilding is collective, so all do the same
    rebuild();
    return;
  }
  ++changes;
  if (joining) values.accept();
  for (const auto& item : items) item->accept();
  joining = false;
  left = leaving;
  if (!left) rebuild();
}

void Loop::State::release() {
  if (!built) return;
  built = false;
  for (auto hook = release_hooks.rbegin(); hook != release_hooks.rend(); ++hook) (*hook)();
}

void Loop::State::rebuild() {
  for (const auto& hook : rebuild_hooks) hook(MPI_COMM_WORLD);
  built = true;
}

std::string Loop::State::registered() const {
  std::string list = values.describe();
  for (const auto& item : items) list += (list.empty() ? "" : "; ") + item->describe();
  return list;
}

}  // namespace elastic
