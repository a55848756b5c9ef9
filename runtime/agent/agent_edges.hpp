// SPDX-License-Identifier: Apache-2.0
// What the Pod of a real agent does to the world: processes, sockets, PMIx, shared memory.
//
// Belongs to the reactor's thread, where nothing else is said; PMIx's replies and sender threads post to it.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/agent/launcher.hpp"
#include "runtime/agent/options.hpp"
#include "runtime/agent/output.hpp"
#include "runtime/agent/peers.hpp"
#include "runtime/agent/pmix_server.hpp"
#include "runtime/agent/pod/edges.hpp"
#include "runtime/agent/rank_environment.hpp"
#include "runtime/agent/rank_link.hpp"
#include "runtime/agent/rank_pages.hpp"
#include "runtime/agent/reactor.hpp"
#include "runtime/agent/wire/inbox.hpp"
#include "runtime/agent/wire/running_clock.hpp"
#include "runtime/base/token.hpp"

namespace empi::agent {

class Janitor;

class AgentEdges final : public PodEdges {
 public:
  // What comes in by itself. All but the upcalls of PMIx are called on the reactor's thread.
  struct Inward {
    PmixUpcalls& pmix;
    RankLink::OnReport on_report;
    std::function<void(const DeliveryNews&)> on_news;
    std::function<void(const JobOutcome&)> on_end;
  };
  // `shm_folder`: where Open MPI keeps the segments of our ranks. Throws std::runtime_error.
  AgentEdges(const Options& options, std::string shm_folder, Janitor& janitor, Reactor& reactor,
             TokenFile& token, std::shared_ptr<tls::Credentials> credentials, Inward inward);

  // Ends the ranks, and all talk with other pods.
  void stop();
  // Waits until everything queued is delivered, at most `limit`. False when something was not.
  bool flush(Millis limit) { return peers_->flush(limit); }
  void advance_clock() { clock_.advance(Clock::now()); }
  // From any thread. `take` is called when the batch is new, before the next one can be accepted.
  Arrival accept(const Batch& batch, const std::function<void()>& take);

  Output& output() { return output_; }
  RankPages& pages() { return pages_; }
  PmixServer& pmix() { return *pmix_; }
  std::vector<RankExit> reap() { return launcher_.reap(); }
  // What a rank has left can go. Its PMIx data stays until the namespace goes: Open MPI does not survive to
  // be refused it.
  void forget(const ProcId& proc);

  Moment moment() override;
  void post(std::function<void()> what) override { reactor_.post(std::move(what)); }
  void after(Millis delay, std::function<void()> what) override { reactor_.after(delay, std::move(what)); }
  bool knows(const std::string& uid) override { return peers_->knows(uid); }
  void admit(const std::string& uid, const std::string& address) override;
  void send(const std::vector<std::string>& uids, const Message& message) override;
  void part(const std::string& uid) override { peers_->part(uid); }
  void dismiss(const std::string& uid) override;
  void drop(const std::string& uid) override;
  void launch(const ProcId& proc, bool joining) override;
  void kill(const ProcId& proc, int signal) override { launcher_.kill(proc, signal); }
  void kill_all() override;
  void signal_all(int signal) { launcher_.signal_all(signal); }
  std::optional<ProcId> without_handler(int signal) const { return launcher_.without_handler(signal); }
  std::string order(const ProcId& proc, const RankOrder& order) override { return link_->send(proc, order); }
  void hear_ranks() override { link_->receive_pending(); }
  std::uint64_t highest_probe(const std::vector<ProcId>& procs, ProbeMode mode) override;
  std::vector<ProbeMark> probe_marks(const std::vector<ProcId>& procs, ProbeMode mode) override;
  bool arm(const std::vector<ProcId>& procs, const Step& step, ProbeMode mode) override;
  void confirm(const std::vector<ProcId>& procs, std::uint64_t k) override { pages_.confirm(procs, k); }
  void disarm(const std::vector<ProcId>& procs) override { pages_.set(procs, 0); }
  void set_changing(const std::vector<ProcId>& procs, bool on) override { pages_.set_changing(procs, on); }
  void add_namespace(const Namespace& space) override;
  void remove_namespace(const std::string& name) override { pmix_->remove_namespace(name); }
  void notify(const RankEvent& event) override;
  void notify_dead(const ProcId& proc) override { pmix_->notify_dead(proc); }
  void connection_data(const ProcId& proc, Blob reply) override;
  void ended(const JobOutcome& outcome) override;

 private:
  RankPlace place_of(const ProcId& proc, bool joining) const;

  const Options& options_;
  const std::string shm_folder_, library_;
  Reactor& reactor_;
  const std::function<void(const JobOutcome&)> on_end_;
  RunningClock clock_;  // stands still while the reactor's thread does

  // In the order they are to be started; destroyed in the opposite order.
  RankPages pages_;
  Output output_;
  Launcher launcher_;
  std::unique_ptr<RankLink> link_;
  std::unique_ptr<PmixServer> pmix_;
  std::unique_ptr<Peers> peers_;
  std::mutex inbox_mutex_;
  Inbox inbox_;
};

}  // namespace empi::agent
