// SPDX-License-Identifier: Apache-2.0
// One attempt to build the next world, from the agent's order to the vote in the adaptation window.
//
// Decision R1: all old ranks accept on a duplicate of the whole old world, joiners connect; merged this is
// the union (old ranks keep their numbers, joiners follow); the next world is split from it, duplicated for
// the next change, and warmed up. All this runs on a helper thread while the application iterates.
#pragma once
#include <mpi.h>
#include <sys/types.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/protocol/rank_messages.hpp"
#include "runtime/rank/search.hpp"

namespace empi::rank {

class Attempt {
 public:
  enum class State {
    Waiting,   // the helper thread is there, and waits for the word to build
    Building,  // the helper thread is at work
    Built,     // ready for the window
    InWindow,  // between begin and the vote
    Voted,     // no way back for this rank; union rank 0 may still withdraw for the joiners
    Over       // given up, rolled back or committed; owns nothing any more
  };

  // `base`: this rank's duplicate of the old world (of the joiners' own world on joiners) that only helper
  // threads use. It must outlive the building.
  Attempt(RankOrder order, MPI_Comm base) : order(std::move(order)), base_(base) {}
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // For the helper thread: until `go` (true), or until the attempt is given up before that (false).
  bool wait_for_word();
  // All ranks of the change have said that they are ready. One that cannot go on after all says why, and
  // takes part until the others can be told: they do not come out of the first step without it.
  void go(const std::string& refusal);
  // Runs the building to its end, good or bad. Collective over the ranks of the change.
  void build();

  struct Cancelled {
    bool over = false;              // the attempt is over by this call (the caller reports it)
    std::vector<MPI_Comm> revoked;  // for the caller to revoke (revocation.hpp)
  };
  // Gives up. Waiting: it is over. While building: what there is is to be revoked, so that `build` returns
  // everywhere. Built: drops it, unless `window_is_certain`: then, and in the window, everything pending on
  // its communicators fails and this rank votes no. Later: nothing.
  [[nodiscard]] Cancelled cancel(const std::string& reason, bool window_is_certain);
  // The helper thread is given up for lost; if it comes back after all, it frees what it made. Returns
  // whether the base is out of its hands.
  bool park();
  bool parked() const;

  bool enter_window();
  // In the window, before anything else: a joiner waits for old world rank 0. The change is confirmed, but
  // the iteration that it belongs to may be some way off, and what rank 0 writes to a file before it is to be
  // read in the window. Returns as well when the window's communicators are revoked.
  void await_first_rank();
  // This rank's vote, final: `ok` unless the attempt was cancelled. A no revokes the window's communicators.
  bool vote(bool ok, const std::string& reason);
  // Doubt: an old rank was lost while they voted, and the others may have come to either result.
  enum class Verdict { Yes, No, Doubt };
  // Whether all ranks of the union voted yes. Collective over the union, after `vote`. The joiners' votes go
  // to union rank 0, the old ranks decide together: when one of them is lost the job ends, or goes back to
  // its copies (R18), so that two phases are enough. No on a joiner may come early, and where one was lost
  // may be yes elsewhere; on an old rank it means that all have voted. (MPIX_Comm_agree would survive more,
  // but may answer with the result of an agreement long past: quirk agreement-ids.)
  Verdict agree(bool yes);

  // Ends the attempt. Frees what it still owns if that was never revoked; revoked communicators stay until
  // the process ends (quirk revoked-freed): a roll back costs a few kilobytes so. Local.
  void drop();
  // The next world and the duplicate that helper threads will use. Null on leavers.
  struct Outcome {
    MPI_Comm world = MPI_COMM_NULL, spare = MPI_COMM_NULL;
  };
  // `used`: what was for this attempt alone, and is the caller's to free.
  Outcome take(std::vector<MPI_Comm>& used);
  // Leavers: keeps everything open until the process ends, for messages still under way.
  void abandon();

  State state() const;
  std::string error() const;
  bool is_window_communicator(MPI_Comm comm) const;
  MPI_Comm union_comm() const { return handles_.union_comm; }
  MPI_Comm inter() const { return handles_.inter; }
  MPI_Comm next() const { return handles_.next; }
  const std::vector<char>& leaving() const { return leaving_; }  // by rank of the union
  RankReport report() const;

  const RankOrder order;

 private:
  struct Handles {
    MPI_Comm work = MPI_COMM_NULL;        // duplicate of the old world, of this attempt alone
    MPI_Comm inter = MPI_COMM_NULL;       // (stayers + leavers) | joiners
    MPI_Comm union_comm = MPI_COMM_NULL;  // all three
    MPI_Comm next = MPI_COMM_NULL;        // the next world; null on leavers
    MPI_Comm spare = MPI_COMM_NULL;       // duplicate of the next world
  };

  bool make_everything();
  bool duplicate();
  bool unite();
  bool split();
  bool warm_up();
  int tell_joiners(int& verdict);
  bool done(const char* what, int result);
  bool adopt(MPI_Comm& slot, MPI_Comm made);
  std::vector<MPI_Comm> all() const;  // with mutex_ held; what is to be revoked is not freed any more
  static void free_all(Handles& handles);

  mutable std::mutex mutex_;
  std::condition_variable word_;  // state_ has left Waiting
  State state_ = State::Waiting;
  bool cancelled_ = false, parked_ = false, duplicated_ = false;
  bool decides_ = false;  // this rank speaks for the joiners, and has not done so yet
  std::string error_;
  Search search_;
  Handles handles_;
  MPI_Comm base_;
  std::vector<char> leaving_;
  double build_ms_ = 0;
  pid_t builder_ = 0;  // the helper thread
};

}  // namespace empi::rank
