// SPDX-License-Identifier: Apache-2.0
// This process as a rank of a job: its page, its agent, the change it takes part in.
//
// Three kinds of threads meet here. The application's thread calls probe, begin, commit and finalize; it
// never waits for one of the others. The control thread sleeps in recv and obeys the agent. A helper thread
// builds the next world (attempt.hpp); one that does not come back after a cancel is left alone ("parked").
#pragma once
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/protocol/names.hpp"
#include "runtime/protocol/page.hpp"
#include "runtime/rank/agent_link.hpp"
#include "runtime/rank/attempt.hpp"
#include "runtime/rank/iterations.hpp"
#include "runtime/rank/queue_api.h"
#include "runtime/rank/recovery_api.h"
#include "runtime/rank/tasks_world.hpp"
#include "runtime/rank/threads.hpp"

namespace empi::rank {

class Rank {
 public:
  // At the end of MPI_Init: maps the page, if there is one, and starts to count. Local.
  void start_profile();
  // At the end of MPI_Init_adapt, under an agent that can change the job: makes this rank malleable.
  // Collective over MPI's own world.
  void become_malleable();

  bool malleable() const { return malleable_; }
  bool joining() const { return joining_; }
  bool finalized() const { return finalized_.load(std::memory_order_acquire); }

  // The calls of elastic_mpi.h; see there.
  int probe(int* adapt_flag, int* proc_status, MPI_Info* info);
  int probes_are_aligned();
  int begin(MPI_Comm* inter, MPI_Comm* next, int* staying, int* leaving, int* joining);
  int union_comm(MPI_Comm* comm);
  int abort_change();
  int report_redistribution(double milliseconds, long long bytes);
  int commit();
  int progress(double work_units, double progress);
  int checkpointed(CheckpointNews news);
  int wish(int least, int most);
  int task_queue(long long phase, long long total, long long done, long long queued);
  int spent_on_changes(long long nanoseconds);
  int begin_task();
  int end_task();
  // The calls of queue_api.h; see there.
  int declare_tasks(MPIX_Tasks_order on_order, void* self);
  int queue_at(const char* address);
  int queue_mirrored(const char* id);
  int attached(const char* error);
  int build_tasks_world(const std::string& name, const std::string& ids);
  int adopt_tasks_world(const std::string& name);
  int tasks_left();
  int tasks_changed();
  // The calls of recovery_api.h; see there.
  int watch_losses(MPIX_Recovery_stop stop);
  int losses_can_be_borne();
  int recovery_world(MPI_Comm* world);
  int recovery_repeats(long long iterations);
  int adopt_recovered(long long iteration);
  int idle(double seconds);
  [[noreturn]] void recovery_failed(const char* error);
  void stop_here();  // leaves what the application's thread is in, if the program says how
  int finalize();
  int finalize_rigid();  // of a program that cannot adapt

  bool is_window_communicator(MPI_Comm comm);

 private:
  // --- rank.cpp: application's thread
  bool at_agreed_iteration(std::uint64_t count);
  void begin_probing(bool joined);
  void mark_probe(std::uint64_t number);
  void withdraw();
  [[noreturn]] void end_leaver();
  void watch_cost();

  // --- rank_window.cpp: application's thread
  bool await_window_as_joiner();
  void leave_window();
  int committed();
  void free_used();
  int rolled_back(const std::string& error);
  std::string objects_in_the_way();
  [[noreturn]] void await_dismissal();

  // --- rank_finalize.cpp
  void synchronize();
  void linger();
  void settle(const Threads& threads);

  // --- rank_control.cpp: control thread
  void run_control();
  void obey(const RankOrder& order);
  void prepare(const RankOrder& order);
  void build(const RankOrder& order);
  std::string reason_not_to_build() const;  // with mutex_ held; empty: none
  void cancel(const RankOrder& order);
  void revoke_beside(std::vector<MPI_Comm> comms);
  void check_parked();
  void check_revoking();

  // --- rank_tasks.cpp: control thread
  void order_tasks(const RankOrder& order);
  std::shared_ptr<TasksWorld> give_up_tasks_world();  // any thread
  void tell_tasks(int what, const std::string& text);
  void say_dropped(const TasksWorld& world, bool out);  // any thread
  int next_check_ms() const;
  void check_abandoned();

