// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/tasks_world.hpp"

#include <algorithm>
#include <chrono>

#include "runtime/rank/blocked_search.hpp"
#include "runtime/rank/common_world.hpp"
#include "runtime/rank/group_world.hpp"
#include "runtime/rank/pmix_connect.hpp"
#include "runtime/rank/pmix_store.hpp"
#include "runtime/rank/revocation.hpp"

namespace empi::rank {

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
    if (!good) end_blocked_search();
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
  bool built = false;
  if (size_ > 1 && !known_.empty() && can_create_from_group()) {
    const std::optional<std::string> met = meet();
    if (!met) return false;
    const std::optional<CommonWorld> common = common_world_from(*met);
    const auto before = common ? std::ranges::find(known_, common->world, &Known::name) : known_.end();
    built = before == known_.end() ? build_of_single_ranks() : build_of(*before, common->ranks);
  } else {
    built = build_of_single_ranks();
  }
  if (!built) return false;
  // Nobody is past this before all are there; and connections of collectives are open.
  const MPI_Comm world = made_.back();
  int mine = 1, all = 0;
  return done("warm up reductions", PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, world)) &&
         done("warm up barriers", PMPI_Barrier(world));
}

// All say that they have come, and are told which world they have in common ("": none). Any of them, and all,
// can be called off here.
std::optional<std::string> TasksWorld::meet() {
  std::vector<PlaceInWorld> mine;
  for (const Known& world : known_) {
    mine.push_back({world.name, MPI_UNDEFINED});
    PMPI_Group_rank(world.group, &mine.back().rank);
  }
  if (!done("meet the others", MPI_SUCCESS)) return std::nullopt;
  const auto common = [](const std::vector<std::string>& texts) {
    std::vector<std::vector<PlaceInWorld>> places;
    for (const std::string& text : texts) places.push_back(places_from(text));
    return to_text(common_world(places));
  };
  return gather("come", to_text(mine), common, Meanwhile::MpiGoesOn);
}

// From here on no rank reads what arrives until it has the communicator: Open MPI never delivers what comes
// sooner (quirk early-messages). Once this rank has said so it waits for the word that all have, or for the
// refusal, whatever comes: the others may have begun.
bool TasksWorld::stand_still() {
  const auto nothing = [](const std::vector<std::string>&) { return std::string(); };
  return done("wait for the others", MPI_SUCCESS) &&
         gather(std::string(kAllHaveCome), "", nothing, Meanwhile::MpiStandsStill).has_value();
}

// What rank 0 makes of all that they say.
template <class Function>
std::optional<std::string> TasksWorld::gather(const std::string& word, const std::string& mine,
                                              Function reduce, Meanwhile mpi) {
  const std::string key = port() + word;
  bool said = true;
  if (rank_ > 0) {
    said = publish(key + "." + std::to_string(rank_), mine);
  } else {
    std::vector<std::string> keys;
    for (int rank = 1; rank < size_; ++rank) keys.push_back(key + "." + std::to_string(rank));
    auto texts = await_published(keys, mpi);
    if (texts) texts->insert(texts->begin(), mine);
    said = texts && publish(key, reduce(*texts));
  }
  const auto result = said ? await_published({key}, mpi) : std::nullopt;
  if (result) return result->front();
  const std::lock_guard lock(mutex_);
  error_ = "given up before all had come";
  return std::nullopt;
}

// Who fails revokes what it has: the first one until everybody has said there that it has the second.
bool TasksWorld::build_of(const Known& before, const std::vector<int>& ranks) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm alone = MPI_COMM_NULL, first = MPI_COMM_NULL, world = MPI_COMM_NULL;
  if (!succeeded("begin with this rank alone", make_alone(&alone))) return false;
  PMPI_Comm_free(&alone);
  if (!succeeded("name the ranks that are left",
                 PMPI_Group_incl(before.group, static_cast<int>(ranks.size()), ranks.data(), &group)))
    return false;
  if (!stand_still()) return false;
  const int made = create_from_group(group, name_, &first);
  PMPI_Group_free(&group);
  if (!succeeded("make a communicator of the ranks that are left", made)) return false;
  keep(first);
  if (!succeeded("make the world", PMPI_Comm_dup(first, &world))) return false;
  keep(world);
  MPI_Request everybody = MPI_REQUEST_NULL;
  return succeeded("tell of the world", PMPI_Ibarrier(first, &everybody)) &&
         succeeded("hear of the world", PMPI_Wait(&everybody, MPI_STATUS_IGNORE));
}

bool TasksWorld::build_of_single_ranks() {
  MPI_Comm alone = MPI_COMM_NULL;
  if (!succeeded("begin with this rank alone", make_alone(&alone))) return false;
  keep(alone);
  for (int half = 1; half < size_; half *= 2)
    if (!unite_with_other_half(half)) return false;
  return true;
}

// Groups of `half` ranks become groups of twice that; the last one may be smaller, or find nobody.
bool TasksWorld::unite_with_other_half(int half) {
  const int first = rank_ / (2 * half) * (2 * half), second = first + half;
  if (second >= size_) return true;
  const bool upper = rank_ >= second;
  const std::string port = this->port() + std::to_string(first) + "." + std::to_string(half) + ".";
  const MPI_Comm mine = made_.back();
  MPI_Comm inter = MPI_COMM_NULL, union_comm = MPI_COMM_NULL;
  const Acquainted acquainted(!known_.empty());
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
  std::vector<MPI_Comm> made;
  {
    const std::lock_guard lock(mutex_);
    made = made_;
  }
  revoke(made);
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

}  // namespace empi::rank
