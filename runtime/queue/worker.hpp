// SPDX-License-Identifier: Apache-2.0
// A worker: computes the chunks that the master gives it. Needs no thread of its own: the next chunk waits in
// the socket while one is computed.
#pragma once
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>

#include "runtime/base/wakeup.hpp"
#include "runtime/queue/master.hpp"
#include "runtime/queue/phase.hpp"

namespace empi::queue {

// The connection to the master has ended.
class MasterGone : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Worker {
 public:
  // Connects and waits until the master knows us. `host`: IP to listen on as the mirror of the queue; `pod`:
  // the one that this process is in, "": it cannot be the mirror. Throws std::runtime_error.
  Worker(WorkerId self, const Address& master, Newcomer how, std::string host = "", std::string pod = "");
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // A joiner waits for what the others know at the beginning of the phase in work, or the next one. Nothing:
  // there is none any more, or this process was asked to leave.
  struct Values {
    std::uint64_t phase = 0;
    Bytes bytes;
  };
  std::optional<Values> await_values();

  // Takes part in a phase until its end, or until this process leaves or becomes the master, because that
  // leaves or because it is lost and the queue is mirrored here. Throws std::runtime_error when the master is
  // gone for good or refuses us, and what a task throws.
  struct End {
    Outcome outcome;
    std::optional<Handover> handover;
  };
  End run(const Phase& phase, const Task& task);

  // After the last phase. Where the queue is mirrored: when the master says that it needs nobody any more.
  // Throws MasterGone on the mirror when the master is lost before: what that alone does after the last phase
  // nobody else does.
  void finish();

  // From any thread: `who` is lost; if it is the master, `next` (if anybody) takes its place.
  void lost(const WorkerId& who, const WorkerId& next);
  std::set<WorkerId> all_lost() const;
  // From any thread: wants to leave, after the task in hand.
  void leave();
  void use_world(WorldMaker maker) { world_ = std::move(maker); }  // main thread
  // From any thread.
  void world_built(const std::string& name, const std::string& error);
  double idle_seconds() const { return idle_.seconds(); }
  // On changes of the size: see Participant.
  std::int64_t change_ns() const { return changes_.ns(); }

 private:
  void introduce(Newcomer how, std::uint64_t phase);
  void wait_for(short events_of_connection, bool count_idle);
  bool take_in();
  std::optional<Message> pop();
  bool stop_now();
  std::optional<End> obey(Message message);
  void compute_one(const Task& task);
  void go_to(const Address& master);
  void enter();
  End depart();
  void build_world(const Message& message);
  void report_world();

  // --- worker_mirror.cpp
  bool of_mirror(const Message& message);
  void say_mirrors(std::int64_t number);
  bool master_is_lost();
  std::optional<Handover> go_on_without_master();
  void wait_for_word();
  void follow_word();
  Handover in_place_of_master();
  void go_to_successor();
  void keep_results(const SharedBytes& results);
  std::string whereabouts() const;

  const WorkerId self_;
  Address master_;
  Connection connection_;
  Newcomer how_;
  Wakeup wakeup_;
  std::atomic<bool> leave_{false};
  std::deque<Message> inbox_;
  std::deque<Range> chunks_;
  Phase phase_;
  bool lost_ = false;       // the connection is closed
  bool heard_all_ = false;  // and what came by it is read
  bool bye_said_ = false, world_in_hand_ = false;
  WorldMaker world_;
  std::mutex world_mutex_;   // guards the next ones
  std::string world_asked_;  // the latest
  struct BuiltWorld {
    std::string name, error;
  };
  std::optional<BuiltWorld> world_built_;
  std::int64_t looked_ns_ = 0;
  std::int64_t waiting_ns_ = 0;    // since when there is no chunk, in a phase; 0: there is
  std::int64_t unsettled_ns_ = 0;  // since when a change keeps it from work; 0: does not
  SpentClock idle_, changes_;

  // For the case that the master is lost.
  const std::string host_, pod_;
  WorkerId master_id_;
  std::string successor_;                            // where to go then; "": nowhere
  std::map<WorkerId, std::string> mirrors_;          // where those listen that were it
  std::optional<Mirror> mirror_;                     // we are the successor
  std::vector<std::pair<Phase, SharedBytes>> past_;  // at the mirror: results of the last two phases
  bool closed_ = false;                              // the master's program has ended
  std::atomic<bool> news_of_losses_{false};          // since we have looked last
  mutable std::mutex lost_mutex_;                    // guards the next ones
  std::set<WorkerId> lost_ids_;
  std::map<WorkerId, WorkerId> next_;  // who takes the place of whom
};

}  // namespace empi::queue
