// SPDX-License-Identifier: Apache-2.0
// This process in a master-worker program: the master or a worker, and from one to the other when the queue
// is handed over. Knows neither MPI nor agents.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "runtime/queue/master.hpp"
#include "runtime/queue/worker.hpp"

namespace empi::queue {

class Participant {
 public:
  // `host`: IP to listen on when it is the master. `pod`: the one that this process is in (absent: one of its
  // own); the queue is mirrored on another one than the master's.
  Participant(WorkerId self, std::string host, std::optional<std::string> pod = std::nullopt);
  ~Participant();

  // Called when this process begins to be the master, with the address that workers need.
  void on_master(std::function<void(const std::string& address)> call) { on_master_ = std::move(call); }
  // Called from any thread, while this process is the master: which worker mirrors the queue, "" for none.
  // Must not wait.
  void on_mirror(std::function<void(const WorkerId& mirror)> call) { on_mirror_ = std::move(call); }
  // Called on the main thread, while this process is the master, with the figures of the phase in work.
  void on_progress(std::function<void(const Phase&, const MasterFigures&)> call) {
    on_progress_ = std::move(call);
  }
  // One of these first. Throw std::runtime_error.
  void be_master(int others = 0);
  void be_worker(const std::string& master, bool joining);

  // A joiner: what the others know at the beginning of the phase it will take part in. Nothing: no such
  // phase.
  std::optional<Bytes> await_values();

  // The next phase; the same on all processes. `values` gives what a joiner has to know. Main thread.
  Outcome phase(std::int64_t tasks, std::int64_t width, const Task& task,
                const std::function<Bytes()>& values);

  // From now on the processes get a world of MPI at the end of every phase before or in which some have come
  // or gone. The same on all processes, before their first phase. Main thread.
  void use_world(WorldMaker maker);
  // From any thread: the world that was to be built is there (error: why not).
  void world_built(const std::string& name, const std::string& error);

  // After the last phase. The master waits for the workers, and those, where the queue is mirrored, for it.
  // Throws MasterGone on the mirror when the master is lost before it says that all is done.
  void finish();
  // Ends as a process that is killed does.
  void break_down();

  // From any thread.
  // `leaving`: all that leave now; `preferred`: who is to keep the queue if this process does now.
  void leave(std::set<WorkerId> leaving, WorkerId preferred = "");
  // `worker` is lost; `next`: if it is the master, who takes its place: the mirror, or nobody ("").
  void lost(const WorkerId& worker, const WorkerId& next = "");
  bool is_master() const;
  std::optional<MasterFigures> figures() const;  // of the master
  double idle_seconds() const;
  // That changes of the size have kept the main thread from tasks, ever: a joiner from its welcome to its
  // first chunk, a leaver from its last task to the master's word, at a hand-over those who waited for the
  // next master, the next one until it gives out chunks, the old one from its last task on; all, the time
  // that the results of a phase waited for a world.
  std::int64_t change_ns() const;

 private:
  void take_over(Handover handover, Bytes values);
  void retire();

  const WorkerId self_;
  const std::string host_, pod_;
  std::function<void(const std::string&)> on_master_;
  std::function<void(const WorkerId&)> on_mirror_;
  std::function<void(const Phase&, const MasterFigures&)> on_progress_;
  std::uint64_t phases_ = 0;
  WorldMaker world_;

  mutable std::mutex mutex_;  // for the pointers and the wish
  std::shared_ptr<Master> master_;
  std::shared_ptr<Worker> worker_;
  std::optional<std::set<WorkerId>> leaving_;
  WorkerId preferred_;
  double idle_before_ = 0;  // as a worker, before it became the master
  std::int64_t change_before_ns_ = 0;
};

}  // namespace empi::queue
