// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/attempt.hpp"

#include <mpi-ext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/thread_time.hpp"
#include "runtime/profile/write/counters.hpp"
#include "runtime/profile/write/tick_clock.hpp"
#include "runtime/protocol/names.hpp"
#include "runtime/rank/blocked_search.hpp"
#include "runtime/rank/revocation.hpp"

namespace empi::rank {

namespace {

std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  PMPI_Error_string(code, text, &length);
  return text;
}

static_assert(names::kMpiErrProcFailed == MPIX_ERR_PROC_FAILED && names::kMpiErrRevoked == MPIX_ERR_REVOKED);

constexpr int kLargeMessage =
    64 * 1024;  // bytes: beyond the eager limits, so that other algorithms connect too

// Exchanges with ranks `distance` away in both directions.
int exchange(MPI_Comm comm, int rank, int size, int distance) {
  int out = rank, in = -1;
  const int up = (rank + distance) % size, down = (rank - distance % size + size) % size;
  const int result =
      PMPI_Sendrecv(&out, 1, MPI_INT, up, distance, &in, 1, MPI_INT, down, distance, comm, MPI_STATUS_IGNORE);
  if (result != MPI_SUCCESS) return result;
  return PMPI_Sendrecv(&out, 1, MPI_INT, down, distance, &in, 1, MPI_INT, up, distance, comm,
                       MPI_STATUS_IGNORE);
}

}  // namespace

bool Attempt::wait_for_word() {
  std::unique_lock lock(mutex_);
  word_.wait(lock, [this] { return state_ != State::Waiting; });
  return state_ == State::Building;
}

void Attempt::go(const std::string& refusal) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::Waiting) return;
  state_ = State::Building;
  cancelled_ = !refusal.empty();
  error_ = refusal;
  word_.notify_all();
}

void Attempt::build() {
  const std::uint64_t start = profile::monotonic_ns();
  {
    const std::lock_guard lock(mutex_);
    builder_ = gettid();
  }
  const profile::WaitScope waits(profile::Blocking::Yes);  // for ranks that are not as far
  const bool ok = make_everything();
  std::vector<MPI_Comm> made;
  {
    const std::lock_guard lock(mutex_);
    build_ms_ = static_cast<double>(profile::monotonic_ns() - start) * 1e-6;
    if (ok && !cancelled_) {
      state_ = State::Built;
      return;
    }
    made = all();
  }
  revoke(made);  // the others may still wait for this rank
  end_blocked_search();
  drop();
}

bool Attempt::make_everything() { return duplicate() && unite() && split() && warm_up(); }

// Every rank makes this duplicate whatever has happened meanwhile: the base must stay in step. Accept is not
// on the base itself, because it can be ended only by revoking what it is on (quirk accept-root).
bool Attempt::duplicate() {
  MPI_Comm made = MPI_COMM_NULL;
  const int result = PMPI_Comm_dup(base_, &made);
  {
    const std::lock_guard lock(mutex_);
    duplicated_ = true;
  }
  return done("duplicate the world", result) && adopt(handles_.work, made);
}

bool Attempt::unite() {
  if (order.joining_count == 0) {
    const std::lock_guard lock(mutex_);
    handles_.union_comm = std::exchange(handles_.work, MPI_COMM_NULL);
    return true;
  }
  MPI_Comm made = MPI_COMM_NULL;
  const char* port = order.port.c_str();
  int result = MPI_SUCCESS;
  {
    const Search::Here here(search_, handles_.work);
    result = order.joining ? PMPI_Comm_connect(port, MPI_INFO_NULL, 0, handles_.work, &made)
                           : PMPI_Comm_accept(port, MPI_INFO_NULL, 0, handles_.work, &made);
  }
  if (!done(order.joining ? "connect to the old world" : "accept the joiners", result)) return false;
  if (!adopt(handles_.inter, made)) return false;
  const Search::Here here(search_, handles_.inter);
  return done("merge with the joiners", PMPI_Intercomm_merge(handles_.inter, order.joining ? 1 : 0, &made)) &&
         adopt(handles_.union_comm, made);
}

