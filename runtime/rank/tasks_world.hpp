// SPDX-License-Identifier: Apache-2.0
// A world of MPI for the ranks of a master-worker program, at the end of a phase (decision R8).
//
// They come from several worlds, of which ranks have left or died, so that nothing derived from those can be
// trusted. Hence it is made of single ranks: neighbours accept and connect, then pairs, then groups of four:
// log2 of the ranks rounds. One attempt; it runs on a helper thread.
//
// Ranks of a loop that go on without others (R18) come from one world: they meet in PMIx's store first, where
// any of them can be called off, and make it of that world's group in one step.
#pragma once
#include <mpi.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/protocol/world_keys.hpp"
#include "runtime/rank/pmix_store.hpp"

namespace empi::rank {

class TasksWorld {
 public:
  // One that this rank was in; its name is the same on all ranks of it.
  struct Known {
    std::string name;
    MPI_Group group = MPI_GROUP_NULL;
  };

  // `name`: the same on all ranks, never used before. This process becomes `rank` of `size`. `known`: empty
  // where some may be new, else the newest first; the groups must outlive the building.
  TasksWorld(std::string name, int rank, int size, std::vector<Known> known)
      : name_(std::move(name)), rank_(rank), size_(size), known_(std::move(known)) {}
  TasksWorld(const TasksWorld&) = delete;
  TasksWorld& operator=(const TasksWorld&) = delete;

  // To its end, good or bad. Collective over the ranks. Waits for the end of `before` first (quirk
  // two-makers).
  bool build(TasksWorld* before);
  // After a bad end, by the thread that has built: what there is is revoked, so that `build` returns
  // everywhere. What was revoked is never freed (see Attempt::drop).
  void give_up();
  // From any thread: the build fails where that leaves nobody behind. Two halves that have met go on until
  // they are merged: nobody can call off those who are in the merge already (quirk cid-retries).
  void ask_to_give_up();
  // After a good end on all ranks; the caller owns it. Local.
  MPI_Comm take();

  const std::string& name() const { return name_; }
  // What all keys that it publishes have in common.
  std::string port() const { return world_port(name_); }
  std::string error() const;
  bool ended() const;  // the build, good or bad

 private:
  bool build_all();
  bool wait_for_end();
  std::optional<std::string> meet();
  bool stand_still();
  template <class Function>
  std::optional<std::string> gather(const std::string& word, const std::string& mine, Function reduce,
                                    Meanwhile mpi);
  bool build_of(const Known& before, const std::vector<int>& ranks);
  bool build_of_single_ranks();
  bool unite_with_other_half(int half);
  bool done(const char* what, int result);
  bool succeeded(const char* what, int result);
  void keep(MPI_Comm made);

  const std::string name_;
  const int rank_, size_;
  const std::vector<Known> known_;
  mutable std::mutex mutex_;
  std::condition_variable over_;
  bool asked_ = false, ended_ = false;
  std::string error_;
  std::vector<MPI_Comm> made_;  // the last one is the largest group so far
};

}  // namespace empi::rank
