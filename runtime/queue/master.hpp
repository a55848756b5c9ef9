// SPDX-License-Identifier: Apache-2.0
// The master: keeps the queue and answers the workers on a thread of its own, which sleeps in epoll; the main
// thread computes tasks like every worker. A worker's message costs a look at that worker: all are looked at
// only when some come or go, or the main thread has something for them.
#pragma once
#include <poll.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "runtime/base/wakeup.hpp"
#include "runtime/queue/handover.hpp"
#include "runtime/queue/mirror.hpp"
#include "runtime/queue/phase.hpp"

namespace empi::queue {

struct MasterFigures {
  std::int64_t total = 0, completed = 0, queued = 0;
  TaskTimes times;  // of the phase
  int workers = 1;
};

class Master {
 public:
  // Listens on `host`. `self`: this process as a worker; `others`: how many come as members from the start:
  // the first phase does not end before they are known or lost, or they would miss its results. Throws
  // std::runtime_error. `pod`: the one that this process is in; the queue is mirrored on another one.
  Master(WorkerId self, const std::string& host, int others = 0, std::string pod = "");
  // In the middle of a phase, in place of another master, that hands the queue over or was mirrored here and
  // is lost; to be followed by `resume`.
  Master(WorkerId self, const std::string& host, Handover handover, Bytes values, std::string pod = "");
  ~Master();
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  const Address& address() const { return address_; }

  // Runs a phase. `values`: what a joiner has to know to take part. Main thread. Throws std::runtime_error
  // when workers do not agree about the phase, and what a task throws.
  Outcome run(const Phase& phase, Bytes values, const Task& task);
  // The rest of the phase that was taken over.
  Outcome resume(const Task& task);
  // After the last phase: sends joiners away and waits until the workers have closed their connections.
  void close();

  // From any thread. Hands the queue over to `preferred`, or if it is not there to another worker, none of
  // `leaving`, in this phase or the next one.
  void leave(std::set<WorkerId> leaving, WorkerId preferred);
  // Called on the main thread with the figures of the phase, when they may have changed.
  void on_progress(std::function<void(const Phase&, const MasterFigures&)> call) {
    on_progress_ = std::move(call);
  }
  // The workers get a world of MPI at the end of every phase before or in which some have come or gone.
  void use_world(WorldMaker maker);
  // From any thread: that of this process is there, or not.
  void world_built(const std::string& name, const std::string& error);
  // Called, with the master's lock held, when a worker begins to mirror the queue, and with "" when it does
  // so no more.
  void on_mirror(std::function<void(const WorkerId& mirror)> call);
  // From any thread: a worker is gone, whatever its connection says.
  void lost(const WorkerId& worker);
  // Who connects and does not say who it is within this time is sent away.
  void patience_with_strangers(double seconds);
  MasterFigures figures() const;
  std::uint64_t looks() const;  // so often the server has looked whether a worker needs something
  double idle_seconds() const { return idle_.seconds(); }
  // On changes of the size: see Participant.
  std::int64_t change_ns() const { return changes_.ns(); }

 private:
  struct Peer {
    explicit Peer(Connection c) : connection(std::move(c)) {}
    Connection connection;
    WorkerId id;           // "" before its Hello
    std::string pod;       // "": it cannot be the mirror
    bool welcome = false;  // one of the workers
    bool informed = true;  // knows the replicated values; a joiner does not at first
    bool leaving = false;  // has said Bye
    bool predecessor = false;
    std::int64_t since_ns = 0;  // accepted
    bool stranger() const { return !welcome && !predecessor; }
    Phase phase;                    // it is in
    std::uint64_t knows_until = 0;  // so many phases it has begun, or got the values of
    std::vector<Range> given;       // chunks it has for sure (after a hand-over)
    short watched = POLLIN;         // events that wake the server
  };
  using Peers = std::map<int, Peer>;  // by descriptor

  // --- master.cpp: main thread
  std::optional<Range> take_own();
  MasterFigures now() const;
  void record(const WorkerId& worker, Range tasks, const TaskTimes& times,
              std::span<const std::byte> results);

  // --- master_server.cpp: the server's thread; with mutex_ held from `handle` on
  static UniqueFd make_epoll();  // throws std::system_error
  void serve();
  bool poll_once();
  bool watch(int fd, int events, int operation);
  void drop(Peers::iterator at);
  void write_out();
  void size_changes();
  void say(Peer& peer, Head head, SharedBytes payload = nullptr);
  void say(Peer& peer, Head head, Bytes payload);
  void hear_early();
  bool nobody_needs_us() const;
  void hang_up();
  void accept_new();
  int poll_milliseconds() const;
  void drop_strangers(std::int64_t older_than_ns);
  bool handle(Peer& peer);
  bool receive(Peer& peer, Message message);
  bool greet(Peer& peer, const Message& message);
  void disagree(Peer& peer);
  bool refuse(Peer& peer, const std::string& why);
  void gone(Peer& peer);
  void pump();
  void look_at_everybody();
  void top_up(Peer& peer);
  bool all_known() const;
  bool waits_for_world() const { return finished_ns_ != 0 && !announced_ && !proposed_.empty(); }
  void announce();
  void send_results(Peer& peer, const Phase& phase, const SharedBytes& results);