bool Attempt::split() {
  int rank = 0, size = 0;
  PMPI_Comm_rank(handles_.union_comm, &rank);
  PMPI_Comm_size(handles_.union_comm, &size);
  MPI_Comm made = MPI_COMM_NULL;
  if (!done("split off the next world",
            PMPI_Comm_split(handles_.union_comm, order.leaving ? MPI_UNDEFINED : 0, rank, &made)))
    return false;
  if (!order.leaving) {
    if (!adopt(handles_.next, made)) return false;
    if (!done("duplicate the next world", PMPI_Comm_dup(handles_.next, &made))) return false;
    if (!adopt(handles_.spare, made)) return false;
  }
  const char mine = order.leaving ? 1 : 0;
  leaving_.assign(static_cast<std::size_t>(size), 0);
  return done("learn who leaves",
              PMPI_Allgather(&mine, 1, MPI_CHAR, leaving_.data(), 1, MPI_CHAR, handles_.union_comm));
}

// Connections open at the first message: better now than in the window and in the first iterations after it.
bool Attempt::warm_up() {
  if (handles_.next != MPI_COMM_NULL) {
    int rank = 0, size = 0;
    PMPI_Comm_rank(handles_.next, &rank);
    PMPI_Comm_size(handles_.next, &size);
    std::vector<char> large(kLargeMessage), sum(large.size());
    int one = 1, all = 0;
    if (!done("warm up neighbours", exchange(handles_.next, rank, size, 1)) ||
        !done("warm up neighbours", exchange(handles_.next, rank, size, 2)) ||
        !done("warm up reductions", PMPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, handles_.next)) ||
        !done("warm up reductions",
              PMPI_Allreduce(large.data(), sum.data(), kLargeMessage, MPI_CHAR, MPI_MAX, handles_.next)) ||
        !done("warm up broadcasts", PMPI_Bcast(large.data(), kLargeMessage, MPI_CHAR, 0, handles_.next)) ||
        !done("warm up the duplicate", PMPI_Barrier(handles_.spare)))
      return false;
  }
  int yes = 1, all = 0;
  return done("warm up the votes", PMPI_Reduce(&yes, &all, 1, MPI_INT, MPI_MIN, 0, handles_.union_comm)) &&
         done("warm up the decision", tell_joiners(all)) &&
         done("warm up the union", PMPI_Barrier(handles_.union_comm));
}

// Union rank 0, an old rank, gives `verdict` to the joiners.
int Attempt::tell_joiners(int& verdict) {
  if (handles_.inter == MPI_COMM_NULL) return MPI_SUCCESS;
  int rank = 0;
  PMPI_Comm_rank(handles_.union_comm, &rank);
  const int root = order.joining ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  return PMPI_Bcast(&verdict, 1, MPI_INT, root, handles_.inter);
}

bool Attempt::done(const char* what, int result) {
  if (result == MPI_SUCCESS) return true;
  const std::lock_guard lock(mutex_);
  if (error_.empty()) error_ = std::string("cannot ") + what + ": " + error_text(result);
  return false;
}

bool Attempt::adopt(MPI_Comm& slot, MPI_Comm made) {
  PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  std::vector<MPI_Comm> unwanted;
  {
    const std::lock_guard lock(mutex_);
    slot = made;
    if (!cancelled_) return true;
    unwanted = all();
  }
  revoke(unwanted);
  return false;
}

std::vector<MPI_Comm> Attempt::all() const {
  std::vector<MPI_Comm> found{handles_.spare, handles_.next, handles_.union_comm, handles_.inter,
                              handles_.work};
  std::erase(found, MPI_COMM_NULL);
  return found;
}

Attempt::Cancelled Attempt::cancel(const std::string& reason, bool window_is_certain) {
  Cancelled result;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::Over || (state_ == State::Voted && !decides_)) return result;
    if (!cancelled_ && error_.empty()) error_ = reason;
    cancelled_ = true;
    search_.call_off();
    result.revoked = all();
    result.over = !window_is_certain && (state_ == State::Waiting || state_ == State::Built);
  }
  if (result.over) drop();
  return result;
}

bool Attempt::park() {
  const std::lock_guard lock(mutex_);
  parked_ = true;
  // Under this name the agent counts what it costs: it may poll inside MPI until the process ends.
  if (builder_ != 0) name_thread(builder_, names::kParkedThread);
  return duplicated_;
}

bool Attempt::enter_window() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::Built) return false;
  state_ = State::InWindow;
  return true;
}

void Attempt::await_first_rank() {
  int here = 1;
  tell_joiners(here);
}

