// SPDX-License-Identifier: Apache-2.0
// A worker: computes the chunks that the master gives it. Needs no thread of its own: the next chunk waits in
// the socket while one is computed.
#pragma once
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "runtime/base/wakeup.hpp"
#include "runtime/queue/master.hpp"
#include "runtime/queue/phase.hpp"

namespace empi::tasks {

// The connection to the master has ended.
class MasterGone : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Worker {
 public:
  // Connects and waits until the master knows us. Throws std::runtime_error.
  Worker(WorkerId self, const Address& master, Newcomer how);
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

  // Takes part in a phase until its end, or until this process leaves or becomes the master. Throws
  // std::runtime_error when the master is gone or refuses us, and what a task throws.
  struct End {
    Outcome outcome;
    std::optional<Handover> handover;
  };
  End run(const Phase& phase, const Task& task);

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
  bool lost_ = false;  // the connection is closed
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
};

}  // namespace empi::tasks