  // --- master_world.cpp
  const std::vector<WorkerId>& present();
  bool world_is_ready();
  void propose_world(std::vector<WorkerId> ranks);
  void on_built(const WorkerId& worker, const std::string& name, const std::string& error);
  void adopt_world();

  // --- master_mirror.cpp
  bool mirrored() const { return mirror_ >= 0; }
  bool mirror_has_all() const;
  void choose_mirror();
  void tell_mirror();
  void on_mirrors(Peer& peer, const Message& message);
  void announce_mirror();
  void drop_mirror();
  Bytes successor() const;
  bool is_behind(const Peer& peer, std::uint64_t behind) const;
  void begin_in_place_of_lost(std::set<WorkerId> lost);
  void forget_lost();

  // --- master_handover.cpp
  void offer();
  void withdraw_offer();
  void move(Peer& peer);
  void send_forwards();
  void on_ready(Peer& peer, const Message& message);
  bool hands_over() const { return handing_ != Handing::No && handing_ != Handing::Wanted; }
  void finish_hand_over();
  void predecessor_gone();

  const WorkerId self_;
  const std::string pod_;
  Listener listener_;
  const Address address_;
  Wakeup wakeup_;
  SpentClock idle_, changes_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // for the main thread
  Phase phase_;
  bool active_ = false;                                    // a phase is in work
  bool announced_ = false;                                 // its results are complete
  bool changed_size_ = false, announced_changed_ = false;  // a rank has come or gone since the start
  std::function<void(const Phase&, const MasterFigures&)> on_progress_;
  Bytes values_;
  TaskQueue queue_;
  std::int64_t finished_ns_ = 0;  // when the phase's last task was done; 0: not yet
  std::shared_ptr<Bytes> results_;
  std::string error_;
  int workers_ = 1, announced_workers_ = 1;
  std::set<WorkerId> lost_;
  std::size_t others_ = 0;          // that come from the start
  std::set<WorkerId> first_known_;  // of these: those that have come
  bool closing_ = false, stop_ = false;

  // The world.
  WorldMaker maker_;
  std::vector<WorkerId> world_ranks_;  // of the last one adopted
  std::vector<WorkerId> proposed_;     // of the one being built
  std::string proposed_name_;
  std::set<WorkerId> built_;  // those that have built it
  std::string adopt_;         // for the main thread, with the results
  double waited_ = 0;         // s that the last phase's end waited for it
  int worlds_ = 0, worlds_failed_ = 0;

  // The mirror.
  int mirror_ = -1;              // its descriptor; none: -1
  bool mirror_anew_ = false;     // it is to get the whole state
  bool mirror_is_news_ = false;  // that there is one, to those who rely on it
  std::string mirror_address_;   // "": it has not got that yet
  MirrorLog log_;
  std::int64_t mirror_told_ = 0, mirror_has_ = 0;  // numbers of messages to it
  std::function<void(const WorkerId&)> on_mirror_;
  Wakeup log_wakeup_;  // the main thread has something for it

  // Leaving.
  enum class Handing { No, Wanted, Offered, Moving, Told, Done } handing_ = Handing::No;
  std::set<WorkerId> leaving_;
  WorkerId preferred_, successor_;
  std::string successor_address_;
  bool main_idle_ = false;          // the main thread computes nothing any more
  std::atomic<bool> hurry_{false};  // it is to stop after the task in hand
  std::vector<Message> forwards_;   // results that came to us meanwhile

  // Having taken over.
  std::vector<Range> in_hand_, own_given_;
  std::vector<Message> early_;
  bool has_predecessor_ = false;
  WorkerId predecessor_;
  std::set<WorkerId> expected_;                         // workers that have not come over yet
  std::vector<std::pair<Phase, SharedBytes>> unheard_;  // results that those may still wait for

  double patience_ = 10;  // s, with strangers
  // Of a round of the server: who has said something, or is told something. Or all.
  std::set<int> to_look_;
  bool look_at_all_ = true;
  std::uint64_t looks_ = 0;
  std::optional<std::vector<WorkerId>> present_;  // nothing: to be seen anew
  // The server's thread only.
  const UniqueFd epoll_ = make_epoll();
  bool listens_ = false;
  std::set<int> strangers_;
  std::int64_t resting_until_ns_ =
      0;  // no descriptor is to be had, or too many are strangers': none is accepted
  Peers peers_;
  std::thread server_;
};

}  // namespace empi::queue
