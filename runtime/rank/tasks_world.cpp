// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/tasks_world.hpp"

#include <mpi-ext.h>

#include <chrono>

#include "runtime/rank/pmix_connect.hpp"

namespace empi::adapt {

namespace {

constexpr std::chrono::seconds kPatience{10};  // for a helper thread that was told to give up

}  // namespace

bool TasksWorld::build(TasksWorld* before) {
  bool good = false;
  if (before && !before->wait_for_end()) {
    const std::lock_guard lock(mutex_);
    error_ = "a helper thread never came back from building the world before";
  } else {
    good = build_all();
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  over_.notify_all();
  return good;
}

bool TasksWorld::wait_for_end() {
  std::unique_lock lock(mutex_);
  return over_.wait_for(lock, kPatience, [this] { return ended_; });
}

bool TasksWorld::build_all() {
  MPI_Comm alone = MPI_COMM_NULL;
  if (!succeeded("begin with this rank alone", PMPI_Comm_dup(MPI_COMM_SELF, &alone))) return false;
  keep(alone);
  for (int half = 1; half < size_; half *= 2)
    if (!unite_with_other_half(half)) return false;
  // Nobody is past this before all are there; and connections of collectives are open.
  const MPI_Comm world = made_.back();
  int mine = 1, all = 0;
  return done("warm up reductions", PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, world)) &&
         done("warm up barriers", PMPI_Barrier(world));
}

// Groups of `half` ranks become groups of twice that; the last one may be smaller, or find nobody.
bool TasksWorld::unite_with_other_half(int half) {
  const int first = rank_ / (2 * half) * (2 * half), second = first + half;
  if (second >= size_) return true;
  const bool upper = rank_ >= second;
  const std::string port = this->port() + std::to_string(first) + "." + std::to_string(half) + ".";
  const MPI_Comm mine = made_.back();
  MPI_Comm inter = MPI_COMM_NULL, union_comm = MPI_COMM_NULL;
  const Acquainted acquainted(ranks_ == Ranks::AreOfOneWorld);
  const int met = upper ? PMPI_Comm_connect(port.c_str(), MPI_INFO_NULL, 0, mine, &inter)
                        : PMPI_Comm_accept(port.c_str(), MPI_INFO_NULL, 0, mine, &inter);
  if (!succeeded("connect with the other half", met)) return false;
  keep(inter);
  if (!succeeded("merge with the other half", PMPI_Intercomm_merge(inter, upper ? 1 : 0, &union_comm)))
    return false;
  keep(union_comm);
  return done("merge with the other half", MPI_SUCCESS);
}

bool TasksWorld::done(const char* what, int result) {
  if (!succeeded(what, result)) return false;
  const std::lock_guard lock(mutex_);
  if (asked_) error_ = std::string("given up, to ") + what + " came last";
  return !asked_;
}

bool TasksWorld::succeeded(const char* what, int result) {
  if (result == MPI_SUCCESS) return true;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  PMPI_Error_string(result, text, &length);
  const std::lock_guard lock(mutex_);
  error_ = std::string("cannot ") + what + ": " + text;
  return false;
}

void TasksWorld::keep(MPI_Comm made) {
  PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  const std::lock_guard lock(mutex_);
  made_.push_back(made);
}

void TasksWorld::ask_to_give_up() {
  const std::lock_guard lock(mutex_);
  asked_ = true;
}

void TasksWorld::give_up() {
  const std::lock_guard lock(mutex_);
  for (const MPI_Comm comm : made_) PMPIX_Comm_revoke(comm);
}

MPI_Comm TasksWorld::take() {
  const std::lock_guard lock(mutex_);
  const MPI_Comm world = made_.back();
  made_.pop_back();
  for (MPI_Comm& comm : made_) PMPI_Comm_free(&comm);
  made_.clear();
  return world;
}

bool TasksWorld::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

std::string TasksWorld::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace empi::adapt
