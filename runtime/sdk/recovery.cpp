// SPDX-License-Identifier: Apache-2.0
// The loop goes on without ranks that are lost (decision R18).
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "elastic_mpi.hpp"
#include "elastic_mpi/comm.hpp"
#include "runtime/base/hash.hpp"
#include "runtime/protocol/names.hpp"
#include "runtime/rank/recovery_api.h"
#include "runtime/sdk/loop_state.hpp"
#include "runtime/sdk/snapshots.hpp"

// clang-format off: needs mpi.h before it
#include <mpi-ext.h>
// clang-format on

namespace elastic {
namespace {

constexpr double kIdleSeconds = .02;  // between two looks for replacements

// Whether a loss may be borne just now: outside of run() nobody would go on.
bool may_stop = false;

class MayStop {
 public:
  MayStop() { may_stop = true; }
  ~MayStop() { may_stop = false; }
  MayStop(const MayStop&) = delete;
  MayStop& operator=(const MayStop&) = delete;
};

void stop() {
  if (may_stop) throw Error("a rank of the job was lost", MPIX_ERR_PROC_FAILED);
}

// Of what the agent's pod was given; at least 1.
int number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  const int number = text ? std::atoi(text) : otherwise;
  return number > 0 ? number : 1;
}

int slots() { return number_of(empi::names::kSlots, 1); }

// Where nobody has said which node its pod is on, the pod is one.
std::uint64_t node() {
  for (const char* variable : {empi::names::kNodeName, empi::names::kPodName})
    if (const char* name = std::getenv(variable); name && *name)
      return empi::fnv1a(std::string(variable) + "=" + name);
  return 0;
}

bool is_of_mpi(const std::exception& e) {
  const auto* error = dynamic_cast<const Error*>(&e);
  return error && error->code() != MPI_SUCCESS;
}

// Collective. When a rank dies in a collective call Open MPI may call it a success that has brought nothing
// of some ranks: what follows from that is nobody's verdict.
bool is_whole(MPI_Comm world) {
  try {
    return world != MPI_COMM_NULL && MPI_Barrier(world) == MPI_SUCCESS;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

bool is_elsewhere(const std::exception& e) {
  if (dynamic_cast<const GivenUpElsewhere*>(&e)) return true;
  const auto* error = dynamic_cast<const Error*>(&e);
  if (!error || error->code() == MPI_SUCCESS) return false;
  int error_class = MPI_SUCCESS;
  MPI_Error_class(error->code(), &error_class);
  return error_class == MPIX_ERR_REVOKED || error_class == MPIX_ERR_PROC_FAILED ||
         error_class == MPIX_ERR_PROC_FAILED_PENDING;
}

Loop::State::~State() = default;

void Loop::recoverable(std::int64_t every) {
  if (every < 0)
    throw Error("elastic::Loop::recoverable(" + std::to_string(every) + "): expected 0 or more iterations");
  if (MPIX_Recovery_watch(&stop) != MPI_SUCCESS) return;  // nobody would say who is left
  state_->snapshots = std::make_unique<Snapshots>(*state_, every, Place{slots(), node()});
}

int Loop::recoveries() const { return state_->recoveries; }
bool Loop::recovering() const { return state_->recovering; }

bool Loop::State::go_on(const std::function<bool(MPI_Comm)>& iteration) {
  if (shortage) {
    await_replacements();
  } else {
    if (!iteration(MPI_COMM_WORLD)) return false;
    ++iterations;
    if (checkpoints) checkpoints->after_iteration();
    if (snapshots) snapshots->after_iteration();
  }
  if (!adapt_now() || !window() || !snapshots || left) return true;
  begin_with_others();
  return true;
}

// What the snapshot before was taken of is with others by now, of whom some have left.
void Loop::State::begin_with_others() {
  snapshots->take();
  snapshot_due = false;
  count_workers();
}

// Pods that were made at different times may have been told different numbers.
void Loop::State::count_workers() {
  int least = number_of(empi::names::kMinWorkers, 1);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD),
            "asking how many workers there are to be at least");
  if (size_of(MPI_COMM_WORLD) >= least * slots())
    shortage.reset();
  else
    shortage = {least, shortage ? shortage->since : MPI_Wtime()};
}

void Loop::State::await_replacements() {
  MPIX_Recovery_idle(kIdleSeconds);
  const int bound = number_of(empi::names::kReplacementSeconds, 600);
  int over = MPI_Wtime() - shortage->since > bound;
  check_mpi(MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD), "waiting for other workers");
  if (!over) return;
  const std::string why = std::to_string(size_of(MPI_COMM_WORLD) / slots()) + " of at least " +
                          std::to_string(shortage->fewest) +
                          " workers are left, and no others have come within " + std::to_string(bound) + " s";
  if (rank_of(MPI_COMM_WORLD) == 0) std::fprintf(stderr, "elastic::Loop: %s\n", why.c_str());
  MPIX_Recovery_failed(why.c_str());
}

bool Loop::State::go_on_or_recover(const std::function<bool(MPI_Comm)>& iteration) {
  bool again = true;
  or_recover([&] {
    if (snapshot_due) begin_with_others();
    // Nobody leaves while another one may have to go back.
    again = go_on(iteration) || left || MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS;
  });
  return again;
}

void Loop::State::or_recover(const std::function<void()>& work) {
  const MayStop here;
  try {
    return work();
  } catch (const std::exception& e) {
    if (!snapshots || joining || !is_elsewhere(e)) throw;
  }
  recover();
}

void Loop::State::recover() {
  const std::int64_t done = iterations;
  if (checkpoints) checkpoints->interrupt();
  for (;;) {
    recovering = true;  // it may have been over, but for the copies
    MPI_Comm world = MPI_COMM_NULL;
    try {
      check_mpi(MPIX_Recovery_world(&world), "making a world of the ranks that are left");
      release();  // what has been revoked by now, and is not freed (quirk revoked-freed)
      snapshots->restore(world);
      if (phase < entered)
        throw Error(
            "the newest copies are of an earlier run() of the program, to which there is no way back");
      MPIX_Recovery_repeats(done - iterations);
      if (MPIX_Recovery_adopt(iterations) != MPI_SUCCESS) continue;
      ++recoveries;
      unprobed = 0;
      leaving = false;
      rebuild();
      recovering = false;
      begin_with_others();
      return;
    } catch (const std::exception& e) {
      drop_items();
      // Whatever MPI says here, it says for the loss of another rank.
      if (is_elsewhere(e) || is_of_mpi(e) || !is_whole(world)) continue;
      std::fprintf(stderr, "elastic::Loop: cannot go on without the ranks that were lost: %s\n", e.what());
      MPIX_Recovery_failed(e.what());
    }
  }
}

}  // namespace elastic