bool Attempt::vote(bool ok, const std::string& reason) {
  std::vector<MPI_Comm> given_up;
  {
    const std::lock_guard lock(mutex_);
    int revoked = 0;  // by another rank: the agreement cannot hold any more
    PMPIX_Comm_is_revoked(handles_.union_comm, &revoked);
    if (revoked && ok) error_ = "another rank has given the change up";
    if (!ok && error_.empty()) error_ = reason;
    state_ = State::Voted;
    int rank = 0;
    PMPI_Comm_rank(handles_.union_comm, &rank);
    decides_ = rank == 0;
    if (ok && !cancelled_ && !revoked) return true;
    given_up = all();
  }
  revoke(given_up);
  return false;
}

Attempt::Verdict Attempt::agree(bool yes) {
  int mine = yes ? 1 : 0, verdict = mine;
  int gathered = MPI_SUCCESS;
  if (handles_.inter != MPI_COMM_NULL)
    gathered = PMPI_Reduce(&mine, &verdict, 1, MPI_INT, MPI_MIN, 0, handles_.union_comm);
  if (order.joining)
    return gathered == MPI_SUCCESS && tell_joiners(verdict) == MPI_SUCCESS && verdict != 0 ? Verdict::Yes
                                                                                           : Verdict::No;
  {
    const std::lock_guard lock(mutex_);
    if (decides_ && yes) mine = gathered == MPI_SUCCESS && verdict != 0 && !cancelled_ ? 1 : 0;
    decides_ = false;
  }
  // On a communicator that nobody ever revokes, and to its end in any case: old ranks must be of one mind,
  // and none may go on before all have voted, whatever becomes of the joiners.
  const int decided = PMPI_Allreduce(&mine, &verdict, 1, MPI_INT, MPI_MIN, base_);
  if (decided == MPI_SUCCESS && verdict != 0) {
    tell_joiners(verdict);  // one that has died since is a member lost
    return Verdict::Yes;
  }
  std::vector<MPI_Comm> given_up;
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    given_up = all();
  }
  revoke(given_up);  // joiners may wait for the verdict; in doubt others may be in the next world by now
  if (decided == MPI_SUCCESS) return Verdict::No;
  const std::lock_guard lock(mutex_);
  if (error_.empty()) error_ = "how the ranks have voted cannot be learned: " + error_text(decided);
  return Verdict::Doubt;
}

void Attempt::free_all(Handles& handles) {
  for (MPI_Comm* comm : {&handles.spare, &handles.next, &handles.union_comm, &handles.inter, &handles.work})
    if (*comm != MPI_COMM_NULL) PMPI_Comm_free(comm);
}

void Attempt::drop() {
  Handles handles;
  bool revoked = false;
  {
    const std::lock_guard lock(mutex_);
    handles = std::exchange(handles_, {});
    revoked = cancelled_ || !error_.empty();
    state_ = State::Over;
    word_.notify_all();
  }
  if (!revoked) free_all(handles);
}

Attempt::Outcome Attempt::take(std::vector<MPI_Comm>& used) {
  Outcome outcome;
  {
    const std::lock_guard lock(mutex_);
    outcome.world = std::exchange(handles_.next, MPI_COMM_NULL);
    outcome.spare = std::exchange(handles_.spare, MPI_COMM_NULL);
    for (MPI_Comm* comm : {&handles_.union_comm, &handles_.inter, &handles_.work})
      used.push_back(std::exchange(*comm, MPI_COMM_NULL));
  }
  drop();
  return outcome;
}

void Attempt::abandon() {
  const std::lock_guard lock(mutex_);
  handles_ = {};
  state_ = State::Over;
}

bool Attempt::parked() const {
  const std::lock_guard lock(mutex_);
  return parked_;
}

Attempt::State Attempt::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::string Attempt::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

bool Attempt::is_window_communicator(MPI_Comm comm) const {
  const std::lock_guard lock(mutex_);
  return comm != MPI_COMM_NULL &&
         (comm == handles_.inter || comm == handles_.union_comm || comm == handles_.next);
}

RankReport Attempt::report() const {
  const std::lock_guard lock(mutex_);
  RankReport report;
  report.build_ms = build_ms_;
  report.change = order.change;
  report.ok = state_ == State::Built;
  report.error = error_;
  return report;
}

}  // namespace empi::rank