  // --- rank_recovery.cpp
  void leave_iteration();                       // control thread
  void order_recovery(const RankOrder& order);  // control thread
  void revoke_what_was_lost();
  std::vector<TasksWorld::Known> known_worlds();
  void world_is(const std::string& name, bool recovered);  // the one that was just adopted
  void vote_no_from_outside();
  [[noreturn]] void leave_from_outside();
  RankOrder await_recovery();

  std::shared_ptr<Attempt> attempt();

  bool malleable_ = false, joining_ = false;
  bool left_ = false;             // a leaver after its commit
  std::uint64_t calls_then_ = 0;  // of MPI, when the probes began to count
  bool probes_marked_ = false;    // the page says all that can be said of where the probes stand
  std::uint64_t longest_wait_ns_ = names::kDefaultWordSeconds * std::uint64_t{1000000000};  // for the agent
  bool window_agreed_ = false;  // MPI_Probe_adapt has said so, begin is to come
  bool in_window_ = false;
  std::atomic<bool> ending_{false}, finalized_{false}, released_{false};
  Threads control_, helpers_;
  Page* page_ = nullptr;  // null: no agent
  AgentLink link_;
  Iterations iterations_;
  std::uint64_t costed_ = 0;   // number of the change whose cost was last begun to be measured
  std::string costed_change_;  // its id, once committed

  std::mutex mutex_;                  // guards the next four
  std::shared_ptr<Attempt> attempt_;  // the last one ordered
  MPI_Comm spare_ = MPI_COMM_NULL;    // duplicate of the current world that only helper threads use
  bool spare_in_doubt_ = false;       // a parked helper thread may be using it
  int parked_ = 0;
  std::atomic<std::uint64_t> changes_begun_{0};     // orders to build, so far
  std::atomic<std::uint64_t> changes_given_up_{0};  // the last of these that ended before its window

  // Control thread only: a cancelled attempt that has not come back yet.
  std::shared_ptr<Attempt> overdue_;
  std::uint64_t overdue_since_ns_ = 0;
  std::shared_ptr<TasksWorld> abandoned_;  // by an order to recover without one more, and not over
  std::uint64_t abandoned_since_ns_ = 0;
  std::uint64_t revoking_since_ns_ = 0;  // a revocation that had not come back at the last look,
  std::uint64_t revoking_seen_ns_ = 0;   // when it was first seen, and when that look was
  std::uint64_t looked_ns_ = 0;

  // The window in hand.
  std::uint64_t window_opened_ns_ = 0;
  double wait_ms_ = 0, moved_ms_ = 0;
  std::int64_t moved_bytes_ = 0;
  bool aborted_ = false;
  std::vector<MPI_Comm> used_;  // communicators of the last change, and of the world before it

  // A master-worker program.
  bool tasks_ = false, tasks_changed_ = false;
  std::atomic<int> ranks_lost_{0};  // that the agent told of,
  int lost_before_world_ = 0;       // of these before the world there is was built: they are not in it
  std::mutex tasks_mutex_;          // guards the next three; held while the program hears of an order
  MPIX_Tasks_order on_order_ = nullptr;
  void* on_order_self_ = nullptr;
  std::string tasks_change_;                 // the change it was asked to take part in
  std::mutex queue_mutex_;                   // guards the next one; nothing is called with it held
  std::string queue_address_;                // of the queue that this rank keeps
  std::mutex tasks_world_mutex_;             // guards the next two; nothing is called with it held
  std::shared_ptr<TasksWorld> tasks_world_;  // being built, or built and not adopted
  int lost_before_build_ = 0;                // of ranks_lost_

  // Recovery.
  std::atomic<MPIX_Recovery_stop> stop_{nullptr};
  std::atomic<bool> recovering_{false};            // ranks of the world are lost
  std::mutex recovery_mutex_;                      // guards the next three
  RankOrder recovery_;                             // the newest order
  std::shared_ptr<TasksWorld> recovery_building_;  // by it
  Attempt::Outcome recovery_made_;                 // by it, and not adopted
  std::string recovery_tried_;                     // its name, once it was
  std::string world_name_;                         // of the world: the change or the recovery that made it
  MPI_Group world_group_ = MPI_GROUP_NULL;         // of it, once asked for
  TasksWorld::Known before_recovery_;              // the one before, if a recovery made this one
  std::uint64_t recovery_since_ns_ = 0;
  long long repeated_ = 0;  // iterations that this rank does again
};

// Lives for ever: other threads use it while the process exits.
Rank& rank();

}  // namespace empi::rank
